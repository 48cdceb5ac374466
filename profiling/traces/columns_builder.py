"""Batches of events become arrays, chunk by chunk: no event outlives its chunk."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.traces.chunks import Batch
from roofscope.profiling.traces.columns import NONE, Category, FlowKind, Indices, Whole
from roofscope.profiling.traces.events import NO_ARGUMENTS, Arguments, Event, number, whole
from roofscope.profiling.traces.lanes import LaneNames

MOST_SLICES = 20_000_000  # about 70 bytes each
_MOST_LANES = 10_000
_LATEST_US = 2e15  # of a clock since 1970: the year 2033; sums of it stay below 64 bits in ns
_LONGEST_US = 1e15
_CATEGORIES = {
    "kernel": Category.KERNEL,
    "gpu_memcpy": Category.MEMCPY,
    "memcpy": Category.MEMCPY,
    "gpu_memset": Category.MEMSET,
    "memset": Category.MEMSET,
    "gpu_user_annotation": Category.GPU_ANNOTATION,
    "cpu_op": Category.CPU_OP,
    "operator": Category.CPU_OP,
    "cuda_runtime": Category.RUNTIME,
    "runtime": Category.RUNTIME,
    "cuda_driver": Category.DRIVER,
    "driver": Category.DRIVER,
    "user_annotation": Category.ANNOTATION,
    "python_function": Category.PYTHON,
    "overhead": Category.OVERHEAD,
}
_FLOWS = {
    "ac2g": FlowKind.LAUNCH,
    "async_gpu": FlowKind.LAUNCH,
    "async_cpu_to_gpu": FlowKind.LAUNCH,
    "fwdbwd": FlowKind.GRADIENT,
    "fwd_bwd": FlowKind.GRADIENT,
    "forward_backward": FlowKind.GRADIENT,
}
PHASES = {"s": 0, "t": 1, "f": 2}

SLICE = np.dtype(
    [
        ("start_us", "f8"),
        ("duration_us", "f8"),
        ("name", "i4"),
        ("category", "u1"),
        ("lane", "i4"),
        ("correlation", "i8"),
        ("external", "i8"),
        ("offset", "i8"),
        ("length", "i4"),
    ]
)
FLOW = np.dtype(
    [("kind", "u1"), ("phase", "u1"), ("id", "i8"), ("lane", "i4"), ("time_us", "f8"), ("encloses", "?")]
)
MEMORY = np.dtype([("time_us", "f8"), ("change", "i8"), ("allocated", "i8"), ("device", "i4")])
Rows = NDArray[Any]


class _Numbers(dict[Any, int]):
    """Gives what it has not met the next number."""

    def __init__(self) -> None:
        super().__init__()
        self._next = count()

    def __missing__(self, key: Any) -> int:
        self[key] = number_ = next(self._next)
        return number_


class _Known(dict[str, int]):
    """What the texts of a field mean, however they are written."""

    def __init__(self, known: Mapping[str, int], otherwise: int) -> None:
        super().__init__()
        self._meaning, self._otherwise = known, otherwise

    def __missing__(self, key: str) -> int:
        self[key] = found = int(self._meaning.get(key.lower(), self._otherwise))
        return found


class Gathered(Struct, frozen=True, eq=False):
    slices: Rows
    flows: Rows
    memory: Rows


class ColumnsBuilder:
    def __init__(self, title: str) -> None:
        self._title = title  # of the trace, for what is said of it
        self.names = _Numbers()
        self.lanes = LaneNames()
        self.event_count = 0
        self.dropped = 0  # slices without a place in time
        self._categories = _Known(_CATEGORIES, Category.OTHER)
        self._flow_kinds = _Known(_FLOWS, FlowKind.OTHER)
        self._lane_numbers = _Numbers()
        self._flow_ids = _Numbers()
        self._slices: list[Rows] = []
        self._flows: list[Rows] = []
        self._memory: list[Rows] = []
        self._slice_count = 0

    @property
    def lane_keys(self) -> Sequence[tuple[Any, Any]]:
        return tuple(self._lane_numbers)

    def add(self, batch: Batch) -> None:
        """Raises TraceError where there is more than a machine's memory should be asked for."""
        events = batch.events
        self.event_count += len(events)
        chosen = [index for index, event in enumerate(events) if event.ph == "X"]
        if chosen:
            places = np.array(chosen)
            self._add_slices([events[index] for index in chosen], batch.offset[places], batch.length[places])
        if len(chosen) < len(events):
            self._add_others([event for event in events if event.ph != "X"])
        if self._slice_count > MOST_SLICES:
            most = MOST_SLICES // 1_000_000
            raise TraceError(f"{self._title} holds more than {most} million slices; record fewer steps.")
        if len(self._lane_numbers) > _MOST_LANES:
            raise TraceError(
                f"{self._title} names more than {_MOST_LANES} threads, as no program has; record it again."
            )

    def _add_slices(self, events: list[Event], offset: Whole, length: Indices) -> None:
        arguments = [event.args or NO_ARGUMENTS for event in events]
        rows = np.empty(len(events), SLICE)
        rows["start_us"] = _microseconds([event.ts for event in events])
        rows["duration_us"] = _microseconds([event.dur for event in events])
        names, categories = self.names, self._categories
        rows["name"] = [names[event.name] for event in events]
        rows["category"] = [categories[event.cat] for event in events]
        rows["lane"] = self._lanes_of(events)
        rows["correlation"] = _wholes([each.correlation for each in arguments])
        external = _wholes([each.external for each in arguments])
        if (external == NONE).any():
            before = _wholes([each.external_before for each in arguments])
            external = np.where(external == NONE, before, external)
        rows["external"] = external
        rows["offset"], rows["length"] = offset, length
        self._note_streams(rows, arguments)
        start, duration = rows["start_us"], rows["duration_us"]
        is_right = (np.abs(start) <= _LATEST_US) & (duration >= 0) & (duration <= _LONGEST_US)
        self.dropped += int(len(rows) - np.count_nonzero(is_right))
        rows = rows if is_right.all() else rows[is_right]
        self._slice_count += len(rows)
        self._slices.append(rows)

    def _lanes_of(self, events: list[Event]) -> list[int]:
        numbers = self._lane_numbers
        try:
            keys = zip([event.pid for event in events], [event.tid for event in events], strict=True)
            return list(map(numbers.__getitem__, keys))
        except TypeError:  # a list or an object for a pid
            return [numbers[_key(event.pid), _key(event.tid)] for event in events]

    def _note_streams(self, rows: Rows, arguments: list[Arguments]) -> None:
        """Which lanes are streams: those with work of a GPU, which says its device and stream."""
        places = np.flatnonzero(rows["category"] <= Category.GPU_ANNOTATION).tolist()
        lanes = rows["lane"][places].tolist()
        for lane, index in zip(lanes, places, strict=True):
            if not self.lanes.knows_stream(lane):
                self.lanes.note_stream(lane, arguments[index].device, arguments[index].stream)

    def _add_others(self, events: Iterable[Event]) -> None:
        flows: list[Event] = []
        memory: list[Event] = []
        for event in events:
            if event.ph in PHASES:
                flows.append(event)
            elif event.name == "[memory]":
                memory.append(event)
            elif event.ph == "M" and event.args:
                self.lanes.note(event.name, (_key(event.pid), _key(event.tid)), event.args)
        if flows:
            self._flows.append(self._flow_rows(flows))
        if memory:
            self._memory.append(_memory_rows(memory))

    def _flow_rows(self, events: list[Event]) -> Rows:
        rows = np.empty(len(events), FLOW)
        kinds = self._flow_kinds
        rows["kind"] = [kinds[event.cat] for event in events]
        rows["phase"] = [PHASES[event.ph] for event in events]
        rows["id"] = self._ids([event.id for event in events])
        rows["lane"] = self._lanes_of(events)
        rows["time_us"] = _microseconds([event.ts for event in events])
        rows["encloses"] = [event.ph != "f" or event.bp == "e" for event in events]
        return rows[np.abs(rows["time_us"]) <= _LATEST_US]

    def _ids(self, values: list[Any]) -> Whole:
        found = _plain_wholes(values)
        if found is not None:
            return found
        # Ids that are text get numbers below -1, so that they meet no id that is a number.
        ids = self._flow_ids
        numbers = (
            value if type(value) is int and abs(value) < 2**62 else -2 - ids[_key(value)] for value in values
        )
        return np.fromiter(numbers, np.int64, len(values))

    def gathered(self) -> Gathered:
        return Gathered(
            _joined(self._slices, SLICE), _joined(self._flows, FLOW), _joined(self._memory, MEMORY)
        )


