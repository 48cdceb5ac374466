"""The files that run by a form, read again only where something has changed that they follow from."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from roofscope.profiling.planning.one_file.form import FormFault, read_form
from roofscope.profiling.planning.one_file.parts import look_for_running

_REST_NS = 2_000_000_000  # two saves within a disk's tick may have one time; network disks tick in seconds


class Stamp(NamedTuple):
    """By which a file's content is known to be another one; an atomic replace is another ``inode``."""

    modified_ns: int
    size: int
    inode: int


class _Known(Struct, frozen=True):
    files: tuple[Path, ...]
    stamps: dict[Path, Stamp | None]  # of the files, and of the folders where others may appear


class KnownFiles:
    """What each form came to; for one who looks several times a second.

    What a file imports follows from its text and from which names its folders have.
    """

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}

    def files_of(self, form: Path) -> tuple[Path, ...]:
        """The form and the files that run by it, as it says now."""
        known = self._known.get(form)
        if known and all(stamp_of(path) == stamp for path, stamp in known.stamps.items()):
            return known.files
        self._known.pop(form, None)
        try:
            said = read_form(form)
            running = look_for_running(form.parent / said.file, said.reference, said.others)
        except (FormFault, ValueError):  # while it is edited
            return (form,)
        files = (form, *running.files)
        stamps = {path: stamp_of(path) for path in {*files, form.parent, *running.folders}}
        latest = max((stamp.modified_ns for stamp in stamps.values() if stamp), default=0)
        if latest < time.time_ns() - _REST_NS:
            self._known[form] = _Known(files, stamps)
        return files


def stamp_of(path: Path) -> Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - four hundred of them, five times a second
    except (OSError, ValueError):
        return None
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)
