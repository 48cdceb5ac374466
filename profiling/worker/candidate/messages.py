"""What the referee asks of a candidate's process, and what that answers.

The answers come from a process that runs foreign code, so they are data of known types and nothing else.
"""

from typing import Annotated

from msgspec import Meta, Struct

from roofscope.profiling.analysis.causal import ClockBlock
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.one_file.parts import Entry
from roofscope.profiling.planning.spec import Implementation, Workload
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import (
    BuildInfo,
    Energy,
    Failed,
    MemoryUse,
    Method,
    ProfiledKernel,
    Skipped,
    Stage,
)
from roofscope.profiling.results.tuning import MOST_TUNINGS, Configuration, Tuning


class Layout(Struct, frozen=True):
    """A tensor to be made. ``dtype`` is torch's name, such as ``bfloat16``."""

    shape: tuple[int, ...]
    dtype: str


class Lent(Struct, frozen=True):
    """A tensor of the candidate's process, as another one finds it.

    ``handle`` is CUDA's handle of the allocation, in which the tensor begins at ``offset`` bytes. Where it is
    empty, the memory cannot be shared and contents travel by value. Strides are in elements.
    """

    key: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    handle: bytes = b""
    offset: int = 0


class Begin(Struct, frozen=True, tag="begin"):
    """First request: the device that everything is on."""

    device: Device


class Forget(Struct, frozen=True, tag="forget"):
    """Last request of a job whose process may serve another one: let go of all that it made."""


class Target(Struct, frozen=True):
    """A GPU that is not here. Inputs of these layouts, without contents, tell what is launched there."""

    architecture: str  # such as ``sm_90``
    layouts: tuple[Layout, ...] = ()
    interprets: bool = False  # in Triton's interpreter instead, on the CPU


class Build(Struct, frozen=True, tag="build"):
    """Build an implementation, which is ``number`` from now on. ``inputs``: names that ``run`` must take."""

    number: int
    implementation: Implementation
    folder: str
    workload: Workload
    inputs: tuple[str, ...]
    entry: Entry | None = None  # of a user's file, as it stands
    target: Target | None = None  # compile for it, or interpret


class Make(Struct, frozen=True, tag="make"):
    """Make ``count`` sets of input tensors and lend them. A group of that name is freed first."""

    group: str
    layouts: tuple[Layout, ...]
    count: int = 1


class Free(Struct, frozen=True, tag="free"):
    group: str


class Put(Struct, frozen=True, tag="put"):
    """New contents of a tensor that is lent by value."""

    key: int
    data: bytes


class Get(Struct, frozen=True, tag="get"):
    """The contents of a tensor that is lent by value."""

    key: int


class Call(Struct, frozen=True, tag="call"):
    """Call an implementation on the first set of a group, after ``stains`` were left in free memory.

    The answer comes when the call has returned; the device may still be at work.
    """

    number: int
    group: str
    stains: tuple[Layout, ...] = ()


class Collect(Struct, frozen=True, tag="collect"):
    """Lend what the call before this returned, once the device is done."""


class Settle(Struct, frozen=True, tag="settle"):
    """Let the first calls on a group compile and allocate, then make its timers."""

    number: int
    group: str
    has_hot: bool


class ReadTunings(Struct, frozen=True, tag="read_tunings"):
    """What autotuners tried and chose in the first calls of a settled implementation."""

    number: int


class SettleRunnerUp(Struct, frozen=True, tag="settle_runner_up"):
    """Settle an implementation once more, as ``as_number``, with another configuration of one autotuner.

    ``place``: of its tuning among those that were read.
    """

    number: int
    as_number: int
    place: int
    configuration: Configuration


class Block(Struct, frozen=True, tag="block"):
    """Time one block of calls, on all sets or, when hot, on the first alone."""

    number: int
    is_hot: bool = False
    keeps_last: bool = False


class KeepBusy(Struct, frozen=True, tag="keep_busy"):
    """Run the timed calls for so long, untimed: the block after it finds the clock of their own load."""

    number: int
    seconds: float


class Replay(Struct, frozen=True, tag="replay"):
    """Run the timed calls once over all sets, and lend what they wrote for some of them."""

    number: int
    sets: tuple[int, ...]


class ReadLast(Struct, frozen=True, tag="read_last"):
    """Lend what the last call of the block before returned, where calls are timed and no graph is."""

    number: int


class RunPass(Struct, frozen=True, tag="run_pass"):
    """Time one call on each of the first ``count`` sets: seconds, and how much of them threads waited."""

    number: int
    count: int


class ReadActivity(Struct, frozen=True, tag="read_activity"):
    """Counts of what compiles, tunes and allocates."""


class HostTime(Struct, frozen=True, tag="host_time"):
    number: int
    calls: int


class Profile(Struct, frozen=True, tag="profile"):
    """Profile a block after a rest of ``rest_s``, and after another block and its rest if it is asked for."""

    number: int
    rest_s: float
    behind_another: bool


