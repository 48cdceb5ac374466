"""Files that are put away so that they can come back: into the desktop's trash, or a folder beside."""

import contextlib
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QFile

_FOLDER = ".trash"


class Trashed(Struct, frozen=True):
    """A file that was put away: where it was, and where it lies."""

    path: Path
    now: Path

    @property
    def place(self) -> str:
        """In words."""
        return f"in {self.now.parent}" if self.now.parent.name == _FOLDER else "in the trash"


def put_into_trash(path: Path) -> Trashed:
    """Raises OSError. Disks without a trash of their own get a folder beside the file."""
    found = QFile(str(path))
    if found.moveToTrash():
        return Trashed(path, Path(found.fileName()))
    folder = path.parent / _FOLDER
    folder.mkdir(exist_ok=True)
    target = free_name(folder / path.name)
    path.rename(target)
    return Trashed(path, target)


def take_from_trash(trashed: Trashed) -> None:
    """Raises OSError, also where another file has its name by now."""
    if trashed.path.exists():
        raise FileExistsError(None, f"{trashed.path} is there again")
    trashed.now.rename(trashed.path)
    with contextlib.suppress(OSError):  # the desktop's note of it, which has no file any more
        (trashed.now.parent.parent / "info" / f"{trashed.now.name}.trashinfo").unlink()
    with contextlib.suppress(OSError):
        if trashed.now.parent.name == _FOLDER:
            trashed.now.parent.rmdir()


def free_name(path: Path) -> Path:
    """The same name, with a number where it is taken."""
    number, found = 2, path
    while found.exists():
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return found
