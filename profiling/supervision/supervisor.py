"""Keeps one worker busy and survives it: deadlines, cancellation, quarantine, restart.

Sans-IO: methods take what happened and the time (seconds of any steady clock), and return what
to do. The window and the command line carry the effects out with their own process and timer.
"""

from collections import deque
from collections.abc import Iterable
from enum import Enum, auto

import msgspec

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import (
    Cancelled,
    Failed,
    FailureKind,
    Outcome,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.profiling.supervision.effects import Effect, Kill, Send, Spawn, Terminate
from roofscope.profiling.supervision.lost_worker import failure_of_lost_worker, one_run_each
from roofscope.profiling.supervision.protocol import (
    PROTOCOL_VERSION,
    Bye,
    Cancel,
    CeilingReady,
    Close,
    Event,
    Hello,
    Notice,
    Open,
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
    task_label,
)
from roofscope.profiling.supervision.run_events import (
    Banner,
    BecameIdle,
    CeilingArrived,
    CeilingsComplete,
    EnvironmentKnown,
    OutcomeArrived,
    Progress,
    Progressed,
    ProofArrived,
    TraceArrived,
    WorkerLost,
    item_count,
)

START_DEADLINE_S = 120.0  # importing torch from a cold disk takes its time
CANCEL_GRACE_S = 3.0
LADDER_STEP_S = 2.0  # cancel -> terminate -> kill


class _Worker(Enum):
    ABSENT = auto()
    STARTING = auto()
    READY = auto()
    ENDING = auto()


class Supervisor:
    """The parent's half of the conversation."""

    def __init__(self, kernel_roots: Iterable[str], catalog_hash: str) -> None:
        self._open = Open(PROTOCOL_VERSION, tuple(kernel_roots))
        self._catalog_hash = catalog_hash
        self._queue: deque[Task] = deque()
        self._current: Task | None = None
        self._left: list[Implementation] = []  # of the current run, still without an outcome
        self._stage: StageStarted | None = None
        self._deadline: float | None = None
        self._worker = _Worker.ABSENT
        self._stopping = 0  # presses of Stop since the queue was last filled
        self._terminated = False
        self._timed_out = False
        self._bye: Bye | None = None
        self._paused: dict[Implementation, str] = {}  # as it was then -> why
        self._begun: set[str] = set()  # ids of jobs, of which some may be queued again
        self._progress = Progress()

    @property
    def is_idle(self) -> bool:
        return self._current is None and not self._queue

    def catalog_changed(self, catalog_hash: str) -> None:
        """Sources were edited; the next worker must see these."""
        if catalog_hash != self._catalog_hash:
            self._paused.clear()  # what a version was paused for may lie in its reference or a helper
        self._catalog_hash = catalog_hash

    def submit(self, tasks: Iterable[Task], now: float) -> list[Effect]:
        """Queue tasks and start working on them."""
        if self.is_idle:
            self._progress = Progress(now)
            self._begun.clear()
        self._stopping = 0
        for task in tasks:
            self._queue.append(task)
            self._progress.total += item_count(task)
        return self._advance(now)

    def stop(self, now: float) -> list[Effect]:
        """First press: drop the queue, cancel the task in flight. Second press: kill."""
        effects = [effect for task in self._queue for effect in self._drop(task)]
        self._queue.clear()
        self._stopping += 1
        if self._worker is _Worker.ABSENT or self._current is None:
            return effects if self._worker is not _Worker.STARTING else [*effects, *self._kill()]
        if self._stopping > 1:
            return [*effects, *self._kill()]
        self._deadline = now + CANCEL_GRACE_S
        return [*effects, Send(Cancel(task_id(self._current)))]

    def _drop(self, task: Task) -> list[Effect]:
        """Outcomes for what is queued of a job that was begun; none for what was never tried."""
        if not isinstance(task, Run) or task.job.id not in self._begun:
            return []
        self._progress.done += len(task.job.implementations)
        return [OutcomeArrived(task.job, left, Cancelled()) for left in task.job.implementations]

    def close(self) -> list[Effect]:
        """The watcher goes away: end the worker now."""
        self._queue.clear()
        if self._worker is _Worker.ABSENT:
            return []
        self._worker = _Worker.ENDING
        return [Send(Close())]

    def tick(self, now: float) -> list[Effect]:
        """Call a few times a second: enforces deadlines."""
        if self._deadline is None or now < self._deadline:
            return []
        if self._stopping and not self._terminated:
            self._terminated = True
            self._deadline = now + LADDER_STEP_S
            return [Terminate()]
        self._timed_out = not self._stopping
        return self._kill()

    def feed(self, event: Event, now: float) -> list[Effect]:
        """One event from the worker."""
        match event:
            case Hello():
                return self._greeted(event, now)
            case StageStarted():
                self._stage = event
                if not self._stopping:
                    self._deadline = now + event.deadline_s
                return [self._progressed(now)]
            case OutcomeReady(implementation=implementation, outcome=outcome):
                return [*self._record(implementation, outcome), self._progressed(now)]
            case CeilingReady(ceiling=ceiling):
                return [CeilingArrived(ceiling)]
            case ProofReady(proof=proof):
                return [ProofArrived(proof)]
            case TraceReady(implementation=implementation, chrome_json_gz=trace):
                if not isinstance(self._current, Trace):
                    return []
                return [TraceArrived(self._current.job, implementation, trace)]
            case TaskDone(problem=problem):
                return self._finish(problem, now)
            case Notice(text=text):
                return [Banner(text)]
            case Bye():
                self._bye = event
                self._deadline = now + LADDER_STEP_S
                return []

    def exited(self, description: str, log_tail: str, now: float) -> list[Effect]:
        """The worker's process is gone. ``description`` is such as "killed by signal 9"."""
        was, self._worker = self._worker, _Worker.ABSENT
        bye, self._bye = self._bye, None
        timed_out, self._timed_out = self._timed_out, False
        self._deadline, self._terminated = None, False
        if was is _Worker.ENDING and self._stopping == 0:
            self._current, self._left, self._stage = None, [], None  # nobody waits for it any more
            return self._advance(now) if self._queue else []
        if self._stopping:
            return [*self._end_rest(Cancelled()), *self._advance(now)]
        if bye and not bye.restart:
            self._give_up()
            return [Banner(bye.reason, bye.is_busy), BecameIdle()]
        if was is _Worker.STARTING:
            message = f"The worker did not start ({description}); see its log, or run `main.py doctor`."
            self._give_up()
            return [WorkerLost(message, log_tail, restarting=False), BecameIdle()]
        return self._survive(bye, timed_out, description, log_tail, now)

    def _survive(
        self, bye: Bye | None, timed_out: bool, description: str, log_tail: str, now: float
    ) -> list[Effect]:
        """Blame the implementation in flight, keep the rest of its job, go on.

        Of those measured in turn nobody knows which it was: each is run by itself then.
        """
        effects: list[Effect] = []
        message = bye.reason if bye else f"The worker was lost ({description})."
        in_turn = self._stage is not None and self._stage.stage is Stage.MEASURE and len(self._left) > 1
        if isinstance(self._current, Run) and in_turn and not bye:
            why = "did not finish in time" if timed_out else f"was lost ({description})"
            message = f"The worker {why} with {len(self._left)} measured in turn; each is run by itself now."
            self._queue.extendleft(reversed(one_run_each(self._current, self._left)))
            self._left = []
        if isinstance(self._current, Run) and self._left and (bye is None or self._left_all):
            blamed = self._stage.implementation if self._stage else None
            blamed = blamed if blamed in self._left else self._left[0]
            stage = self._stage.stage if self._stage else Stage.BUILD
            if bye:  # a job that breaks the device before any outcome would come back for ever
                outcome = Failed(FailureKind.DEVICE_FAULT, stage, bye.reason, log_tail)
            else:
                outcome = failure_of_lost_worker(
                    self._current, blamed, stage, timed_out, description, log_tail
                )
            message = outcome.message
            effects += self._record(blamed, outcome)
        if isinstance(self._current, Run) and self._left:
            rest = msgspec.structs.replace(self._current.job, implementations=tuple(self._left))
            self._queue.appendleft(Run(rest))
        elif isinstance(self._current, Probe | SelfTest | Trace):
            self._progress.done += 1
        self._current, self._left, self._stage = None, [], None
        effects.append(WorkerLost(message, log_tail, restarting=bool(self._queue)))
        return effects + self._advance(now)

    @property
    def _left_all(self) -> bool:
        """Whether the job under way has had no outcome yet."""
        return isinstance(self._current, Run) and len(self._left) == len(self._current.job.implementations)

    def _greeted(self, hello: Hello, now: float) -> list[Effect]:
        if hello.protocol != PROTOCOL_VERSION:
            text = (
                f"The worker speaks protocol {hello.protocol}, this program {PROTOCOL_VERSION}; "
                "bring both checkouts to the same revision."
            )
        elif hello.catalog_hash != self._catalog_hash:
            text = (
                f"The worker's kernels ({hello.catalog_hash[:8]}) differ from those here "
                f"({self._catalog_hash[:8]}); run again if they were edited just now, else bring both "
                "checkouts to the same revision."
            )
        else:
            self._worker, self._deadline = _Worker.READY, None
            return [EnvironmentKnown(hello.environment), *self._advance(now)]
        self._worker = _Worker.ENDING
        self._give_up()
        return [Banner(text), Send(Close()), BecameIdle()]

    def _advance(self, now: float) -> list[Effect]:
        """Give a free worker its next task, or start the worker."""
        if self._current is not None or self._worker in (_Worker.STARTING, _Worker.ENDING):
            return []
        if not self._queue:
            return [BecameIdle()]
        if self._worker is _Worker.ABSENT:
            self._worker = _Worker.STARTING
            self._deadline = now + START_DEADLINE_S
            return [Spawn(), Send(self._open), self._progressed(now)]
        task = self._queue.popleft()
        effects: list[Effect] = []
        if isinstance(task, Run):
            task, effects = self._without_paused(task)
            if task is None:
                return [*effects, *self._advance(now)]
            self._left = list(task.job.implementations)
            self._begun.add(task.job.id)
        # Until its first stage, too: a reference.py, which is a user's code, may hang as it is loaded.
        self._current, self._stage, self._deadline = task, None, now + START_DEADLINE_S
        return [*effects, Send(task)]

    def _without_paused(self, run: Run) -> tuple[Run | None, list[Effect]]:
        effects: list[Effect] = []
        for implementation in run.job.implementations:
            if why := self._paused.get(implementation):
                self._progress.done += 1
                outcome = Skipped(SkipKind.PAUSED, f"{why} It is paused until a file of the kernels changes.")
                effects.append(OutcomeArrived(run.job, implementation, outcome))
        rest = tuple(i for i in run.job.implementations if i not in self._paused)
        job = msgspec.structs.replace(run.job, implementations=rest)
        return (Run(job) if rest else None), effects

    def _record(self, implementation: Implementation, outcome: Outcome) -> list[Effect]:
        if not isinstance(self._current, Run):
            return []
        self._left = [left for left in self._left if left != implementation]
        self._progress.done += 1
        if isinstance(outcome, Failed) and outcome.kind.pauses:
            self._paused[implementation] = outcome.message
        return [OutcomeArrived(self._current.job, implementation, outcome)]

    def _finish(self, problem: str, now: float) -> list[Effect]:
        effects: list[Effect] = [Banner(problem)] if problem else []
        if isinstance(self._current, Probe):
            self._progress.done += 1
            if not problem and not self._stopping:
                effects.append(CeilingsComplete(self._current.device))
        elif isinstance(self._current, SelfTest | Trace):
            self._progress.done += 1
        effects += self._end_rest(self._outcome_of_the_rest(problem))
        self._deadline = None
        return [*effects, self._progressed(now), *self._advance(now)]

    def _outcome_of_the_rest(self, problem: str) -> Outcome:
        """What becomes of those that a job left without an outcome of their own."""
        if self._stopping and not problem:
            return Cancelled()
        stage = self._stage.stage if self._stage else Stage.BUILD
        message = problem or "The job ended without a result for it; run it again."
        return Failed(FailureKind.INTERNAL, stage, message)

    def _end_rest(self, outcome: Outcome) -> list[Effect]:
        effects = [effect for left in list(self._left) for effect in self._record(left, outcome)]
        self._current, self._left, self._stage = None, [], None
        return effects

    def _give_up(self) -> None:
        """What could not be tried has no outcome: drop it."""
        self._queue.clear()
        self._current, self._left, self._stage = None, [], None

    def _kill(self) -> list[Effect]:
        self._deadline = None
        return [Kill()]

    def _progressed(self, now: float) -> Progressed:
        starting = "starting the worker" if self._worker is _Worker.STARTING else ""
        return self._progress.report(
            now, task_label(self._current) if self._current else starting, self._stage
        )
