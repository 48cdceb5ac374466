"""A private folder for Qt where no login made one."""

import os
import stat
import sys
import tempfile
from pathlib import Path


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
