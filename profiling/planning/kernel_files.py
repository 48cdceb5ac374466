"""The code in a kernel's folder, read so that no file of it can hang the program or fill its memory.

A folder may hold anything: links that lead nowhere, pipes, devices, folders named like files, and files
without end.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

CODE = (".py", ".cuh", ".cu")
LARGEST_BYTES = 2 << 20  # of one file; the largest of ours has 40 KiB
MOST_ENTRIES = 10_000  # of one folder
_CHUNK_BYTES = 1 << 18


class KernelFiles(Struct, frozen=True):
    """A folder's code files by name, as they were when they were read."""

    folder: Path
    contents: dict[str, bytes]
    faults: dict[str, str]  # by the name of a file that cannot be used, why, in a clause


class FileFault(OSError):
    """A file or folder cannot be read; the text is a clause."""


def kernel_folders(root: Path) -> list[Path]:
    """The folders under a root that have a ``spec.py``, or the root itself where it is one kernel's folder.

    Raises FileFault where the root cannot be listed.
    """
    if _has_spec(root):
        return [root]
    return [folder for name in names_in(root) if _has_spec(folder := root / name)]


def read_folder(folder: Path) -> KernelFiles:
    """Read all code in a folder. Raises FileFault where the folder cannot be listed."""
    contents: dict[str, bytes] = {}
    faults: dict[str, str] = {}
    for name in names_in(folder):
        if Path(name).suffix not in CODE:
            continue
        if not is_text(name):
            faults[name] = "its name is not UTF-8"
            continue
        try:
            contents[name] = read_file(folder / name)
        except FileFault as error:
            faults[name] = str(error)
    return KernelFiles(folder, contents, faults)


def read_file(path: Path) -> bytes:
    """The content of a regular file of bounded size. Raises FileFault."""
    try:
        _require_regular(path.stat())  # opening a device may do something, so this comes first
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            _require_regular(os.fstat(descriptor))  # of what was opened, should it have been replaced
            return _content(descriptor)
        finally:
            os.close(descriptor)
    except FileFault:
        raise
    except FileNotFoundError as error:
        is_link = path.is_symlink()
        raise FileFault("it is a link to a file that is not there" if is_link else "it is gone") from error
    except OSError as error:
        raise FileFault(_reason(error)) from error
    except ValueError as error:  # a NUL, or half a character that stands for no byte
        raise FileFault("no file can have this name") from error


def is_text(name: str | Path) -> bool:
    """Whether a name is UTF-8: others can be opened, but neither stored nor shown."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(name: str | Path) -> str:
    """A name, or what a foreign file says, with escapes for what must not reach a terminal."""
    text = str(name)
    with suppress(UnicodeEncodeError):  # of half a character that stands for no byte
        text = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def names_in(folder: Path) -> Iterable[str]:
    """Names in a folder, sorted, without what editors and version control keep there."""
    try:
        with os.scandir(folder) as entries:
            names: list[str] = []
            for entry in entries:
                names.append(entry.name)
                if len(names) > MOST_ENTRIES:
                    raise FileFault(f"it holds more than {MOST_ENTRIES} files and folders")
    except FileFault:
        raise
    except OSError as error:
        raise FileFault(_reason(error)) from error
    return sorted(name for name in names if not (name.startswith((".", "#")) or name.endswith("~")))


def _has_spec(folder: Path) -> bool:
    """Also where it cannot be looked at, or is a link that leads nowhere: the folder's reader says so."""
    try:
        os.lstat(folder / "spec.py")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return folder.is_dir()
    return True


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise FileFault("it is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise FileFault("it is no regular file")


def _content(descriptor: int) -> bytes:
    content = bytearray()
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        content += chunk
        if len(content) > LARGEST_BYTES:
            raise FileFault(f"it has more than {LARGEST_BYTES >> 20} MiB")
    return bytes(content)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()
