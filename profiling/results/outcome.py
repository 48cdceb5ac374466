"""What comes of one implementation of one job: measured, examined, skipped, failed or cancelled."""

from enum import StrEnum
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from roofscope.profiling.quantities import CallSeconds, Count, Element, Figure, Hertz, Seconds
from roofscope.profiling.results.time_stats import TimeStats
from roofscope.profiling.results.tuning import MOST_TUNINGS, Tuning


class Stage(StrEnum):
    """The stages of a job, in order."""

    BUILD = "build"
    VERIFY = "verify"
    SETTLE = "settle"
    MEASURE = "measure"
    CHECK = "check"


class Method(StrEnum):
    """How blocks were timed."""

    CUDA_GRAPH = "cuda graph"  # event pair round a replayed graph of calls on rotated buffers
    QUEUE = "queue"  # event pair round calls queued behind a spinning kernel
    EVENTS = "events"  # event pair round calls that cannot be queued: host time is in it
    WALL_CLOCK = "wall clock"  # perf_counter_ns round a block of calls on rotated buffers


class Difference(Struct, frozen=True):
    """One element of an output and what the reference has there."""

    output: str  # its name in the spec
    index: tuple[Count, ...]
    found: Element
    expected: Element

    @property
    def absolute(self) -> float:
        return abs(self.found - self.expected)

    @property
    def place(self) -> str:
        """Such as ``row 17, column 3 of output y``."""
        match self.index:
            case ():
                return f"output {self.output}"
            case (element,):
                return f"element {element} of output {self.output}"
            case (row, column):
                return f"row {row}, column {column} of output {self.output}"
            case index:
                return f"{index} of output {self.output}"


class Verification(Struct, frozen=True):
    """Errors are norm(y - reference) / norm(reference) against float64."""

    relative_error: Figure  # the worse of the measured size and the first odd size
    large_relative_error: Figure  # worst over large-magnitude inputs
    tolerance: Figure
    shape_count: Count
    largest: Difference | None = None  # absolute, at the measured size; None in old sessions
    worst_part: Figure | None = None  # of a row, a chunk or an element: its error over what is allowed it
    unverified: str = ""  # a sentence: which odd size the implementation does not take; "": none is left out


class CodeNote(Struct, frozen=True):
    """What torch.compile said of a line of the implementation's own code."""

    reason: str  # one line
    file: str = ""  # its name without folders
    line: Count = 0
    code: str = ""  # of that line
    count: Count = 1  # how often it was said


class CompileNotes(Struct, frozen=True):
    breaks: tuple[CodeNote, ...] = ()  # where a graph ends and Python steps in
    recompiles: tuple[CodeNote, ...] = ()  # the guards that failed; the line begins the code compiled again


class BuildInfo(Struct, frozen=True):
    """What the compiler reported. None where it reports nothing."""

    compile_s: Seconds
    registers: Count | None = None
    spill_bytes: Count | None = None
    shared_bytes: Count | None = None
    architecture: str | None = None
    configuration: str | None = None  # an autotuner's winner
    graph_count: Count | None = None  # graphs that Dynamo made of one call
    graph_breaks: Count | None = None  # between them, where Python runs
    recompiles: Count | None = None  # of code compiled before, for other shapes or values
    cached_graphs: Count | None = None  # found compiled on disk, which makes the compile time say little
    double_instructions: Count | None = None  # of the compiled code, which compute in double precision
    kernels: tuple["BuiltKernel", ...] = ()  # each by itself; the figures above are of the heaviest
    compile_notes: CompileNotes | None = None  # of torch.compile; None in older sessions


class BuiltKernel(Struct, frozen=True):
    """A kernel as its compiler made it, for the launches of the measured call. None where it does not say."""

    name: str
    registers: Count | None = None  # a thread
    spill_bytes: Count | None = None  # a thread
    shared_bytes: Count | None = None  # a block; of CUDA C++ what its source declares
    cluster: tuple[Count, Count, Count] | None = None  # blocks
    warps: Count | None = None  # a block
    stages: Count | None = None  # of the pipelined loops
    constants: tuple[tuple[str, str], ...] = ()  # compile-time arguments by name, such as the tile
    launch: "Launch | None" = None  # that its launcher asks for, of what was compiled and not run


