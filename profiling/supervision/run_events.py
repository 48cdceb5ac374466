"""What the supervisor reports of a run, to the command line or the window."""

from msgspec import Struct

from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.generated import Code
from roofscope.profiling.results.outcome import Outcome, Stage
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.profiling.supervision.protocol import Run, StageStarted, Task


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
    """Of an implementation whose outcome comes next."""

    job: Job
    implementation: Implementation
    codes: tuple[Code, ...]


class WorkerLost(Struct, frozen=True):
    """The worker died. ``restarting`` says whether the queue goes on by itself."""

    message: str
    log_tail: str
    restarting: bool


class Banner(Struct, frozen=True):
    """One sentence for the user. ``is_busy``: another worker has the device, so the run is over."""

    text: str
    is_busy: bool = False


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


def item_count(task: Task) -> int:
    """How many steps of a progress bar it is worth."""
    return len(task.job.implementations) if isinstance(task, Run) else 1


class Progress:
    """Counts items: an implementation of a job is one, any other task is one."""

    def __init__(self, started_at: float = 0.0) -> None:
        self.total = 0
        self.done = 0
        self._started_at = started_at

    def report(self, now: float, task_label: str, stage: StageStarted | None) -> Progressed:
        """``task_label``: what is being done; the stage adds whose turn it is."""
        whose = f" / {stage.implementation.label}" if stage and stage.implementation else ""
        return Progressed(
            self.done,
            self.total,
            f"{task_label}{whose}",
            stage.stage if stage else None,
            stage.detail if stage else "",
            self._remaining_s(now),
        )

    def _remaining_s(self, now: float) -> float | None:
        """As long an item as so far; None before the first."""
        if not self.done:
            return None
        return (now - self._started_at) / self.done * (self.total - self.done)
