"""Lanes: what a thread or stream is called, in which order they stand, and how deep each slice lies."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.traces.columns import NONE, Indices, Lane, Whole
from roofscope.profiling.traces.events import Arguments, whole

Key = tuple[Any, Any]  # pid and tid, as the file has them
_DEVICES = 5_000_000  # by which Kineto sorts GPUs below the processes
_UNSORTED = 1 << 29  # where Kineto puts what is neither
_LEVELS = 64  # that are found a level at a time
_LONGEST = 200
_DEEPEST = 65_535


class Nested(Struct, frozen=True, eq=False):
    depth: NDArray[np.uint16]
    parent: Indices  # the slice that a slice lies in, NONE for the outermost


class LaneNames:
    """What metadata events and the slices say of lanes. Of two names of a thread the later one counts."""

    def __init__(self) -> None:
        self._processes: dict[Any, str] = {}
        self._threads: dict[Key, str] = {}
        self._process_order: dict[Any, int] = {}
        self._thread_order: dict[Key, int] = {}
        self._streams: dict[int, tuple[int, int]] = {}

    def note(self, what: str, key: Key, said: Arguments) -> None:
        match what:
            case "process_name" if isinstance(said.name, str):
                self._processes[key[0]] = _short(said.name)
            case "thread_name" if isinstance(said.name, str):
                self._threads[key] = _short(said.name)
            case "process_sort_index":
                self._process_order[key[0]] = whole(said.sort_index, _UNSORTED)
            case "thread_sort_index":
                self._thread_order[key] = whole(said.sort_index, _UNSORTED)
            case _:
                pass  # labels say "CPU" and "GPU 0", which the slices say more surely

    def knows_stream(self, lane: int) -> bool:
        return NONE not in self._streams.get(lane, (NONE, NONE))

    def note_stream(self, lane: int, device: Any, stream: Any) -> None:
        """Annotations on a stream say no device: what says one counts."""
        found = (_small(device), _small(stream))
        self._streams[lane] = found

    def lane(self, number: int, key: Key) -> Lane:
        pid, tid = key
        if number in self._streams:
            device, stream = self._streams[number]
            device = _small(pid) if device == NONE else device
            device = max(0, device)
            stream = _small(tid) if stream == NONE else stream
            name = self._threads.get(key) or f"stream {_short(str(tid))}"
            return Lane(f"GPU {device}", name, device, stream)
        called = self._processes.get(pid)
        process = f"{called} ({_short(str(pid))})" if called else _bare("process", pid)
        is_main = whole(pid) == whole(tid) > 0
        return Lane(process, self._threads.get(key) or _bare("thread", tid), is_main=is_main)

    def place(self, lane: Lane, key: Key) -> tuple[int, str, int, int, str]:
        """By what lanes are sorted: Kineto's order of processes, then of threads, as Perfetto does."""
        pid, tid = key
        number = _small(pid)
        otherwise = number if number >= 0 else _UNSORTED
        process = _DEVICES + lane.device if lane.on_device else self._process_order.get(pid, otherwise)
        thread = lane.stream if lane.on_device else self._thread_order.get(key, whole(tid, _UNSORTED))
        return process, lane.process, thread, whole(tid, _UNSORTED), str(tid)


def _small(value: Any) -> int:
    found = whole(value)
    return found if 0 <= found < 2**31 else NONE


def _short(text: str) -> str:
    return one_line(text)[:_LONGEST]


def _bare(what: str, number: Any) -> str:
    text = _short(str(number)) if number not in (None, "") else "without a number"
    return text if isinstance(number, str) and number else f"{what} {text}"


def ordered(lanes: Sequence[Lane], keys: Sequence[Key], names: LaneNames, used: Iterable[int]) -> list[int]:
    """The numbers of the lanes that hold slices, in the order of the timeline."""
    return sorted(used, key=lambda number: names.place(lanes[number], keys[number]))


def nested(start: Whole, end: Whole, begin: Whole, tell: Callable[[float], None]) -> Nested:
    """Depths by containment, of slices that are sorted by lane, begin and length, the longer first.

    A slice lies in the one before it that has not ended when it begins, also where it ends later: two
    slices of one depth never overlap.
    """
    depth = np.zeros(len(start), np.uint16)
    parent = np.full(len(start), NONE, np.int32)
    for first, last in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        _nest(np.arange(first, last, dtype=np.int32), start, end, Nested(depth, parent))
        tell(last / max(len(start), 1))
    return Nested(depth, parent)


def _nest(rest: Indices, start: Whole, end: Whole, found: Nested) -> None:
    """From the outermost slices inwards: those are outermost that begin when all before them have ended."""
    for level in range(_LEVELS):
        latest = np.maximum.accumulate(end[rest])
        is_outer = np.ones(len(rest), bool)
        is_outer[1:] = start[rest[1:]] >= latest[:-1]
        outer = rest[is_outer]
        found.depth[outer] = level
        holder = (np.cumsum(is_outer) - 1)[~is_outer]
        rest = rest[~is_outer]
        if not len(rest):
            return
        found.parent[rest] = outer[holder]
    _nest_deeply(rest, start, end, found)


def _nest_deeply(rest: Indices, start: Whole, end: Whole, found: Nested) -> None:
    """The same slice by slice, because a pass a level would take long where each level has few."""
    ends: list[int] = []
    holders: list[int] = []
    for index, begins, finishes in zip(rest.tolist(), start[rest].tolist(), end[rest].tolist(), strict=True):
        while ends and ends[-1] <= begins:
            del ends[-1], holders[-1]
        if holders:
            found.parent[index] = holders[-1]
        found.depth[index] = min(_LEVELS + len(ends), _DEEPEST)
        ends.append(finishes)
        holders.append(index)


def order_of(lane: Indices, start: Whole, duration: Whole, tell: Callable[[float], None]) -> NDArray[np.intp]:
    """By lane, begin and length, the longer first. Lane by lane, because most lie in order already."""
    order = np.argsort(lane.astype(np.uint16), kind="stable")
    begin = np.searchsorted(lane[order], np.arange(int(lane.max()) + 2))
    for first, last in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        mine = order[first:last]
        if not (start[mine[1:]] > start[mine[:-1]]).all():
            order[first:last] = mine[np.lexsort((-duration[mine], start[mine]))]
        tell(last / len(order))
    return order
