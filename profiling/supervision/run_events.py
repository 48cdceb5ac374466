"""What the supervisor tells whoever watches a run: the command line or the window."""

from msgspec import Struct

from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Environment, Outcome, Stage
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


class OutcomeRecorded(Struct, frozen=True):
    job: Job
    implementation: Implementation
    outcome: Outcome


class CeilingRecorded(Struct, frozen=True):
    ceiling: Ceiling


class CeilingsComplete(Struct, frozen=True):
    """A probe went through to its end: its ceilings may be cached."""

    device: str


class ProofRecorded(Struct, frozen=True):
    proof: Proof


class TraceRecorded(Struct, frozen=True):
    job: Job
    implementation: Implementation
    chrome_json_gz: bytes


class WorkerLost(Struct, frozen=True):
    """The worker died. ``restarting`` says whether the queue goes on by itself."""

    message: str
    log_tail: str
    restarting: bool


class Banner(Struct, frozen=True):
    """One sentence for the user."""

    text: str


class BecameIdle(Struct, frozen=True):
    """The queue is empty and nothing is in flight."""


Report = (
    EnvironmentKnown
    | Progressed
    | OutcomeRecorded
    | CeilingRecorded
    | CeilingsComplete
    | ProofRecorded
    | TraceRecorded
    | WorkerLost
    | Banner
    | BecameIdle
)
