"""Where the program keeps what it writes by itself."""

import os
import stat
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import platformdirs

from roofscope.profiling.session_reader import SUFFIX


def session_folder() -> Path:
    """The user's folder of autosaved sessions; may not exist yet."""
    return platformdirs.user_data_path("roofscope", appauthor=False) / "sessions"


def give_qt_a_runtime_folder() -> None:
    """Set XDG_RUNTIME_DIR where no login did, as for root in a container, else Qt warns on every start.

    Qt's own substitute, a private folder in the temporary one; left unset where that is not ours alone.
    """
    if not sys.platform.startswith("linux") or os.environ.get("XDG_RUNTIME_DIR"):
        return
    folder = Path(tempfile.gettempdir()) / f"runtime-roofscope-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return  # Qt's warning is then deserved
    if stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077:
        os.environ["XDG_RUNTIME_DIR"] = str(folder)


def new_session_path(folder: Path) -> Path:
    """A name by local time that is not taken, such as ``2026-11-21-0915.roofscope``."""
    stem = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M")
    path = folder / f"{stem}{SUFFIX}"
    number = 2
    while path.exists():
        path = folder / f"{stem}-{number}{SUFFIX}"
        number += 1
    return path
