"""What a timeline shows and what is chosen in it; the window draws it and hands it keys and clicks."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.timeline.hits import Chosen, Hits, hits_of
from roofscope.app.presentation.timeline.levels import Level
from roofscope.app.presentation.timeline.links import parent_of, sources_of, targets_of
from roofscope.app.presentation.timeline.moments import ShownMoment
from roofscope.app.presentation.timeline.rows import Arrangement, Row, Track, first_arrangement, rows_of
from roofscope.app.presentation.timeline.viewport import Viewport, fitted
from roofscope.profiling.traces.columns import NONE, Category

_AROUND = 4.0  # spans of a slice that are shown round it


class Area(Struct, frozen=True):
    """A range of time over some rows, by their keys."""

    begin: float
    end: float
    keys: frozenset[str]


class Timeline:
    """Changes tell ``changed``; times are nanoseconds from where the tracks are aligned."""

    def __init__(self, tracks: Sequence[Track], changed: Callable[[], object]) -> None:
        self.tracks = tuple(tracks)
        self._changed = changed
        self.view = fitted(*self._work) if len(self.tracks) > 1 else self.whole
        self.chosen: Chosen | None = None
        self.area: Area | None = None
        self._sources: tuple[Chosen, ...] = ()  # of the chosen slice: each frame draws their arrows
        self._targets: tuple[Chosen, ...] = ()
        self.hits = Hits()
        self.moments: tuple[ShownMoment, ...] = ()  # marks of the first track
        self._arrangement = first_arrangement(self.tracks)
        self.rows: tuple[Row, ...] = rows_of(self.tracks, self._arrangement)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        begins = (track.trace.slices.start_ns.min() + track.shift for track in self.tracks)
        ends = (track.trace.end_ns + track.shift for track in self.tracks)
        return float(min(begins, default=0)), float(max(ends, default=1))

    @property
    def _work(self) -> tuple[float, float]:
        """From the first to the last work of a GPU, which one compares; all of it where there is none."""
        begins, ends = list[float](), list[float]()
        for track in self.tracks:
            slices = track.trace.slices
            is_work = slices.category <= Category.MEMSET
            if is_work.any():
                begins.append(float(slices.start_ns[is_work].min() + track.shift))
                ends.append(float(slices.end_ns[is_work].max() + track.shift))
        return (min(begins), max(ends)) if begins else self.bounds

    @property
    def whole(self) -> Viewport:
        return fitted(*self.bounds)

    @property
    def arrangement(self) -> Arrangement:
        return self._arrangement

    def arrange(self, arrangement: Arrangement) -> None:
        self._arrangement = arrangement
        self.rows = rows_of(self.tracks, arrangement)
        self._changed()

    def look(self, view: Viewport) -> None:
        self.view = view.within(*self.bounds)
        self._changed()

    def choose(self, chosen: Chosen | None) -> None:
        """A slice or none; an area is chosen no longer."""
        self.chosen, self.area = chosen, None
        self._sources, self._targets = self._linked(sources_of), self._linked(targets_of)
        self._changed()

    def choose_area(self, area: Area | None) -> None:
        self.area = area
        self._changed()

    def show(self, chosen: Chosen) -> None:
        """Choose a slice and move to it; the scale stays where it can be seen as it is."""
        begin, end = self.span_of(chosen)
        is_seen = self.view.begin <= begin and end <= self.view.end
        if end - begin > self.view.span or (end - begin) / self.view.span < 1e-3:
            middle, span = (begin + end) / 2, max(end - begin, 1.0) * _AROUND
            self.view = Viewport(middle - span / 2, span).within(*self.bounds)
        elif not is_seen:
            middle = (begin + end) / 2
            self.view = Viewport(middle - self.view.span / 2, self.view.span).within(*self.bounds)
        self._open_row_of(chosen)
        self.choose(chosen)

    def mark(self, moments: tuple[ShownMoment, ...]) -> None:
        """Show these marks from now on."""
        if moments != self.moments:
            self.moments = moments
            self._changed()

    def fit(self) -> None:
        """The chosen slice or area; all of it where nothing is chosen or it fills the view already."""
        begin, end = self.bounds
        if self.area is not None:
            begin, end = self.area.begin, self.area.end
        elif self.chosen is not None:
            begin, end = self.span_of(self.chosen)
        wanted = fitted(begin, end)
        is_there = (
            abs(wanted.begin - self.view.begin) + abs(wanted.span - self.view.span) < 1e-3 * wanted.span
        )
        self.look(self.whole if is_there else wanted)

    def span_of(self, chosen: Chosen) -> tuple[float, float]:
        track = self.tracks[chosen.track]
        start = int(track.trace.slices.start_ns[chosen.slice]) + track.shift
        return float(start), float(start + track.trace.slices.duration_ns[chosen.slice])

    def level_of(self, chosen: Chosen) -> Level:
        track = self.tracks[chosen.track]
        slices = track.trace.slices
        return track.levels[slices.lane[chosen.slice]][slices.depth[chosen.slice]]

    def neighbour(self, by: int) -> Chosen | None:
        """The slice before (-1) or after (1) the chosen one in its row, else the first one that is seen."""
        if self.chosen is None:
            return self._first_seen()
        level = self.level_of(self.chosen)
        slices = self.tracks[self.chosen.track].trace.slices
        place = level.place_of(self.chosen.slice, int(slices.start_ns[self.chosen.slice])) + by
        if not 0 <= place < len(level):
            return None
        return Chosen(self.chosen.track, int(level.index[place]))

    def outer(self) -> Chosen | None:
        if self.chosen is None:
            return None
        track = self.tracks[self.chosen.track]
        found = parent_of(track, self.chosen.slice)
        return None if found == NONE else Chosen(self.chosen.track, found)

    def inner(self) -> Chosen | None:
        """The first slice that lies in the chosen one."""
        if self.chosen is None:
            return None
        track, slices = self.tracks[self.chosen.track], self.tracks[self.chosen.track].trace.slices
        levels, depth = track.levels[slices.lane[self.chosen.slice]], int(slices.depth[self.chosen.slice]) + 1
        if depth >= len(levels):
            return None
        start = int(slices.start_ns[self.chosen.slice])
        place = int(np.searchsorted(levels[depth].start, start, "left"))
        ends = start + int(slices.duration_ns[self.chosen.slice])
        if place >= len(levels[depth]) or levels[depth].start[place] >= ends:
            return None
        return Chosen(self.chosen.track, int(levels[depth].index[place]))

    def sources(self) -> tuple[Chosen, ...]:
        """What led to the chosen slice: its launch, or the operator whose gradient it is."""
        return self._sources

    def targets(self) -> tuple[Chosen, ...]:
        """What the chosen slice led to: the work of its launch, or of all launches inside it."""
        return self._targets

    def find(self, text: str) -> None:
        """All slices with the text in their names, in order of time; none for no text."""
        self.hits = hits_of(self.tracks, text)
        self._changed()

    def next_hit(self, by: int) -> int:
        """Which hit comes after (1) or before (-1) the chosen slice, round the end; NONE without hits."""
        if not len(self.hits):
            return NONE
        if self.chosen and (at := self.hits.place_of(self.chosen, self.span_of(self.chosen)[0])) != NONE:
            return (at + by) % len(self.hits)
        now = self.span_of(self.chosen)[0] if self.chosen else self.view.begin
        after = int(np.searchsorted(self.hits.time, now, "left"))
        return (after if by > 0 else after - 1) % len(self.hits)

    def _linked(self, question: Callable[[Track, int], NDArray[np.int32]]) -> tuple[Chosen, ...]:
        if self.chosen is None:
            return ()
        found = question(self.tracks[self.chosen.track], self.chosen.slice)
        return tuple(Chosen(self.chosen.track, slice_) for slice_ in found.tolist())

    def _first_seen(self) -> Chosen | None:
        for row in self.rows:
            if row.lane == NONE or not row.level_count:
                continue
            shift = self.tracks[row.track].shift
            place = int(np.searchsorted(row.levels[0].start, self.view.begin - shift, "left"))
            if place < len(row.levels[0]) and row.levels[0].start[place] + shift <= self.view.end:
                return Chosen(row.track, int(row.levels[0].index[place]))
        return None

    def _open_row_of(self, chosen: Chosen) -> None:
        """What is shown is seen: its lane is neither hidden nor closed."""
        track = self.tracks[chosen.track]
        lane = track.trace.lanes[track.trace.slices.lane[chosen.slice]]
        heading, key = f"{track.title}|{lane.process}", f"{track.title}|{lane.process}|{lane.thread}"
        now = self._arrangement
        if {heading, key} & (now.hidden | now.collapsed):
            hidden, closed = now.hidden - {heading, key}, now.collapsed - {heading, key}
            self.arrange(Arrangement(now.pinned, hidden, closed, now.order))
