"""Reads a stored profiler trace: which device kernels ran, how often, how long.

Kineto, which writes torch.profiler's traces, sometimes writes invalid JSON (unescaped quotes in names,
control characters). Then the file is read event by event, and unreadable events are counted.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

from msgspec import Struct

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.planning.trace_options import MOST_TRACE_BYTES


class TraceError(Exception):
    """A trace cannot be read at all; the text is one sentence for the user."""


class TraceRow(Struct, frozen=True):
    """All runs of one device kernel (or, on a CPU, of one operator)."""

    name: str
    count: int
    total_s: float  # an operator's own time, without its children
    share: float  # of the time of all rows, 0 to 1

    @property
    def mean_s(self) -> float:
        return self.total_s / self.count


class TraceSummary(Struct, frozen=True):
    """The trace's busiest kernels first."""

    rows: tuple[TraceRow, ...]
    on_device: bool  # False: the trace holds no device kernel, and rows are CPU operators
    event_count: int
    dropped_count: int  # events that could not be read


class _Event(Struct):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = 0.0  # us
    dur: float = 0.0  # us


class _File(Struct):
    traceEvents: list[_Event]  # named by Chrome


_DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_EVENT_START = re.compile(r'\{\s*"ph"\s*:')
_CONTROL = re.compile(r"[\x00-\x1f]")
_CLOSING_FIELDS = 4  # braces to try, from the end, before an event counts as unreadable
# Of a trace unpacked. Five calls of ten thousand kernels each make some 100 MB and 400,000 objects; without
# bounds, 7 MiB from a stranger unpack to 8 GiB.
MOST_BYTES = MOST_TRACE_BYTES
_MOST_OBJECTS = 1_000_000
_LONGEST_US = 1e15  # 31 years; its sums stay finite
_LATEST_US = 1e18


def read_trace(chrome_json_gz: bytes) -> TraceSummary:
    """Summarise a gzipped Chrome trace. Raises TraceError when it is none."""
    content = unpack(chrome_json_gz)
    if content.count(b"{") > _MOST_OBJECTS:
        raise TraceError(
            f"The trace holds more than {_MOST_OBJECTS} objects; record it again with fewer calls."
        )
    try:
        events, dropped = decode(content, _File, most_bytes=MOST_BYTES).traceEvents, 0
    except UnreadableError:
        events, dropped = _salvage(content)
    read = [event for event in events if 0 <= event.dur <= _LONGEST_US and abs(event.ts) <= _LATEST_US]
    dropped += len(events) - len(read)
    if not read:
        raise TraceError("The trace holds no readable event; record it again.")
    complete = [event for event in read if event.ph == "X"]
    on_device = [event for event in complete if event.cat in _DEVICE_CATEGORIES]
    times = ((event.name, event.dur) for event in on_device) if on_device else _own_times(complete)
    return TraceSummary(_rows(times), bool(on_device), len(read), dropped)


def unpack(chrome_json_gz: bytes) -> bytes:
    """The JSON text, as far as the file goes. Raises TraceError when it is not gzip, or too long."""
    try:
        content = zlib.decompressobj(wbits=31).decompress(chrome_json_gz, MOST_BYTES + 1)
    except (zlib.error, TypeError) as error:  # SQLite's column holds whatever was put into it
        raise TraceError(f"The trace is no gzip file ({error}); record it again.") from error
    if len(content) > MOST_BYTES:
        raise TraceError(
            f"The trace unpacks to more than {MOST_BYTES >> 20} MiB, as none of a few calls does; "
            "record it again."
        )
    return content


def _salvage(content: bytes) -> tuple[list[_Event], int]:
    text = _CONTROL.sub(" ", content.decode("utf-8", "replace"))
    starts = [match.start() for match in _EVENT_START.finditer(text)]
    chunks = [text[start:end] for start, end in pairwise((*starts, len(text)))]
    decoded = [_decode_event(chunk) for chunk in chunks]
    events = [event for event in decoded if event]
    return events, len(chunks) - len(events)


def _decode_event(chunk: str) -> _Event | None:
    """An event and what follows it: a comma, or at the end the file's own closing fields."""
    stop = len(chunk)
    for _ in range(_CLOSING_FIELDS):
        stop = chunk.rfind("}", 0, stop)
        if stop < 0:
            return None
        with suppress(UnreadableError):
            return decode(chunk[: stop + 1], _Event)
    return None


def _own_times(events: Iterable[_Event]) -> Iterable[tuple[str, float]]:
    """CPU operators with the time of nested operators taken off."""
    threads: defaultdict[tuple[int | str, int | str], list[_Event]] = defaultdict(list)
    for event in events:
        if event.cat == "cpu_op":
            threads[event.pid, event.tid].append(event)
    for thread in threads.values():
        thread.sort(key=lambda event: (event.ts, -event.dur))
        own = [event.dur for event in thread]
        open_events: list[int] = []
        for index, event in enumerate(thread):
            while open_events and _end(thread[open_events[-1]]) <= event.ts:
                open_events.pop()
            if open_events:
                own[open_events[-1]] -= event.dur
            open_events.append(index)
        yield from ((event.name, max(0.0, time)) for event, time in zip(thread, own, strict=True))


def _end(event: _Event) -> float:
    return event.ts + event.dur


def _rows(times_us: Iterable[tuple[str, float]]) -> tuple[TraceRow, ...]:
    counts: defaultdict[str, int] = defaultdict(int)
    totals: defaultdict[str, float] = defaultdict(float)
    for name, time_us in times_us:
        counts[name] += 1
        totals[name] += time_us * 1e-6
    everything = sum(totals.values())
    rows = (
        TraceRow(name, counts[name], total, total / everything if everything else 0.0)
        for name, total in totals.items()
    )
    return tuple(sorted(rows, key=lambda row: -row.total_s))
