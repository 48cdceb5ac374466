"""What the supervisor reports of a run, to the command line or the window."""

from msgspec import Struct

from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import Outcome, Stage
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.roofline.roofline import Ceiling


class EnvironmentKnown(Struct, frozen=True):
    environment: Environment


class Progressed(Struct, frozen=True):
    """``done`` of ``total`` items (implementations, probes, self-tests and traces) are over."""

    done: int
    total: int
    item: str  # such as "softmax float32 rows=4096, cols=1024 / triton online"
    stage: Stage | None
    detail: str
    remaining_s: float | None  # None until one item is over
    remaining_range_s: tuple[float, float] | None = None  # in which the end probably lies


class Awaited(Struct, frozen=True):
    """The worker has been silent for so long; it is ended if it stays so for ``left_s`` more."""

    silent_s: float
    left_s: float


class OutcomeArrived(Struct, frozen=True):
    job: Job
    implementation: Implementation
    outcome: Outcome


class CeilingArrived(Struct, frozen=True):
    ceiling: Ceiling


class CeilingsComplete(Struct, frozen=True):
    """A probe went through to its end: its ceilings may be cached."""

    device: str


class ProofArrived(Struct, frozen=True):
    proof: Proof


class TraceArrived(Struct, frozen=True):
    job: Job
    implementation: Implementation
    chrome_json_gz: bytes


class CodeArrived(Struct, frozen=True):
    """Of an implementation that has its outcome."""

    job: Job
    implementation: Implementation
    codes: tuple[Code, ...]


class WorkerLost(Struct, frozen=True):
    """The worker died. ``restarting`` says whether the queue goes on by itself."""

    message: str
    log_tail: str
    restarting: bool


class Banner(Struct, frozen=True):
    """One sentence for the user. ``is_busy``: another worker has the device, so the run is over.

    ``is_edited``: the worker has read other kernels than these, so that what was queued was given up.
    """

    text: str
    is_busy: bool = False
    is_edited: bool = False


class BecameIdle(Struct, frozen=True):
    """The queue is empty and nothing is in flight."""


RunEvent = (
    EnvironmentKnown
    | Progressed
    | Awaited
    | OutcomeArrived
    | CeilingArrived
    | CeilingsComplete
    | ProofArrived
    | TraceArrived
    | CodeArrived
    | WorkerLost
    | Banner
    | BecameIdle
)
