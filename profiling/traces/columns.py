"""A profiler trace as columns: a million slices are a few arrays, not a million objects.

Times are whole nanoseconds since the trace's first event, so that they add up without rounding; Kineto
writes microseconds with three decimals. Slices lie by lane, and within a lane by their beginning, the longer
one first: a lane's slices are `lane_begin[lane]:lane_begin[lane + 1]` of each column.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Indices = NDArray[np.int32]
NONE = -1  # no slice, no stream, no correlation


class Category(IntEnum):
    """What Kineto calls a category; what it does not list is OTHER."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    GPU_ANNOTATION = 3
    CPU_OP = 4
    RUNTIME = 5
    DRIVER = 6
    ANNOTATION = 7
    PYTHON = 8
    OVERHEAD = 9
    OTHER = 10

    @property
    def on_device(self) -> bool:
        """Work of a GPU: kernels, copies and fills, not the ranges that name them."""
        return self <= Category.MEMSET

    @property
    def launches(self) -> bool:
        """A call of CUDA's runtime or driver."""
        return self in (Category.RUNTIME, Category.DRIVER)


class FlowKind(IntEnum):
    """Which arrow: from a launch to its kernel, or from an operator to its gradient's."""

    LAUNCH = 0
    GRADIENT = 1
    OTHER = 2


class Lane(Struct, frozen=True):
    """A row of the timeline: a thread of a process, or a stream of a GPU."""

    process: str  # as the file names it, "GPU 0" or "python (502)"
    thread: str  # "stream 7", "thread 502 (python)"
    device: int = NONE  # the GPU, for a stream
    stream: int = NONE
    most_deep: int = 1  # how many slices lie in one another
    is_main: bool = False  # the first thread of a process, which has its number

    @property
    def on_device(self) -> bool:
        return self.device != NONE


class Slices(Struct, frozen=True, eq=False):
    """What has a beginning and an end, all columns of one length."""

    start_ns: Whole
    duration_ns: Whole
    name: Indices  # an index of Trace.names
    category: NDArray[np.uint8]
    lane: Indices  # an index of Trace.lanes
    depth: NDArray[np.uint16]  # 0 is outermost
    correlation: Whole  # joins a launch and its kernel; NONE where there is none
    external: Whole  # joins a kernel and the operator that launched it; NONE where there is none
    offset: Whole  # of the event's JSON in the source, for its arguments
    length: Indices  # bytes of that JSON

    @property
    def end_ns(self) -> Whole:
        return self.start_ns + self.duration_ns

    def __len__(self) -> int:
        return len(self.start_ns)


class Flows(Struct, frozen=True, eq=False):
    """Arrows between slices, both ends known."""

    kind: NDArray[np.uint8]
    source: Indices  # an index of Trace.slices
    target: Indices


class MemoryEvents(Struct, frozen=True, eq=False):
    """Allocations and what was given back, in order of time."""

    time_ns: Whole
    change_bytes: Whole
    allocated_bytes: Whole  # of the allocator, after it
    device: Indices  # NONE is the host


class Health(Struct, frozen=True):
    """What a reader had to leave out or mend; all 0 for a sound file."""

    event_count: int = 0
    dropped: int = 0  # events that could not be read
    repaired: int = 0  # events that could be read after quotes or control characters were mended
    is_cut: bool = False  # the file ends in the middle
    flows_without_begin: int = 0
    flows_without_end: int = 0

    @property
    def is_sound(self) -> bool:
        return not (self.dropped or self.repaired or self.is_cut)


class DeviceSheet(Struct, frozen=True):
    """Of `deviceProperties`, what a roofline and an occupancy need; 0 where the file says nothing."""

    number: int
    name: str
    multiprocessors: int = 0
    memory_bytes: int = 0
    compute_major: int = 0
    compute_minor: int = 0


class Trace(Struct, frozen=True, eq=False):
    """A whole trace. `arguments_of` decodes what else an event says, from the source, when asked."""

    title: str  # the file's name, or the point's
    names: tuple[str, ...]
    lanes: tuple[Lane, ...]
    lane_begin: Whole  # one more than there are lanes
    slices: Slices
    flows: Flows
    memory: MemoryEvents
    origin_ns: int  # of the clock of the file, at time 0
    end_ns: int
    devices: tuple[DeviceSheet, ...]
    health: Health
    arguments_of: Callable[[int], Mapping[str, Any]]
    json_bytes: Callable[[], bytes]  # the source's JSON text, for an export

    def name_of(self, slice_: int) -> str:
        return self.names[int(self.slices.name[slice_])]
