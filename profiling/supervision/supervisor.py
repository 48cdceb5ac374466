"""Keeps one worker busy and survives it: deadlines, cancellation, pauses, restart.

Sans-IO: methods take what happened and the time (seconds of any steady clock), and return what
to do. The window and the command line carry the effects out with their own process and timer.

The rules:

- One worker at a time, started when there is a task, and one task in flight.
- An implementation that a worker was given has one outcome; none only if the worker was closed, or if its Bye
  said that another one would do no better.
- A worker that misses a deadline is killed. Its start has one, each stage, and a task until its first stage.
- A lost worker costs the implementation in flight; the next worker runs what its job has left.
- An implementation that cost a worker is paused until a file of the kernels changes.
- Stop drops the queue and cancels the task in flight, which has 3 s to end and its worker then 2 s; a second
  press kills it. After a stop an exit leaves Cancelled outcomes.
- `BecameIdle` comes once nothing is queued or in flight, but not after `close`.

What happens, in which state of the worker, and what is done; ``> STATE`` is the next one:

            ABSENT        STARTING             READY                       ENDING
  --------  ------------  -------------------  --------------------------  ------------------
  submit    > STARTING    wait in the queue    Send a task if none is in   wait in the queue
            Spawn, Open                        flight
  hello                   > READY                                          ignore
                          Send a task
  hello of                > ENDING
  others                  give up, Close
  stage                                        take its deadline           take its deadline
  outcome                                      report it                   report it
  done                                         Send the next task          wait for its exit
  bye                     2 s to exit          2 s to exit                 2 s to exit
  exited                  > ABSENT             > ABSENT                    > ABSENT
                          give up              report the loss; Spawn for  Spawn for what
                                               what is queued              was queued since
  deadline                Kill                 Kill; after a stop first    as READY
                                               Terminate
  stop      drop queue    drop queue, Kill     drop queue; Cancel if a     as READY
                                               task is in flight
  2nd stop                                     Kill if one is in flight    as READY
  close     drop queue    > ENDING             > ENDING                    Close
                          drop queue, Close    drop queue, Close

To give up is to drop the queue and the task in flight without outcomes, because no other worker would do
better. An exit after a Bye that wants no restart gives up, too.
"""

from collections import deque
from collections.abc import Iterable
from enum import Enum, auto

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Cancelled, Failed, FailureKind, Outcome, Stage
from roofscope.profiling.supervision.effects import Effect, Kill, Send, Spawn, Terminate
from roofscope.profiling.supervision.lost_worker import WorkerEnd, loss_of
from roofscope.profiling.supervision.pauses import Pauses
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
    ABSENT = auto()  # no process
    STARTING = auto()  # spawned, has not said hello
    READY = auto()  # has a task, or waits for one
    ENDING = auto()  # was sent Close, has not exited


class Supervisor:
    """The parent's half of the conversation."""

    def __init__(self, kernel_roots: Iterable[str], catalog_hash: str) -> None:
        self._open = Open(PROTOCOL_VERSION, tuple(kernel_roots))
        self._catalog_hash = catalog_hash
        # What is to be done.
        self._queue: deque[Task] = deque()
        self._begun: set[str] = set()  # ids of jobs that a worker was given; what a loss left is queued again
        self._pauses = Pauses()
        self._stopping = 0  # presses of Stop since the queue was last filled
        self._progress = Progress()
        # What is in flight.
        self._current: Task | None = None
        self._left: list[Implementation] = []  # of the current run, still without an outcome
        self._stage: StageStarted | None = None  # the last one of the current task
        # The worker's process.
        self._worker = _Worker.ABSENT
        self._deadline: float | None = None  # for the next sign of life; None while none is due
        self._terminated = False  # asked to end for a stop; it is killed next
        self._timed_out = False  # killed for a missed deadline
        self._bye: Bye | None = None  # what it said of its own end

    @property
    def is_idle(self) -> bool:
        return self._current is None and not self._queue

    def catalog_changed(self, catalog_hash: str, kernel_roots: Iterable[str] | None = None) -> None:
        """Sources were edited, or the folders are others; the next worker must see these."""
        if kernel_roots is not None:
            self._open = Open(PROTOCOL_VERSION, tuple(kernel_roots))
        if catalog_hash != self._catalog_hash:
            self._pauses.clear()
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
            self._forget_task()  # nobody waits for it any more
            return self._advance(now) if self._queue else []
        if self._stopping:
            return [*self._end_rest(Cancelled()), *self._advance(now)]
        if bye and not bye.restart:
            self._give_up()
            return [Banner(bye.reason, bye.is_busy), BecameIdle()]
        if was is _Worker.STARTING:
            message = f"The worker did not start ({description}); see its log, or run `roofscope doctor`."
            self._give_up()
            return [WorkerLost(message, log_tail, restarting=False), BecameIdle()]
        return self._survive(WorkerEnd(description, log_tail, timed_out, bye), now)

    def _survive(self, end: WorkerEnd, now: float) -> list[Effect]:
        """Give the outcome of what was lost, queue the rest of its job, go on."""
        loss = loss_of(self._current, self._left, self._stage, end)
        effects = self._record(*loss.failed) if loss.failed else []
        if isinstance(self._current, Probe | SelfTest | Trace):
            self._progress.done += 1
        self._queue.extendleft(reversed(loss.again))
        self._forget_task()
        effects.append(WorkerLost(loss.message, end.log_tail, restarting=bool(self._queue)))
        return effects + self._advance(now)

    def _greeted(self, hello: Hello, now: float) -> list[Effect]:
        if self._worker is _Worker.ENDING:  # closed while it started
            return []
        if problem := hello.problem(self._catalog_hash):
            self._worker = _Worker.ENDING
            self._give_up()
            return [Banner(problem), Send(Close()), BecameIdle()]
        self._worker, self._deadline = _Worker.READY, None
        return [EnvironmentKnown(hello.environment), *self._advance(now)]

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
        skipped: list[OutcomeArrived] = []
        if isinstance(task, Run):
            task, skipped = self._pauses.split(task)
            self._progress.done += len(skipped)
            if task is None:
                return [*skipped, *self._advance(now)]
            self._left = list(task.job.implementations)
            self._begun.add(task.job.id)
        # Until its first stage, too: a reference.py, which is a user's code, may hang as it is loaded.
        self._current, self._stage, self._deadline = task, None, now + START_DEADLINE_S
        return [*skipped, Send(task)]

    def _record(self, implementation: Implementation, outcome: Outcome) -> list[Effect]:
        if not isinstance(self._current, Run):
            return []
        self._left = [left for left in self._left if left != implementation]
        self._progress.done += 1
        self._pauses.note(implementation, outcome)
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
        self._forget_task()
        return effects

    def _give_up(self) -> None:
        """What could not be tried has no outcome: drop it."""
        self._queue.clear()
        self._forget_task()

    def _forget_task(self) -> None:
        self._current, self._left, self._stage = None, [], None

    def _kill(self) -> list[Effect]:
        self._deadline = None
        return [Kill()]

    def _progressed(self, now: float) -> Progressed:
        starting = "starting the worker" if self._worker is _Worker.STARTING else ""
        return self._progress.report(
            now, task_label(self._current) if self._current else starting, self._stage
        )
