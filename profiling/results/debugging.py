"""What a debug run saw of one implementation at one workload, and what it makes of it."""

from enum import StrEnum

from msgspec import Struct

from roofscope.profiling.results.outcome import Difference


class StageName(StrEnum):
    """In the order in which they run."""

    SOURCE = "source"
    INTERPRETER = "interpreter"
    INTERPRETED = "interpreted result"
    BUILD = "build"
    CALL = "first call"
    COMPARISON = "result"
    MEMCHECK = "memcheck"
    RACECHECK = "racecheck"
    INITCHECK = "initcheck"
    SYNCCHECK = "synccheck"


class StageEnd(StrEnum):
    CLEAN = "clean"
    FOUND = "found"
    LEFT_OUT = "left out"
    FAILED = "failed"


class DebugStage(Struct, frozen=True):
    """How one stage ended: one sentence."""

    name: StageName
    end: StageEnd
    text: str
    seconds: float = 0.0


class Line(Struct, frozen=True):
    """A line of a file, counted from 1, and what stands there."""

    file: str
    number: int
    code: str = ""

    @property
    def name(self) -> str:
        return self.file.replace("\\", "/").rpartition("/")[2]


class AccessKind(StrEnum):
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


class OutOfRange(Struct, frozen=True, tag="out of range"):
    """Elements beyond a tensor that a line reads or writes. Indices count from its first element."""

    kind: AccessKind
    where: Line
    kernel: str
    argument: str  # the kernel's own name of the pointer; "" where it is not known
    size: int  # elements of the tensor
    count: int  # accesses beyond it, over all programs
    lowest: int
    highest: int
    program: tuple[int, ...]  # of the first one
    lane: int  # its element in that program's block
    index: int
    programs: int  # how many have one
    idle_programs: int  # of these, which lie beyond it with all that they access
    has_mask: bool


class Race(Struct, frozen=True, tag="race"):
    """Two programs, or two elements of one block, that give one element different values."""

    first: str  # what came first: stored, loaded, added atomically
    second: str
    where: Line
    other: Line | None
    kernel: str
    argument: str
    count: int
    index: int
    programs: tuple[int, int]  # of the first two, by their number in the grid; the same where it is one


class Unset(Struct, frozen=True, tag="unset"):
    """Elements that were read before anything was written there."""

    kind: AccessKind
    where: Line
    kernel: str
    argument: str
    count: int
    index: int
    program: tuple[int, ...]
    made: Line | None = None  # where the tensor was made


class Overflow(Struct, frozen=True, tag="overflow"):
    where: Line
    kernel: str
    operation: str
    value: int
    program: tuple[int, ...]


