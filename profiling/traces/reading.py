"""Opens a profiler trace from anywhere: a file, packed or not, or what a session stores.

What a trace gets wrong is mended or left out, and counted; what is no trace at all ends in one TraceError.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.chrome_trace import TraceError, unpack
from roofscope.profiling.traces.chunks import EventReader, find_layout
from roofscope.profiling.traces.columns import NONE, Health, Lane, MemoryEvents, Slices, Trace, Whole
from roofscope.profiling.traces.columns_builder import ColumnsBuilder, Gathered
from roofscope.profiling.traces.events import event_json
from roofscope.profiling.traces.flows import Nesting, paired
from roofscope.profiling.traces.lanes import nested, order_of, ordered
from roofscope.profiling.traces.repair import mended
from roofscope.profiling.traces.source import Progress, Source, from_bytes, from_file
from roofscope.profiling.traces.top_level import device_sheets

__all__ = ("TraceError", "open_trace", "read_trace_bytes")

_READ = 0.8  # of the whole progress; depths and arrows are the rest


def open_trace(path: Path, progress: Progress | None = None) -> Trace:
    """Reads `.json`, `.json.gz` or `.zip`, whatever the file is called. Raises TraceError.

    ``progress`` gets 0 to 1; what it raises ends the reading.
    """
    tell = progress or _silent
    source = from_file(path, lambda share: tell(0.3 * share))
    is_packed = path.stat().st_size != source.size
    return _read(source, one_line(path.name), _between(tell, 0.3 if is_packed else 0.0, 1.0))


def read_trace_bytes(json_gz: bytes, title: str, progress: Progress | None = None) -> Trace:
    """Reads what a session stores. Raises TraceError."""
    return _read(from_bytes(unpack(json_gz)), title, progress or _silent)


def _silent(_: float) -> None:
    return None


def _between(tell: Progress, first: float, last: float) -> Progress:
    return lambda share: tell(first + (last - first) * share)


def _read(source: Source, title: str, tell: Progress) -> Trace:
    layout = find_layout(source, title)
    reader = EventReader(source, layout, _between(tell, 0.0, _READ))
    builder = ColumnsBuilder(title)
    for batch in reader.batches():
        builder.add(batch)
    tell(_READ)
    gathered = builder.gathered()
    if not len(gathered.slices):
        raise TraceError(_why_nothing(title, builder.dropped, reader.dropped))
    trace = _assembled(source, title, builder, gathered, reader, _between(tell, _READ, 1.0))
    tell(1.0)
    return msgspec.structs.replace(trace, devices=device_sheets(source, layout, reader.ends_at))


def _why_nothing(title: str, without_time: int, unread: int) -> str:
    """Of a trace without a slice."""
    if without_time:
        return (
            f"{title} holds no slice with a usable time: each is missing, negative, no number or beyond "
            "2033; record it again."
        )
    if unread:
        return f"{title} holds no event that can be read; record it again."
    return f"{title} holds no slice, which is an event with a duration; record it again."


class _Placed(Struct, frozen=True, eq=False):
    """The lanes that hold slices, and of each number of the builder its place among them."""

    lanes: tuple[Lane, ...]
    place: NDArray[np.int32]


def _lanes(builder: ColumnsBuilder, gathered: Gathered) -> _Placed:
    keys = builder.lane_keys
    lanes = [builder.lanes.lane(number, key) for number, key in enumerate(keys)]
    used = np.flatnonzero(np.bincount(gathered.slices["lane"]))
    order = ordered(lanes, keys, builder.lanes, used.tolist())
    place = np.full(len(keys), NONE, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return _Placed(tuple(lanes[number] for number in order), place)


def _assembled(
    source: Source,
    title: str,
    builder: ColumnsBuilder,
    gathered: Gathered,
    reader: EventReader,
    tell: Progress,
) -> Trace:
    placed = _lanes(builder, gathered)
    tell(0.05)
    start, duration = _nanoseconds(gathered.slices["start_us"]), _nanoseconds(gathered.slices["duration_us"])
    memory_ns = _nanoseconds(gathered.memory["time_us"])
    origin = int(min(start.min(), memory_ns.min())) if len(memory_ns) else int(start.min())
    lane = placed.place[gathered.slices["lane"]]
    order = order_of(lane, start, duration, _between(tell, 0.05, 0.25))
    start, duration, lane = start[order] - origin, duration[order], lane[order]
    tell(0.28)
    begin = np.searchsorted(lane, np.arange(len(placed.lanes) + 1)).astype(np.int64)
    nesting = nested(start, start + duration, begin, _between(tell, 0.3, 0.7))
    columns: list[NDArray[Any]] = []
    for field in ("name", "category", "correlation", "external", "offset", "length"):
        columns.append(gathered.slices[field][order])
        tell(0.7 + 0.02 * len(columns))
    name, category, *others = columns
    slices = Slices(start, duration, name, category, lane, nesting.depth, *others)
    flow_rows = gathered.flows
    flow_rows["lane"] = placed.place[flow_rows["lane"]]
    flows_ns = _nanoseconds(flow_rows["time_us"]) - origin
    arrows = paired(flow_rows, flows_ns, slices, Nesting(begin, nesting.parent), _between(tell, 0.85, 1.0))
    most_deep = np.maximum.reduceat(nesting.depth, begin[:-1]) + 1
    return Trace(
        title=title,
        names=tuple(builder.names),
        lanes=tuple(
            msgspec.structs.replace(each, most_deep=int(deep))
            for each, deep in zip(placed.lanes, most_deep.tolist(), strict=True)
        ),
        lane_begin=begin,
        slices=slices,
        flows=arrows.flows,
        memory=_memory(gathered.memory, memory_ns - origin),
        origin_ns=origin,
        end_ns=int(slices.end_ns.max()),
        devices=(),
        health=Health(
            builder.event_count,
            reader.dropped + builder.dropped,
            reader.repaired,
            reader.is_cut,
            arrows.without_begin,
            arrows.without_end,
        ),
        arguments_of=_Arguments(source, slices),
        json_bytes=source.whole,
    )


def _nanoseconds(microseconds: NDArray[np.float64]) -> Whole:
    """Whole ones. Those after 2^53 ns, which a clock since 1970 shows, are right to 0.25 us."""
    return np.rint(microseconds * 1000.0).astype(np.int64)


def _memory(rows: NDArray[Any], time_ns: Whole) -> MemoryEvents:
    order = np.argsort(time_ns, kind="stable")
    rows = rows[order]
    return MemoryEvents(
        time_ns[order], rows["change"].copy(), rows["allocated"].copy(), rows["device"].copy()
    )


class _Arguments:
    """What else a slice says; nothing where the file has changed under us or cannot be read any more."""

    def __init__(self, source: Source, slices: Slices) -> None:
        self._source, self._slices = source, slices

    def __call__(self, slice_: int) -> Mapping[str, Any]:
        offset, length = int(self._slices.offset[slice_]), int(self._slices.length[slice_])
        try:
            text = self._source.read(offset, length)
        except (OSError, ValueError):
            return {}
        found = _within_64_bits(event_json(text) or b"")
        arguments = cast(dict[str, Any], found).get("args") if isinstance(found, dict) else None
        return cast(dict[str, Any], arguments) if isinstance(arguments, dict) else {}


def _within_64_bits(json_text: bytes) -> object:
    """None where it is no value; a longer integer, which no figure of a trace is, becomes null."""
    for text in (json_text, (mended(json_text, 0) or (b"", 0))[0]):
        with suppress(UnreadableError):
            return decode(text, object)
    return None
