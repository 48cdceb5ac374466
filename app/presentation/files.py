"""How an export is named and written: as ``cp`` would, but whole or not at all."""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

_LONGEST_WORD = 80  # characters of a name from a session, of which a file's name may hold several


def ending_of(path: Path, endings: Sequence[str]) -> str:
    """Which of these endings the name has, in whatever case; "" where it has none, or is nothing else."""
    name = path.name.lower()
    found = [ending for ending in endings if name.endswith(ending) and name != ending]
    return max(found, key=len, default="")


def why_misnamed(path: Path, endings: Sequence[str]) -> str:
    """One sentence where a name does not end as what is written there must; "" where it does.

    The name is what the next program goes by. A device or a pipe has the name that it has.
    """
    if ending_of(path, endings) or is_special(path):
        return ""
    better = f"{path.stem.strip('-') or 'a'}{endings[0]}"
    return f"{path} does not end in {alternatives(endings)}; name it {better}, for instance."


def alternatives(words: Sequence[str]) -> str:
    """``a, b or c``."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def is_special(path: Path) -> bool:
    """Whether something is there already that is neither a file nor a folder, such as ``/dev/stdout``."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return _is_of_the_system(path) or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def file_word(text: str) -> str:
    """Text from a session as a part of a file's name, which leads to no other folder."""
    return re.sub(r"[^\w.+=-]+", "-", text).strip("-.")[:_LONGEST_WORD]


def write_file(path: Path, content: bytes, *, may_wait: bool = True) -> None:
    """Write a file, or into what else has the name. Raises OSError.

    A regular file is replaced in one step and keeps its mode; a link is followed. Anything else (a device, a
    pipe, ``/dev/stdout``) is written into: a file in the place of ``/dev/null`` breaks the machine.
    ``may_wait``: for a reader, where a pipe has none yet.
    """
    path = Path(os.path.realpath(path)) if not _is_of_the_system(path) else path
    try:
        found = path.stat()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise FileNotFoundError(None, f"there is no folder {path.parent}") from None
        found = None
    if found is None:
        _replace(path, content, None)
    elif stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(None, "it is a folder")
    elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not _is_of_the_system(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(None, "it is write-protected")
        _replace_or_fill(path, content, found)
    elif stat.S_ISBLK(found.st_mode):
        raise OSError(None, "it is a disk")
    else:
        _write_into(path, content, may_wait)


def why_unwritable(path: Path, error: OSError | ValueError) -> str:
    """One sentence."""
    why = (error.strerror or error) if isinstance(error, OSError) else error
    return f"{path} cannot be written: {why}."


def _is_of_the_system(path: Path) -> bool:
    """``/dev/stdout`` may lead to a regular file, which is the shell's, and open."""
    parts = Path(os.path.abspath(path)).parts  # noqa: PTH100 - which follows no link
    return parts[1:2] in (("dev",), ("proc",)) and parts[2:3] != ("shm",)


def _replace_or_fill(path: Path, content: bytes, found: os.stat_result) -> None:
    """A new file would belong to us, and the system keeps the one that is a mount."""
    if found.st_uid != os.geteuid():
        path.write_bytes(content)
        return
    try:
        _replace(path, content, stat.S_IMODE(found.st_mode))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        path.write_bytes(content)


def _replace(path: Path, content: bytes, mode: int | None) -> None:
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except PermissionError:
        if mode is None:
            raise
        path.write_bytes(content)  # the folder is closed, but the file is ours to write
        return
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            if mode is not None:
                os.fchmod(opened.fileno(), mode)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _write_into(path: Path, content: bytes, may_wait: bool) -> None:
    flags = os.O_WRONLY | os.O_TRUNC | os.O_NOCTTY | os.O_CLOEXEC | (0 if may_wait else os.O_NONBLOCK)
    file = os.open(path, flags)
    os.set_blocking(file, True)
    with os.fdopen(file, "wb") as opened:
        opened.write(content)