def _joined(parts: list[Rows], kind: np.dtype[Any]) -> Rows:
    joined = np.concatenate(parts) if parts else np.empty(0, kind)
    parts.clear()
    return joined


def _memory_rows(events: list[Event]) -> Rows:
    arguments = [event.args or NO_ARGUMENTS for event in events]
    rows = np.empty(len(events), MEMORY)
    rows["time_us"] = _microseconds([event.ts for event in events])
    rows["change"] = [whole(each.bytes, 0) for each in arguments]
    rows["allocated"] = [whole(each.allocated, 0) for each in arguments]
    # Device Type 0 is the host, whatever its Device Id says.
    rows["device"] = [
        NONE if each.device_type == 0 else min(max(whole(each.device_id), NONE), 1 << 16)
        for each in arguments
    ]
    return rows[np.abs(rows["time_us"]) <= _LATEST_US]


def _microseconds(values: list[Any]) -> NDArray[np.float64]:
    """Not a number where a value is none; a missing one is not 0."""
    try:
        found = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.shape == (len(values),):  # a list for a time would be a second dimension
        return found
    return np.array([number(value) for value in values], np.float64)


def _plain_wholes(values: list[Any]) -> Whole | None:
    """None where any of them is something else."""
    try:
        found: NDArray[Any] = np.array(values)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.dtype == np.int64 and found.shape == (len(values),) else None


def _wholes(values: list[Any]) -> Whole:
    found = _plain_wholes(values)
    return found if found is not None else np.array([whole(value) for value in values], np.int64)


def _key(value: Any) -> Any:
    """A pid, a tid or an id that a dictionary takes."""
    return value if isinstance(value, int | float | str) or value is None else repr(value)[:200]