class Evidence(Struct, frozen=True):
    """State of the device during the timed blocks (medians; the union of event reasons)."""

    clock_hz: Hertz | None = None  # cycles over time on the device, else NVML's reading
    clock_low_hz: Hertz | None = None  # the slowest and the fastest block
    clock_high_hz: Hertz | None = None
    memory_clock_hz: Hertz | None = None
    power_w: Figure | None = None
    temperature_c: Figure | None = None
    event_reasons: tuple[str, ...] | None = ()  # None: the driver does not say
    held_by: tuple[str, ...] = ()  # those of more than a quarter of the blocks: a condition of the run
    fresh_hz: Hertz | None = None  # in band, with the rest that it chose; None where none was looked for
    launch_floor_s: Seconds | None = None  # a call of an empty kernel by the headline's method
    preempted: Figure | None = (
        None  # share of a CPU's slices, about 1 ms each, in which other work had a core
    )


class Discard(Struct, frozen=True):
    """Blocks left out for a named cause, never for their value."""

    cause: str
    blocks: Count
    is_fault: bool = True  # of the device; else these blocks turned out to be warm-up


class Launch(Struct, frozen=True):
    """The shape of a kernel's launch, as CUPTI saw the first one. None where it did not say."""

    blocks: Count
    threads: Count  # of a block
    registers: Count | None = None  # a thread
    shared_bytes: Count | None = None  # a block
    occupancy: Figure | None = None  # warps that fit a multiprocessor, of the most it holds: 0 to 1
    grid: tuple[Count, Count, Count] | None = None  # None in older sessions
    block: tuple[Count, Count, Count] | None = None


class ProfiledKernel(Struct, frozen=True):
    """A device kernel as CUPTI timed it, per call of the implementation."""

    name: str
    calls: Annotated[float, Meta(ge=0, le=1e12)]
    total_s: Seconds
    launch: Launch | None = None


class Energy(Struct, frozen=True):
    """What one call costs at steady load: the whole board's energy, idle power included."""

    joules_per_call: Figure  # from the board's energy counter
    integrated_joules_per_call: Figure | None  # from power samples, as a check; None without a power reading
    duration_s: Seconds  # between two ticks of the counter
    calls: Count  # in that time


class ClockElasticity(Struct, frozen=True):
    """By how much a call's time follows the SM clock: -d ln(time) / d ln(clock), with its 95 % interval.

    1 is a call that the cores bind, 0 one that they do not: memory or a fixed wait. Between is a mix.
    """

    value: Figure
    low: Figure
    high: Figure
    clock_low_hz: Hertz  # the lowest and the highest in-band clock of the blocks it rests on
    clock_high_hz: Hertz
    blocks: Count


class MemoryUse(Struct, frozen=True):
    """What torch's allocator held during one call on a GPU. A CPU's allocator does not say."""

    peak_bytes: Count  # more than before the call, at most: outputs and temporaries
    output_bytes: Count  # what it returned

    @property
    def temporary_bytes(self) -> int:
        """Alive at once at most and not returned: what fusion saves."""
        return max(self.peak_bytes - self.output_bytes, 0)


class Meanwhile(Struct, frozen=True):
    """A call's time by the headline's own method while another instrument observes it."""

    seconds: CallSeconds
    clock_ratio: Annotated[float, Meta(ge=0, le=1e12)] | None = None  # the SM clock then, over the headline's

    def pairs(self, other_s: float, headline_s: float) -> tuple[tuple[float, float], ...]:
        """Pairs that are equal if the instrument is right: times of the slowed replays, or cycles.

        An instrument that slows a call lengthens its kernels, or the gaps between them, which no kernel's
        time includes. So its time may lie anywhere from the headline to what the headline's method reads
        meanwhile.
        """
        low_s, high_s = sorted((headline_s, self.seconds))
        slowed_s = min(max(other_s, low_s), high_s)
        in_cycles = ((other_s * self.clock_ratio, headline_s),) if self.clock_ratio else ()
        return ((other_s, slowed_s), *in_cycles)


class Flag(StrEnum):
    """A fact that a reader of the point must know."""

    LAUNCH_BOUND = "launch-bound"
    UNSTABLE = "unstable"
    POWER_CAPPED = "power-capped"
    PROFILER_DISAGREES = "profiler disagrees"
    REMEMBERS = "faster on inputs seen before"
    EXTRA_KERNELS = "several kernels a call"
    CACHE_RESIDENT = "cache-resident"
    ABOVE_ROOF = "above the roof"
    NO_ODD_SIZE = "no odd size verified"
    HEAT_LIMITED = "slowed by heat"
    CLOCK_SAGGED = "clock sagged for no known reason"
    HOST_TIME_INSIDE = "host time inside"
    PARTLY_WARM = "partly warm"
    PREEMPTED = "beside other work"
    SHARED_GPU = "shared GPU"


class Wall(NamedTuple):
    """A call as a program waits for it: host and device work at once, and the slower one sets the pace."""

    seconds: float
    is_device: bool  # the device sets it


