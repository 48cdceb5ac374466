"""Where the program keeps what it writes by itself."""

from datetime import datetime
from pathlib import Path

import platformdirs

from profiling.store import SUFFIX


def session_folder() -> Path:
    """The user's folder of autosaved sessions; may not exist yet."""
    return platformdirs.user_data_path("roofscope", appauthor=False) / "sessions"


def new_session_path(folder: Path) -> Path:
    """A name by local time that is not taken, such as ``2026-11-21-0915.roofscope``."""
    stem = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M")
    path = folder / f"{stem}{SUFFIX}"
    number = 2
    while path.exists():
        path = folder / f"{stem}-{number}{SUFFIX}"
        number += 1
    return path