class Argument(Struct, frozen=True):
    """A tensor that a kernel was launched with."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    is_contiguous: bool
    is_of_host: bool = False  # made without a device, and so in the host's memory on a machine with a GPU


class Launched(Struct, frozen=True, tag="launched"):
    where: Line | None
    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    integers: tuple[tuple[str, int], ...]


class Raised(Struct, frozen=True, tag="raised"):
    """What a build or a call ended with."""

    stage: StageName
    text: str
    where: Line | None
    kernel: str = ""
    log: str = ""


class Sanitized(Struct, frozen=True, tag="sanitized"):
    """One error of compute-sanitizer, several of one line together."""

    tool: str
    text: str  # such as "Invalid __global__ write of size 4 bytes"
    kernel: str
    file: str
    line: int  # 0: not known
    thread: tuple[int, ...]
    block: tuple[int, ...]
    address: str
    bytes: int | None
    beyond: str  # such as "4 bytes after the nearest allocation of size 16,384 bytes"
    count: int = 1


class PatternKind(StrEnum):
    """Where the wrong elements of an output lie."""

    NONE = "none"
    ALL = "all"
    SCALED = "scaled"  # by ``factor``
    SHIFTED = "shifted"  # by a constant, ``factor``
    TRANSPOSED = "transposed"
    FROM = "from"  # from ``first`` on, along ``axis``
    UNTIL = "until"
    STEPS = "steps"  # every ``step``-th along ``axis``, from ``first``
    RANGE = "range"  # ``first`` to ``last`` along ``axis``
    SCATTERED = "scattered"


class Pattern(Struct, frozen=True):
    kind: PatternKind
    axis: int = 0
    first: int = 0
    last: int = 0
    step: int = 0
    factor: float = 0.0


class ErrorMap(Struct, frozen=True):
    """An output as rows and columns of cells, each the worst error of its elements over what is allowed.

    -1: never written; -2: not finite, as NaN; -3: behind the last element. ``indices``, ``found`` and
    ``expected`` are of the worst element of each cell.
    """

    rows: int
    columns: int
    shares: tuple[float, ...]
    indices: tuple[tuple[int, ...], ...]
    found: tuple[float | None, ...]  # None: not finite, which JSON does not hold
    expected: tuple[float | None, ...]


class Compared(Struct, frozen=True, tag="compared"):
    """An output beside its reference."""

    stage: StageName
    output: str
    shape: tuple[int, ...]
    element: str
    wanted_shape: tuple[int, ...]
    wanted_element: str
    count: int = 0
    wrong: int = 0
    unwritten: int = 0
    not_finite: int = 0
    relative_error: float | None = None
    tolerance: float = 0.0
    largest: Difference | None = None
    pattern: Pattern = Pattern(PatternKind.NONE)
    unwritten_pattern: Pattern = Pattern(PatternKind.NONE)
    map: ErrorMap | None = None
    made: Line | None = None  # where its memory was asked for

    @property
    def is_right(self) -> bool:
        return not self.wrong and self.shape == self.wanted_shape and self.element == self.wanted_element


class InputChanged(Struct, frozen=True, tag="input changed"):
    name: str


Seen = (
    OutOfRange | Race | Unset | Overflow | Launched | Raised | Sanitized | Compared | InputChanged
)  # by a stage


class Said(Struct, frozen=True, omit_defaults=True):
    """A line of the child: what a stage saw, and how it ended."""

    seen: tuple[Seen, ...] = ()
    stage: DebugStage | None = None
    begun: StageName | None = None


class DebugRecord(Struct, frozen=True):
    """What the stages of a run saw, in their order."""

    stages: tuple[DebugStage, ...]
    seen: tuple[Seen, ...]
    is_stopped: bool = False


class Mistake(StrEnum):
    """The usual ones, by name."""

    NO_MASK = "no mask"
    WRONG_MASK = "mask too wide"
    GRID_TOO_SMALL = "grid too small"
    GRID_TOO_LARGE = "grid too large"
    BLOCK_NO_POWER_OF_TWO = "block no power of two"
    WRONG_DTYPE = "wrong dtype"
    SHORT_SUM = "sum in a short type"
    INDEX_OVERFLOW = "index overflows int32"
    DEFAULT_STREAM = "default stream"
    WRONG_STRIDE = "wrong order of strides"
    NOT_CONTIGUOUS = "non-contiguous input"
    RACE = "race"
    MISSING_BARRIER = "missing synchronisation"
    UNINITIALISED = "uninitialised memory"
    WRONG_DEVICE = "tensor on the wrong device"
    WRONG_SCALE = "wrong factor"
    INPUT_CHANGED = "input changed"
    OUT_OF_RANGE = "access out of range"
    FAILED = "failed"
    WRONG_SHAPE = "wrong shape"
    WRONG_VALUES = "wrong values"


class Finding(Struct, frozen=True):
    """A mistake by name, where it is, what shows it, and what mends it, each in a sentence."""

    mistake: Mistake
    where: Line | None
    evidence: str
    cure: str
    stage: StageName


class DebugReport(Struct, frozen=True):
    implementation: str  # "softmax/triton_online"
    workload: str
    stages: tuple[DebugStage, ...]
    findings: tuple[Finding, ...]
    outputs: tuple[Compared, ...]
    is_stopped: bool = False

    @property
    def has_run(self) -> bool:
        """Whether any stage called it, or tried to."""
        ran = [stage for stage in self.stages if stage.end is not StageEnd.LEFT_OUT]
        return any(stage.name is not StageName.SOURCE for stage in ran)

    @property
    def is_clean(self) -> bool:
        failed = any(stage.end in (StageEnd.FAILED, StageEnd.FOUND) for stage in self.stages)
        return not (self.findings or failed or self.is_stopped)
