"""What is known of a slice: when, how long, what launched it, how it was launched, and all that it says."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from roofscope.app.presentation.fact import Fact
from roofscope.app.presentation.formatting import count_text, memory_text, percent_text, time_text
from roofscope.app.presentation.timeline.links import operator_of, sources_of
from roofscope.app.presentation.timeline.rows import Track
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.traces.columns import NONE, Category

_LONGEST = 300  # characters of one argument
_SHOWN_ABOVE = frozenset(
    {
        "grid", "block", "registers per thread", "shared memory", "est. achieved occupancy %",
        "External id", "correlation", "device", "stream", "context", "Ev Idx", "Record function id",
    }
)  # fmt: skip
_WHAT = {
    Category.KERNEL: "Kernel", Category.MEMCPY: "Copy", Category.MEMSET: "Fill",
    Category.GPU_ANNOTATION: "Range on the GPU", Category.CPU_OP: "Operator", Category.RUNTIME: "CUDA call",
    Category.DRIVER: "CUDA driver call", Category.ANNOTATION: "Range", Category.PYTHON: "Python",
    Category.OVERHEAD: "Overhead of the profiler", Category.OTHER: "Slice",
}  # fmt: skip


def slice_facts(track: Track, slice_: int) -> tuple[Fact, ...]:
    """In the order in which one reads them; times are those of the recording."""
    trace, slices = track.trace, track.trace.slices
    arguments = trace.arguments_of(slice_)
    lane = trace.lanes[slices.lane[slice_]]
    begin = int(slices.start_ns[slice_]) + track.shift
    facts = [
        Fact(_WHAT[Category(int(slices.category[slice_]))], one_line(trace.name_of(slice_))),
        Fact("Takes", time_text(int(slices.duration_ns[slice_]) * 1e-9)),
        Fact("Begins at", time_text(begin * 1e-9), "From where the timeline has its zero"),
        Fact("In", f"{lane.process}, {lane.thread}"),
        *_launch(track, slice_),
        *_geometry(arguments),
    ]
    rest = ((name, value) for name, value in arguments.items() if name not in _SHOWN_ABOVE)
    facts += [Fact(one_line(str(name)), _text(value)) for name, value in rest]
    return tuple(facts)


def _launch(track: Track, slice_: int) -> Iterator[Fact]:
    slices = track.trace.slices
    if slices.category[slice_] > Category.MEMSET:
        return
    for launch in sources_of(track, slice_).tolist()[:1]:
        waited = int(slices.start_ns[slice_] - slices.start_ns[launch]) * 1e-9
        yield Fact(
            "Launched", f"{time_text(waited)} before it began, by {track.trace.name_of(launch)}",
            "From the begin of the call on the host to the begin of the work on the GPU",
        )  # fmt: skip
    if (operator := operator_of(track, slice_)) != NONE:
        yield Fact("Operator", one_line(track.trace.name_of(operator)))


def _geometry(arguments: Mapping[str, Any]) -> Iterator[Fact]:
    for name, key in (("Grid", "grid"), ("Block", "block")):
        if isinstance(sizes := arguments.get(key), list) and all(isinstance(size, int) for size in sizes):
            yield Fact(name, " × ".join(count_text(size) for size in sizes))
    if isinstance(registers := arguments.get("registers per thread"), int):
        yield Fact("Registers", f"{registers} a thread")
    if isinstance(shared := arguments.get("shared memory"), int):
        yield Fact("Shared memory", f"{memory_text(shared)} a block")
    if isinstance(occupancy := arguments.get("est. achieved occupancy %"), int | float):
        yield Fact("Occupancy", percent_text(occupancy / 100), "As the profiler estimates it")


def _text(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")
    shown = one_line(text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
