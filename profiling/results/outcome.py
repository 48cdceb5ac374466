"""What comes of one implementation of one job: measured, skipped, failed or cancelled."""

from enum import StrEnum

from msgspec import Struct


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


class TimeStats(Struct, frozen=True):
    """Seconds per call. ``low_s`` and ``high_s`` bound the median with 95 % confidence."""

    median_s: float
    low_s: float
    high_s: float
    samples_s: tuple[float, ...]  # one value a block, in the order measured
    calls_per_block: int
    rounds: tuple[int, ...] = ()  # the round of each sample: implementations of a job are compared by round

    @property
    def relative_half_width(self) -> float:
        return (self.high_s - self.low_s) / 2 / self.median_s

    def paired_with(self, other: "TimeStats") -> tuple[list[float], list[float]]:
        """Samples of both from the rounds in which both were timed; meant for implementations of one job."""
        mine, others = (dict(zip(time.rounds, time.samples_s, strict=False)) for time in (self, other))
        common = sorted(mine.keys() & others.keys())
        return [mine[r] for r in common], [others[r] for r in common]


class Verification(Struct, frozen=True):
    """Errors are norm(y - reference) / norm(reference) against float64."""

    relative_error: float  # the worse of the measured size and the first odd size
    large_relative_error: float  # worst over large-magnitude inputs
    tolerance: float
    shape_count: int


class BuildInfo(Struct, frozen=True):
    """What the compiler reported. None where it reports nothing."""

    compile_s: float
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    architecture: str | None = None
    configuration: str | None = None  # an autotuner's winner
    graph_count: int | None = None  # graphs that Dynamo made of one call
    graph_breaks: int | None = None  # between them, where Python runs
    recompiles: int | None = None  # of code compiled before, for other shapes or values
    cached_graphs: int | None = None  # found compiled on disk, which makes the compile time say little


class Evidence(Struct, frozen=True):
    """State of the device during the timed blocks (medians; the union of event reasons)."""

    clock_hz: float | None = None  # cycles over time on the device, else NVML's reading
    clock_low_hz: float | None = None  # the slowest and the fastest block
    clock_high_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    event_reasons: tuple[str, ...] = ()


class Discard(Struct, frozen=True):
    """Blocks left out for a named cause, never for their value."""

    cause: str
    blocks: int
    is_fault: bool = True  # of the device; else these blocks turned out to be warm-up


class ProfiledKernel(Struct, frozen=True):
    """A device kernel as CUPTI timed it, per call of the implementation."""

    name: str
    calls: float
    total_s: float


class Energy(Struct, frozen=True):
    """What one call costs at steady load: the whole board's energy, idle power included."""

    joules_per_call: float  # from the board's energy counter
    integrated_joules_per_call: float | None  # from power samples, as a check; None without a power reading
    duration_s: float  # between two ticks of the counter
    calls: int  # in that time


class Meanwhile(Struct, frozen=True):
    """A call's time by the headline's own method while another instrument observes it."""

    seconds: float
    clock_ratio: float | None = None  # the SM clock then, over the headline's

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


class Measured(Struct, frozen=True, tag="measured"):
    """A verified, timed implementation. ``time`` is device time with cold caches."""

    time: TimeStats
    method: Method
    method_reason: str  # why a fallback was used; "" for the first choice
    verification: Verification
    build: BuildInfo
    evidence: Evidence
    host_s: float | None = None  # wall time a call, Python and launch included
    hot: TimeStats | None = None  # device time on one buffer set, where the cache may hold some of it
    kernels: tuple[ProfiledKernel, ...] = ()  # from torch.profiler; empty on a CPU
    flags: tuple[Flag, ...] = ()
    discards: tuple[Discard, ...] = ()
    calls_s: tuple[float, ...] = ()  # single calls, by events inside a graph; their spread, not the headline
    energy: Energy | None = None
    profiled: Meanwhile | None = None  # while the profiler observed it, which slows some kernels

    @property
    def kernel_sum_s(self) -> float | None:
        """Device time of all kernels of one call, gaps left out; None without a profile."""
        return sum(kernel.total_s for kernel in self.kernels) if self.kernels else None


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
    INPUT_CHANGED = "input changed"
    LAUNCH_ERROR = "launch error"
    OUT_OF_MEMORY = "out of memory"
    DEVICE_FAULT = "device fault"
    TIMEOUT = "timeout"
    WORKER_LOST = "worker lost"
    TAMPERED = "tampered"  # it replaced or reached what judges it; the message names what
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


Outcome = Measured | Skipped | Failed | Cancelled
