"""What of a folder would run, and whose it is, without running or opening any of it."""

import os
import stat
from collections.abc import Iterable, Iterator
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

_MOST_LINKS = 40  # on the way to a file, as Linux has it


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
        kernels = tuple(ListedFolder(printable(one.name), _code_in(one)) for one in found)
        return _surveyed(root, kernels, [root])
    except FileFault:
        raise
    # RuntimeError: a loop of links, up to Python 3.12; ValueError: a name that no system takes.
    except (OSError, RuntimeError, ValueError) as error:
        raise FileFault(str(error)) from error


def survey_file(file: Path, others: Iterable[Path] = ()) -> Survey:
    """Look at one file that would run, and at others that run with it. Raises FileFault."""
    try:
        root = file.resolve()
        if not is_text(root):
            raise FileFault("its name is not UTF-8")
        paths = list(dict.fromkeys([root, *(other.resolve() for other in others)]))
        names = tuple(printable(path.name) for path in paths)
        return _surveyed(root, (ListedFolder(printable(root.name), names),), paths)
    except FileFault:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise FileFault(str(error)) from error


def _surveyed(root: Path, kernels: tuple[ListedFolder, ...], paths: Iterable[Path]) -> Survey:
    """Raises OSError."""
    inside: list[os.stat_result] = []
    above: list[os.stat_result] = []
    for path in paths:
        own, way = _statuses(path, MOST_ENTRIES)
        inside += own
        above += way
    foreign: dict[int, int] = {}
    for status in (*inside, *above):
        if status.st_uid not in _own_users():
            foreign[status.st_uid] = foreign.get(status.st_uid, 0) + 1
    owner, is_whole = root.stat().st_uid, len(inside) <= MOST_ENTRIES
    return Survey(root, kernels, owner, foreign, _is_open(inside, above), is_whole)


def is_own(path: Path) -> bool:
    """Whether nobody but the user and root has written a path, may write it or put another in its place."""
    try:
        statuses, above = [path.stat()], list(_way_to(path))
    except (OSError, RuntimeError, ValueError):
        return False
    owners = {status.st_uid for status in (*statuses, *above)}
    return owners <= _own_users() and not _is_open(statuses, above)


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


def _is_open(inside: Iterable[os.stat_result], above: Iterable[os.stat_result]) -> bool:
    """Whether others may write to what is inside, or to a folder above that is not sticky, as /tmp is."""
    judged = [*inside, *(status for status in above if not status.st_mode & stat.S_ISVTX)]
    judged = [status for status in judged if not stat.S_ISLNK(status.st_mode)]
    groups = {status.st_gid for status in judged if status.st_mode & stat.S_IWGRP}
    return any(status.st_mode & stat.S_IWOTH for status in judged) or not all(map(_is_own_group, groups))


def _is_own_group(number: int) -> bool:
    """Whether a group is the user's alone: many systems give each user one, of the user's name."""
    try:
        import grp
        import pwd

        group = grp.getgrgid(number)
        own = {pwd.getpwuid(user).pw_name for user in _own_users()}
        members = {*group.gr_mem, *(user.pw_name for user in pwd.getpwall() if user.pw_gid == number)}
    except (ImportError, KeyError):
        return False
    return group.gr_name in own and members <= own


def _statuses(root: Path, most: int) -> tuple[list[os.stat_result], list[os.stat_result]]:
    """Of a folder and all in it, with what links lead to, and of the folders on the way to each of these.

    Without what editors and git keep there. One more than ``most`` in it at the most.
    """
    inside: list[os.stat_result] = []
    above = {(status.st_dev, status.st_ino): status for status in _way_to(root)}
    waiting, seen = [root], set[tuple[int, int]]()
    while waiting and len(inside) <= most:
        path = waiting.pop()
        with suppress(OSError):  # it is gone, or leads nowhere
            status = path.lstat()
            inside.append(status)
            if stat.S_ISLNK(status.st_mode):
                above |= {(one.st_dev, one.st_ino): one for one in _way_to(path)}
                inside.append(status := path.stat())
            known = status.st_dev, status.st_ino  # links may lead round
            if stat.S_ISDIR(status.st_mode) and known not in seen:
                seen.add(known)
                waiting += [path / name for name in _names(path) if not name.startswith(".")]
    return inside[: most + 1], [*above.values()]


def _way_to(path: Path) -> Iterator[os.stat_result]:
    """Of each folder and link on the way to what a path leads to. Raises OSError."""
    at, rest, links = Path("/"), [*path.absolute().parts[1:]], 0
    while rest:
        yield at.lstat()
        name = rest.pop(0)
        if name == "..":
            at = at.parent
        elif (status := (at / name).lstat()) and stat.S_ISLNK(status.st_mode):
            yield status
            links += 1
            if links > _MOST_LINKS:
                raise FileFault("its links lead round")
            target = (at / name).readlink()
            at, rest = (Path("/") if target.is_absolute() else at), [*target.parts, *rest]
            rest = rest[1:] if target.is_absolute() else rest
        else:
            at = at / name


def _names(folder: Path) -> list[str]:
    """None where it may not be listed: what cannot be read is not run."""
    with suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - names, of which there may be very many
    return []


def _code_in(folder: Path) -> tuple[str, ...]:
    names = sorted(_names(folder))
    return tuple(printable(name) for name in names if Path(name).suffix in CODE and name[0] not in ".#")
