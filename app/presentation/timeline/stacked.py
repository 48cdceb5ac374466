"""Traces on one scale: each begins where the compared iteration's first work does."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from roofscope.app.presentation.timeline.rows import Track


class Stack(Struct, frozen=True, eq=False):
    tracks: tuple[Track, ...]
    sentences: tuple[str, ...] = ()  # for each but the first
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()  # the greatest difference first


def stacked(tracks: Sequence[Track]) -> Stack:
    """Takes some 100 ms for a million slices: made in a thread. What cannot be compared stays as it is."""
    from roofscope.app.presentation.traces.comparison import (
        comparison_sentences,
        kernel_cells,
        kernel_headers,
    )
    from roofscope.profiling.traces.comparison import NothingToCompare, compare_traces  # not at the start

    try:
        found = compare_traces([replace(track.trace, title=track.title) for track in tracks])
    except NothingToCompare as nothing:
        return Stack(tuple(tracks), (str(nothing),) if len(tracks) > 1 else ())
    shifted = tuple(
        replace(track, shift=-each.offset_ns) for track, each in zip(tracks, found.traces, strict=True)
    )
    rows = tuple(map(kernel_cells, found.kernels))
    return Stack(shifted, comparison_sentences(found), kernel_headers(found), rows)
