"""Where the program's own files lie, and where it keeps those of the user."""

import os
import stat
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import platformdirs
from msgspec import Struct

PACKAGE = Path(__file__).resolve().parent.parent  # the checkout, or `roofscope` among the installed packages
ASSETS = PACKAGE / "assets"
LIBRARY = PACKAGE / "kernels"
SUFFIX = ".roofscope"  # of a session's file
# Of these the first where any user may make a file has the locks of devices. Not the temporary folder: two
# workers that were given different ones would measure on one device at once. /tmp comes last, because some
# machines give each user another and clean it of what is old.
LOCKS = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"))


class UserPaths(Struct, frozen=True):
    """Folders and files of one user; tests and screenshots give temporary ones. None may exist yet."""

    sessions: Path  # runs are written here
    settings: Path
    ceilings: Path  # measured ceilings kept between sessions
    assets: Path = ASSETS  # what came with the program is for viewing only

    @property
    def trusted(self) -> Path:
        """Which folders of kernels from elsewhere may run."""
        return self.settings.with_name("trusted.json")

    @property
    def example(self) -> Path:
        """A session recorded on another machine, for the first start."""
        return self.assets / "sessions" / "h200.roofscope"

    @classmethod
    def of_user(cls) -> "UserPaths":
        return cls(
            sessions=platformdirs.user_data_path("roofscope", appauthor=False) / "sessions",
            settings=platformdirs.user_config_path("roofscope", appauthor=False) / "window.json",
            ceilings=cache_folder("ceilings"),
        )


def rescue_folders() -> tuple[Path, ...]:
    """Where a session goes on whose own folder takes no file any more, the best first."""
    return UserPaths.of_user().sessions, Path(tempfile.gettempdir())


def cache_folder(name: str) -> Path:
    """What can be made again, by what it is; may not exist yet."""
    return platformdirs.user_cache_path("roofscope", appauthor=False) / name


def lock_folder() -> Path:
    """Where the locks of devices lie, for all users. ROOFSCOPE_LOCKS is for tests only."""
    if chosen := os.environ.get("ROOFSCOPE_LOCKS"):
        return Path(chosen)
    return next((folder for folder in LOCKS if _is_for_all(folder)), LOCKS[-1])


def _is_for_all(folder: Path) -> bool:
    """By its mode, not by what this process may do: root and other users must come to the same folder."""
    try:
        mode, flags = folder.lstat().st_mode, os.statvfs(folder).f_flag
    except OSError:
        return False
    wanted = stat.S_IWOTH | stat.S_IXOTH | stat.S_ISVTX
    return stat.S_ISDIR(mode) and mode & wanted == wanted and not flags & os.ST_RDONLY


def new_session_path(folder: Path) -> Path:
    """A name by local time that is not taken, such as ``2026-11-21-0915.roofscope``."""
    stem = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M")
    path = folder / f"{stem}{SUFFIX}"
    number = 2
    while path.exists():
        path = folder / f"{stem}-{number}{SUFFIX}"
        number += 1
    return path


def is_file(path: Path) -> bool:
    """Whether a regular file is there, as far as one can see: not in a folder that is closed to us."""
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


def other_kind(path: Path) -> str:
    """What is there if it is no regular file, such as ``a folder``; "" where it is one, or nothing is there.

    Raises OSError where that cannot be seen.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return f"a link to {str(path.readlink())!r}, which is not there" if path.is_symlink() else ""
    return _KINDS.get(stat.S_IFMT(mode), "")


_KINDS: dict[int, str] = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def module_command(module: str) -> tuple[str, ...]:
    """The command line that runs a module of this very package, whether or not anybody installed it."""
    # -P: the folder of main.py must not come first on the path of what may import Python's own `profiling`.
    return (sys.executable, "-P", str(PACKAGE / "main.py"), "-m", module)


def is_shipped(path: Path, assets: Path = ASSETS) -> bool:
    """Whether a file came with the program, by whatever way it was come to: it stays as it is."""
    return any(
        one.is_relative_to(folder) for one, folder in ((path, assets), (_resolved(path), _resolved(assets)))
    )


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links, or a folder closed to us
        return path
