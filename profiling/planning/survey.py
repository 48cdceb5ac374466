"""What of a folder would run, and whose it is, without running or opening any of it."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.planning.kernel_files import (
    CODE,
    MOST_ENTRIES,
    FileFault,
    is_text,
    kernel_folders,
    printable,
)


class ListedFolder(Struct, frozen=True):
    """A kernel's folder and the names of its code files."""

    name: str
    files: tuple[str, ...]


class Survey(Struct, frozen=True):
    """A folder of kernels, as it would be used by the user who runs this program."""

    folder: Path  # resolved
    kernels: tuple[ListedFolder, ...]
    owner: int  # of the folder itself
    foreign: dict[int, int]  # by owner other than the user and root, how many of the files and folders
    is_open: bool  # somebody else may write to it, or put another in its place
    is_whole: bool = True  # not too large to be looked at

    @property
    def file_count(self) -> int:
        return sum(len(kernel.files) for kernel in self.kernels)

    @property
    def is_own(self) -> bool:
        """Whether nobody but the user and root has written it, or may."""
        return not (self.foreign or self.is_open) and self.is_whole


def survey(folder: Path) -> Survey:
    """Look at a folder of kernels, or of one kernel. Raises FileFault."""
    try:
        root = folder.resolve()
        if not is_text(root):
            raise FileFault("its name is not UTF-8")
        found = kernel_folders(root)
        owner = root.stat().st_uid
        statuses = [*_statuses(root, MOST_ENTRIES)]
        above = [parent.stat() for parent in root.parents]
    except FileFault:
        raise
    # RuntimeError: a loop of links, up to Python 3.12; ValueError: a name that no system takes.
    except (OSError, RuntimeError, ValueError) as error:
        raise FileFault(str(error)) from error
    foreign: dict[int, int] = {}
    for status in (*statuses, *above):
        if status.st_uid not in _own_users():
            foreign[status.st_uid] = foreign.get(status.st_uid, 0) + 1
    is_open = any(map(_others_may_write, statuses)) or any(
        _others_may_write(status) and not status.st_mode & stat.S_ISVTX for status in above
    )
    kernels = tuple(ListedFolder(printable(one.name), _code_in(one)) for one in found)
    return Survey(root, kernels, owner, foreign, is_open, len(statuses) <= MOST_ENTRIES)


def user_name(number: int) -> str:
    """Such as ``bob (uid 1001)``, or ``uid 1001`` where the system knows no name."""
    try:
        import pwd

        return f"{printable(pwd.getpwuid(number).pw_name)} (uid {number})"
    except (ImportError, KeyError):
        return f"uid {number}"


def _own_users() -> set[int]:
    """The user's own, root's, who may do anything as it is, and under sudo that of the user who called it."""
    own = {os.geteuid(), 0}
    caller = os.environ.get("SUDO_UID", "")
    return own | {int(caller)} if os.geteuid() == 0 and caller.isdecimal() else own


def _others_may_write(status: os.stat_result) -> bool:
    """Through a group only where it is not the user's own: many systems give each user one."""
    if stat.S_ISLNK(status.st_mode):
        return False
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid not in (os.getegid(), 0)
    return bool(status.st_mode & stat.S_IWOTH or by_group)


def _statuses(root: Path, most: int) -> Iterator[os.stat_result]:
    """Of a folder and all in it, links and what they lead to, but not what editors and git keep there.

    One more than ``most`` of them at the most.
    """
    waiting, count = [root], 0
    while waiting:
        path = waiting.pop()
        for status in _both(path):
            yield status
            count += 1
            if count > most:
                return
        is_inside = root in (path, path.parent) or not path.is_symlink()  # links do not lead round
        if is_inside and path.is_dir():
            waiting += [path / name for name in _names(path) if not name.startswith(".")]


def _both(path: Path) -> Iterator[os.stat_result]:
    """Of a path, and of what it leads to if it is a link; of what is gone, nothing."""
    with suppress(OSError):
        own = path.lstat()
        yield own
        if stat.S_ISLNK(own.st_mode):
            yield path.stat()


def _names(folder: Path) -> list[str]:
    """None where it may not be listed: what cannot be read is not run."""
    with suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - names, of which there may be very many
    return []


def _code_in(folder: Path) -> tuple[str, ...]:
    names = sorted(_names(folder))
    return tuple(printable(name) for name in names if Path(name).suffix in CODE and name[0] not in ".#")
