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
        self._coded: list[Implementation] = []  # whose generated code was heard

    def begin(self, task: Task) -> None:
        self.forget()
        self.task = task
        self.left = list(task.job.implementations) if isinstance(task, Run) else []

    def forget(self) -> None:
        self.task, self.left, self.stage, self._coded = None, [], None, []

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
                return self._may_have_code(implementation)
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
                    self._coded.append(implementation)
                    yield CodeArrived(self.task.job, implementation, codes)
            case Notice(text=text):
                yield Banner(text)
            case _:
                pass

    def _may_have_code(self, implementation: Implementation) -> bool:
        """Once, and behind its outcome, where the job asks for it."""
        if not isinstance(self.task, Run) or not self.task.job.keeps_code:
            return False
        is_done = implementation in self._named(self.task) and implementation not in self.left
        return is_done and implementation not in self._coded

    @staticmethod
    def _named(task: Task) -> tuple[Implementation, ...]:
        return task.job.implementations if isinstance(task, Run | Trace) else ()
