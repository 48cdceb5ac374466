"""The task that a worker is at, and what of it is still without an outcome."""

from collections.abc import Iterator

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.supervision.protocol import (
    Bye,
    CeilingReady,
    CodeReady,
    Event,
    Hello,
    Notice,
    OutcomeReady,
    Probe,
    ProofReady,
    Run,
    SelfTest,
    StageStarted,
    Task,
    TaskDone,
    Trace,
    TraceReady,
    task_id,
)
from roofscope.profiling.supervision.run_events import (
    Banner,
    CeilingArrived,
    CodeArrived,
    ProofArrived,
    RunEvent,
    TraceArrived,
)


class InFlight:
    """At most one task. ``stage`` is the last that was heard of it."""

    def __init__(self) -> None:
        self.task: Task | None = None
        self.left: list[Implementation] = []
        self.stage: StageStarted | None = None

    def begin(self, task: Task) -> None:
        self.task, self.stage = task, None
        self.left = list(task.job.implementations) if isinstance(task, Run) else []

    def forget(self) -> None:
        self.task, self.left, self.stage = None, [], None

    def expects(self, event: Event) -> bool:
        """Whether a worker that keeps to its task can say this now. What is not so is not recorded."""
        match event:
            case Hello() | Notice() | Bye():
                return True
            case _ if self.task is None or event.id != task_id(self.task):
                return False
            case TaskDone():
                return True
            case StageStarted(implementation=implementation):
                return implementation is None or implementation in self._named(self.task)
            case OutcomeReady(implementation=implementation):
                return implementation in self.left
            case CodeReady(implementation=implementation):
                return implementation in self.left and isinstance(self.task, Run) and self.task.job.keeps_code
            case CeilingReady():
                return isinstance(self.task, Probe)
            case ProofReady():
                return isinstance(self.task, SelfTest)
            case TraceReady(implementation=implementation):
                return isinstance(self.task, Trace) and implementation in self._named(self.task)

    def news(self, event: Event) -> Iterator[RunEvent]:
        """What the user learns from an event that changes nothing here."""
        match event:
            case CeilingReady(ceiling=ceiling):
                yield CeilingArrived(ceiling)
            case ProofReady(proof=proof):
                yield ProofArrived(proof)
            case TraceReady(implementation=implementation, chrome_json_gz=trace):
                if isinstance(self.task, Trace):
                    yield TraceArrived(self.task.job, implementation, trace)
            case CodeReady(implementation=implementation, codes=codes):
                if isinstance(self.task, Run):
                    yield CodeArrived(self.task.job, implementation, codes)
            case Notice(text=text):
                yield Banner(text)
            case _:
                pass

    @staticmethod
    def _named(task: Task) -> tuple[Implementation, ...]:
        return task.job.implementations if isinstance(task, Run | Trace) else ()
