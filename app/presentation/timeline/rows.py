"""The rows of a timeline: a heading for each process, a lane for each thread and stream, a lane of gaps."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from roofscope.app.presentation.timeline.levels import Level, idle_level, levels_of
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.traces.columns import NONE, Category, FlowKind, Lane, Trace


class Track(Struct, frozen=True, eq=False):
    """A trace as a timeline holds it; several stand below one another on one scale of time."""

    trace: Trace
    title: str
    shift: int  # ns, added to its times
    levels: tuple[tuple[Level, ...], ...]
    idle: tuple[tuple[int, Level], ...]  # of each GPU its gaps
    labels: tuple[str, ...]  # of each name of the trace what a slice shows


class Row(Struct, frozen=True):
    """A heading has no levels; a lane of gaps has no lane of the trace."""

    key: str  # the same whenever the same trace is opened
    title: str
    track: int
    levels: tuple[Level, ...] = ()
    lane: int = NONE
    is_heading: bool = False
    is_idle: bool = False
    is_collapsed: bool = False
    is_pinned: bool = False

    @property
    def level_count(self) -> int:
        return min(1, len(self.levels)) if self.is_collapsed else len(self.levels)


_SELDOM = ("Spans", "Traces", "process -1")  # of Kineto itself


class Arrangement(Struct, frozen=True):
    """What the user did to rows, by their keys."""

    pinned: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    collapsed: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()  # lanes that were moved stand in this order within their process

    def with_collapsed(self, key: str) -> "Arrangement":
        """Toggled."""
        return replace(self, collapsed=self.collapsed ^ {key})

    def with_pinned(self, key: str) -> "Arrangement":
        """Toggled; the newest pin stands last."""
        pinned = tuple(one for one in self.pinned if one != key)
        return replace(self, pinned=pinned if key in self.pinned else (*pinned, key))

    def with_hidden(self, key: str) -> "Arrangement":
        return replace(self, hidden=self.hidden | {key})

    def with_all(self) -> "Arrangement":
        return replace(self, hidden=frozenset())

    def with_moved(self, key: str, by: int, rows: Sequence[Row]) -> "Arrangement":
        """One place up (-1) or down (1) among the lanes of its process, as they stand now."""
        place = next((place for place, row in enumerate(rows) if row.key == key), NONE)
        if place == NONE or rows[place].is_heading or not 0 <= place + by < len(rows):
            return self
        other = rows[place + by]
        if other.is_heading or other.track != rows[place].track:
            return self
        keys = [row.key for row in rows if not row.is_heading]
        mine, theirs = keys.index(key), keys.index(other.key)
        keys[mine], keys[theirs] = keys[theirs], keys[mine]
        return replace(self, order=tuple(keys))


def track_of(trace: Trace, title: str) -> Track:
    """Takes some 100 ms for a million slices: made in a thread."""
    devices = sorted({lane.device for lane in trace.lanes if lane.on_device})
    idle = tuple((device, idle_level(trace, device)) for device in devices)
    shift = -begin_of_work(trace)
    return Track(trace, title, shift, levels_of(trace), idle, labels_of(trace))


def labels_of(trace: Trace) -> tuple[str, ...]:
    """Kernels by their short names, all else by its own."""
    from roofscope.profiling.traces.short_names import short_names  # its patterns take time to load

    labels = list(trace.names)
    kernels = np.unique(trace.slices.name[trace.slices.category == Category.KERNEL]).tolist()
    for number, short in zip(kernels, short_names([labels[number] for number in kernels]), strict=True):
        labels[number] = short
    return tuple(map(one_line, labels))


def begin_of_work(trace: Trace) -> int:
    """A trace's zero: when the launch of the first work of a GPU begins, else the first slice."""
    slices, flows = trace.slices, trace.flows
    of_work = flows.source[flows.kind == FlowKind.LAUNCH]
    if len(of_work):
        return int(slices.start_ns[of_work].min())
    work = slices.start_ns[slices.category <= Category.MEMSET]
    return int((work if len(work) else slices.start_ns).min())


def first_arrangement(tracks: Sequence[Track]) -> Arrangement:
    """Open is what one looks for: of several traces the GPUs, of one the host's threads as well."""
    own, closed = set[str](), set[str]()
    for track in tracks:
        for lane in track.trace.lanes:
            if lane.process.startswith(_SELDOM):
                own.add(_heading(track, lane))
            elif len(tracks) > 1 and track.idle and not lane.on_device:
                closed.add(_heading(track, lane))
    return Arrangement(hidden=frozenset(own), collapsed=frozenset(closed))


def _heading(track: Track, lane: Lane) -> str:
    return f"{track.title}|{lane.process}"


def rows_of(tracks: Sequence[Track], arrangement: Arrangement) -> tuple[Row, ...]:
    """In the order in which they are drawn, pinned ones first, without hidden ones."""
    every = [
        list(_of_track(track, place, arrangement, len(tracks) > 1)) for place, track in enumerate(tracks)
    ]
    by_key = {row.key: row for rows in every for row in rows}
    pinned = [replace(by_key[key], is_pinned=True) for key in arrangement.pinned if key in by_key]
    rest = [row for rows in every for row in rows if row.key not in arrangement.pinned]
    return tuple(row for row in (*pinned, *rest) if row.key not in arrangement.hidden)


def _of_track(track: Track, place: int, arrangement: Arrangement, is_stacked: bool) -> Iterator[Row]:
    """GPUs first: they are what one looks for. Lanes without a slice are none."""
    lanes = list(enumerate(track.trace.lanes))
    lanes.sort(key=lambda numbered: not numbered[1].on_device)
    for process, of_process in groupby(lanes, key=lambda numbered: numbered[1].process):
        members = list(of_process)
        heading = f"{track.title}|{process}"
        shown = f"{track.title}: {process}" if is_stacked else process
        is_closed = heading in arrangement.collapsed
        yield Row(heading, shown, place, is_heading=True, is_collapsed=is_closed)
        if is_closed or heading in arrangement.hidden:
            continue
        yield from _in_order(list(_lanes(track, place, members, arrangement)), arrangement)


def _lanes(
    track: Track, place: int, members: Sequence[tuple[int, object]], arrangement: Arrangement
) -> Iterator[Row]:
    seen_devices: set[int] = set()
    for number, _ in members:
        lane = track.trace.lanes[number]
        key = f"{track.title}|{lane.process}|{lane.thread}"
        yield Row(
            key, lane.thread, place, track.levels[number], number, is_collapsed=key in arrangement.collapsed
        )
        seen_devices.add(lane.device)
    for device, level in track.idle:
        if device in seen_devices:
            yield Row(f"{track.title}|GPU {device}|idle", "idle", place, (level,), is_idle=True)


def _in_order(rows: list[Row], arrangement: Arrangement) -> list[Row]:
    moved = {key: place for place, key in enumerate(arrangement.order)}
    if not any(row.key in moved for row in rows):
        return rows
    return sorted(rows, key=lambda row: moved.get(row.key, len(moved)))
