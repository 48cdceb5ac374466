"""Which files of the kernels were saved, known by their sizes and times, when they are whole.

By looking, five times a second: notices of the system (inotify and its like) are lost on network disks and in
containers, and four hundred files take a millisecond. Nothing of a folder is opened, so that nothing of it
can act; a form, which names its files, and those are read.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from roofscope.profiling.planning.kernel_files import CODE, FileFault, kernel_folders, names_in
from roofscope.profiling.planning.one_file.form import is_form
from roofscope.profiling.planning.one_file.known_files import KnownFiles, Stamp, stamp_of
from roofscope.profiling.planning.source_hash import SHARED

LOOK_S = 0.2  # between two looks
LOOK_SOON_S = 0.05  # while a file is being written
_REST_S = 0.1  # for which a file is as it is before it counts as whole
# Editors empty a file before they write it, and some take the old one away before the new one has its name.
_REST_OF_NONE_S = 0.5
_MOST_WAIT_S = 2.0  # of whole files for one that is written without end


Stamps = Mapping[Path, Stamp]


class Saved(NamedTuple):
    """Files since the last look: those with a new content, and those that are there no more."""

    written: frozenset[Path] = frozenset()
    gone: frozenset[Path] = frozenset()

    @property
    def paths(self) -> frozenset[Path]:
        return self.written | self.gone

    def joined(self, later: "Saved") -> "Saved":
        """Both, by what each file is in the end."""
        return Saved((self.written - later.gone) | later.written, (self.gone - later.written) | later.gone)


def stamps_of(roots: Iterable[Path], known: KnownFiles | None = None) -> dict[Path, Stamp]:
    """Of the code in every kernel's folder at the roots, of forms and what runs by them, of what we share.

    ``known`` is kept by one who looks again and again, so that forms and their files are read once.
    """
    known = known or KnownFiles()
    found: dict[Path, Stamp] = {}
    roots = list(roots)
    for path in (path for root in roots if is_form(root) for path in known.files_of(root)):
        if stamp := stamp_of(path):
            found[path] = stamp
    folders = [folder for root in roots if not is_form(root) for folder in _folders(root)]
    for folder in (SHARED, *folders):
        try:
            names = names_in(folder)
        except FileFault:
            continue  # it is gone, with its files
        for name in names:
            path = folder / name
            if path.suffix in CODE and (stamp := stamp_of(path)):
                found[path] = stamp
    return found


def _folders(root: Path) -> list[Path]:
    try:
        return kernel_folders(root)
    except FileFault:
        return []


class FileWatch:
    """Takes what a look finds and the time, in seconds of any steady clock; tells what was saved."""

    def __init__(self, stamps: Stamps) -> None:
        self._known = dict(stamps)  # as last reported
        self._seen: dict[Path, tuple[Stamp | None, float]] = {}  # what differs, and since when it is so

    @property
    def is_waiting(self) -> bool:
        """Whether a file is being written, so that the next look should be soon."""
        return bool(self._seen)

    def look(self, stamps: Stamps, now: float) -> Saved:
        """What was saved and is whole; nothing while another file is being written, for two seconds at most.

        Together, because who saves several files at once means them together.
        """
        differs = {
            path: stamps.get(path)
            for path in {*stamps, *self._known}
            if stamps.get(path) != self._known.get(path)
        }
        seen = self._seen
        self._seen = {
            path: seen[path] if path in seen and seen[path][0] == stamp else (stamp, now)
            for path, stamp in differs.items()
        }
        whole = {path for path, (stamp, since) in self._seen.items() if now - since >= _rest_s(stamp)}
        is_late = any(now - since >= _MOST_WAIT_S for _, since in self._seen.values())
        if len(whole) < len(self._seen) and not is_late:
            return Saved()
        for path in whole:
            del self._seen[path]
            if stamp := stamps.get(path):
                self._known[path] = stamp
            else:
                del self._known[path]
        written = frozenset(path for path in whole if path in self._known)
        return Saved(written, frozenset(whole) - written)


def _rest_s(stamp: Stamp | None) -> float:
    return _REST_S if stamp and stamp.size else _REST_OF_NONE_S
