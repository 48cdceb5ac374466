"""Slices whose names hold a text; a million of them are three arrays."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.timeline.rows import Track
from roofscope.profiling.traces.columns import NONE

_NO_TIMES: NDArray[np.int64] = np.zeros(0, np.int64)
_NO_PLACES: NDArray[np.int32] = np.zeros(0, np.int32)


class Chosen(Struct, frozen=True):
    """A slice of one of the tracks."""

    track: int
    slice: int


class Hits(Struct, frozen=True, eq=False):
    """In order of time, which is the timeline's, in nanoseconds; all columns of one length."""

    time: NDArray[np.int64] = _NO_TIMES
    track: NDArray[np.int32] = _NO_PLACES
    slice: NDArray[np.int32] = _NO_PLACES
    is_meant: tuple[NDArray[np.bool_], ...] = ()  # of each track, by the number of a name

    def __len__(self) -> int:
        return len(self.time)

    def at(self, place: int) -> Chosen:
        return Chosen(int(self.track[place]), int(self.slice[place]))

    def place_of(self, chosen: Chosen, begin: float) -> int:
        """Which of them it is, or NONE; ``begin`` is where it begins."""
        place = int(np.searchsorted(self.time, begin, "left"))
        while place < len(self) and self.time[place] == begin:
            if self.at(place) == chosen:
                return place
            place += 1
        return NONE


def _holds(wanted: str, name: str, label: str) -> bool:
    return wanted in name.casefold() or wanted in label.casefold()


def hits_of(tracks: Sequence[Track], text: str) -> Hits:
    """Upper and lower case are one; no text has no hits."""
    wanted = text.casefold().strip()
    if not wanted or not tracks:
        return Hits()
    meant = tuple(
        np.fromiter(map(partial(_holds, wanted), track.trace.names, track.labels), np.bool_)
        for track in tracks
    )
    found = [
        np.flatnonzero(names[track.trace.slices.name]) for names, track in zip(meant, tracks, strict=True)
    ]
    times = [
        track.trace.slices.start_ns[slices] + track.shift for slices, track in zip(found, tracks, strict=True)
    ]
    time, places = np.concatenate(times), np.concatenate(found).astype(np.int32)
    of_track = np.repeat(np.arange(len(found), dtype=np.int32), [len(slices) for slices in found])
    order = np.argsort(time, kind="stable")
    return Hits(time[order], of_track[order], places[order], meant)