class SingleCalls(Struct, frozen=True, tag="single_calls"):
    number: int
    count: int
    bursts: int = 1
    rest_s: float = 0.0


class MeasureEnergy(Struct, frozen=True, tag="measure_energy"):
    number: int


class ReadMemory(Struct, frozen=True, tag="read_memory"):
    """What the allocator counts during a call."""

    number: int


class HeatedBlocks(Struct, frozen=True, tag="heated_blocks"):
    """Time blocks at several clocks."""

    number: int


class Info(Struct, frozen=True, tag="info"):
    """What the compiler reported."""

    number: int


class Reveal(Struct, frozen=True, tag="reveal"):
    """The code that compilers made for the calls so far."""

    number: int


class Record(Struct, frozen=True, tag="record"):
    """A profiler's trace of a few calls on a group; each is a range of this name."""

    number: int
    group: str
    title: str = ""
    options: TraceOptions = TraceOptions()


Request = (
    Begin
    | Build
    | Make
    | Free
    | Put
    | Get
    | Call
    | Collect
    | Settle
    | ReadTunings
    | SettleRunnerUp
    | Block
    | KeepBusy
    | Replay
    | ReadLast
    | RunPass
    | ReadActivity
    | HostTime
    | Profile
    | SingleCalls
    | MeasureEnergy
    | ReadMemory
    | HeatedBlocks
    | Info
    | Reveal
    | Record
    | Forget
)


class Asked(Struct, frozen=True):
    """A request, and how a failure of it is to be worded: whose, and in which stage."""

    request: Request
    what: str
    stage: Stage


class Done(Struct, frozen=True, tag="done"):
    pass


class Lending(Struct, frozen=True, tag="lending"):
    """Of made sets: for each input one tensor whose first dimension counts the sets. Of calls: outputs."""

    tensors: tuple[Lent, ...]


class SetOutputs(Struct, frozen=True, tag="set_outputs"):
    """By set, what the timed calls wrote."""

    sets: tuple[tuple[Lent, ...], ...]


class LastReturned(Struct, frozen=True, tag="last_returned"):
    """Of a block's last call: on which of the sets, and what it returned."""

    place: int
    tensors: tuple[Lent, ...]


class Contents(Struct, frozen=True, tag="contents"):
    data: bytes


class TimerFacts(Struct, frozen=True):
    """``set_count``: of the sets given, those that its calls rotate through."""

    method: Method
    reason: str
    calls_per_block: int
    set_count: int


class Settled(Struct, frozen=True, tag="settled"):
    cold: TimerFacts
    hot: TimerFacts | None = None


class TuningsRead(Struct, frozen=True, tag="tunings_read"):
    tunings: Annotated[tuple[Tuning, ...], Meta(max_length=MOST_TUNINGS)]


class BlockRead(Struct, frozen=True, tag="block_read"):
    """One block: seconds a call, the mean SM clock, and what its slices say of other work.

    ``lead_s`` is what of the time does not count: a wait before it began, slices that were left out.
    """

    seconds: float
    clock_hz: float | None
    lead_s: float = 0.0
    preempted: float = 0.0


class Seconds(Struct, frozen=True, tag="seconds"):
    values: tuple[float, ...]


class Counts(Struct, frozen=True, tag="counts"):
    values: tuple[int, ...]


class Profiled(Struct, frozen=True, tag="profiled"):
    kernels: tuple[ProfiledKernel, ...]
    block: BlockRead


class EnergyRead(Struct, frozen=True, tag="energy_read"):
    energy: Energy | None


class MemoryRead(Struct, frozen=True, tag="memory_read"):
    memory: MemoryUse | None


class ClockBlocks(Struct, frozen=True, tag="clock_blocks"):
    blocks: tuple[ClockBlock, ...]


class Informed(Struct, frozen=True, tag="informed"):
    build: BuildInfo


class Revealed(Struct, frozen=True, tag="revealed"):
    codes: tuple[Code, ...]


class Trouble(Struct, frozen=True, tag="trouble"):
    """The request failed. ``is_sound``: the device still computes. ``has_broken_capture``: graphs do not.

    ``refusal``: what an implementation said that does not take the size; "" for other failures.
    """

    outcome: Failed | Skipped
    is_sound: bool
    has_broken_capture: bool
    refusal: str = ""


Answer = (
    Done
    | Lending
    | SetOutputs
    | LastReturned
    | Contents
    | Settled
    | TuningsRead
    | BlockRead
    | Seconds
    | Counts
    | Profiled
    | EnergyRead
    | MemoryRead
    | ClockBlocks
    | Informed
    | Revealed
    | Trouble
)


class Said(Struct, frozen=True):
    """An answer, and what of the engine or of torch was found replaced after it.

    ``was_watched``: whether that was looked for, as it is after all but what must not wait.
    """

    answer: Answer
    replaced: tuple[str, ...] = ()
    was_watched: bool = False