class Measured(Struct, frozen=True, tag="measured"):
    """A verified, timed implementation. ``time`` is device time with cold caches."""

    time: TimeStats
    method: Method
    method_reason: str  # why a fallback was used; "" for the first choice
    verification: Verification
    build: BuildInfo
    evidence: Evidence
    host_s: Seconds | None = None  # wall time a call, Python and launch included
    hot: TimeStats | None = None  # device time on one buffer set, where the cache may hold some of it
    kernels: tuple[ProfiledKernel, ...] = ()  # from torch.profiler; empty on a CPU
    flags: tuple[Flag, ...] = ()
    discards: tuple[Discard, ...] = ()
    # Single calls, by events in a graph; their spread, not the headline. 0: shorter than what an event adds.
    calls_s: tuple[Seconds, ...] = ()
    clock_elasticity: ClockElasticity | None = None  # of an exact run on a GPU
    clock_elasticity_missing: str = ""  # why an exact run has none, one sentence
    energy: Energy | None = None
    profiled: Meanwhile | None = None  # while the profiler observed it, which slows some kernels
    unsealed_because: tuple[str, ...] | None = None  # what rests on its process's word; None: not recorded
    rotated_bytes: Count | None = None  # of all input sets that the calls took in turn
    memory: MemoryUse | None = None  # of a call; None on a CPU and in older sessions
    # What its autotuners tried, in the order of their launches; empty in older sessions.
    tunings: Annotated[tuple[Tuning, ...], Meta(max_length=MOST_TUNINGS)] = ()

    @property
    def wall(self) -> Wall | None:
        """None where the host's time was not measured."""
        device_s = self.time.median_s
        if self.method in (Method.WALL_CLOCK, Method.EVENTS):  # the host's time is inside
            return Wall(device_s, is_device=True)
        if self.host_s is None:
            return None
        return Wall(max(device_s, self.host_s), is_device=device_s >= self.host_s)

    @property
    def kernel_sum_s(self) -> float | None:
        """Device time of all kernels of one call, gaps left out; None without a profile."""
        return sum(kernel.total_s for kernel in self.kernels) if self.kernels else None


class Examined(Struct, frozen=True, tag="examined"):
    """Looked at without the GPU that it is for: it has no time, and no share of a roof.

    Verified in Triton's interpreter, compiled for an architecture, or both; ``missing`` says why one of the
    two that were to be had is not there.
    """

    verification: Verification | None = None  # of what the interpreter computed
    verified_sizes: dict[str, Count] = {}  # the workload's, or smaller ones: the interpreter is slow
    build: BuildInfo | None = None  # of what was compiled for its ``architecture``
    missing: str = ""  # a sentence

    @property
    def architecture(self) -> str:
        """Such as ``sm_90``; "" of what was not compiled."""
        return (self.build.architecture if self.build else "") or ""


class SkipKind(StrEnum):
    UNSUPPORTED = "unsupported"  # never works on this device
    UNAVAILABLE = "unavailable"  # something is missing here
    TOO_LARGE = "too large"
    PAUSED = "paused"  # failed hard before; waits for an edit of its files
    CHANGED = "changed"  # its files are no longer those that were planned


class Skipped(Struct, frozen=True, tag="skipped"):
    kind: SkipKind
    message: str


class FailureKind(StrEnum):
    BUILD_ERROR = "build error"
    WRONG_SHAPE = "wrong shape"
    WRONG_DTYPE = "wrong dtype"
    WRONG_VALUES = "wrong values"
    NOT_PLAIN = "not a plain tensor"  # its class decides when it is computed
    ALIASED = "aliased output"  # its memory is an input's, another output's, or that of several elements
    INPUT_CHANGED = "input changed"
    LAUNCH_ERROR = "launch error"
    OUT_OF_MEMORY = "out of memory"
    DEVICE_FAULT = "device fault"
    TIMEOUT = "timeout"
    WORKER_LOST = "worker lost"
    TAMPERED = "tampered"  # it replaced or reached what judges it, or its time is not that of its work
    NOT_SETTLED = "not settled"  # it compiled, tuned or allocated inside the timed region
    INTERNAL = "internal"

    @property
    def pauses(self) -> bool:
        """Whether the implementation waits for an edit of its files before it runs again."""
        return self in (FailureKind.DEVICE_FAULT, FailureKind.TIMEOUT, FailureKind.WORKER_LOST)


class Failed(Struct, frozen=True, tag="failed"):
    kind: FailureKind
    stage: Stage
    message: str  # one sentence: what happened, to what, what to do
    log: str = ""


class Cancelled(Struct, frozen=True, tag="cancelled"):
    message: str = "Stopped by the user."


Outcome = Measured | Examined | Skipped | Failed | Cancelled
