"""Keeps one worker busy and survives it: deadlines, cancellation, pauses, restart.

Sans-IO: methods take what happened and the time (seconds of any steady clock), and return what
to do. The window and the command line carry the effects out with their own process and timer.

The rules:

- One worker at a time, started when there is a task, and one task in flight.
- An implementation that a worker was given has one outcome; none only if the worker was closed, or if its Bye
  said that another one would do no better.
- A worker that misses a deadline is killed. Its start has one, a task until its first stage, and then what
  it says that it waits for: a call, a pass, a compilation. `patience` and `give_more_time` prolong them, and
  so does a machine that is too busy to run it.
- What a worker says of another task than its own, or of an implementation without one, is not recorded.
- A lost worker costs the implementation in flight; the next worker runs what its job has left.
- An implementation that cost a worker is paused until a file of the kernels changes.
- A worker that waits for a task when files of the kernels change reads them again before the next one.
- What supersedes drops the queue and cancels the task in flight, but ends no worker for it.
- Stop drops the queue and cancels the task in flight, which has 1.5 s to end; a second press kills at once.
  After a stop an exit leaves Cancelled outcomes. What is submitted before the task has ended is not taken.
- `BecameIdle` comes once nothing is queued or in flight, but not after `close`.

What happens, in which state of the worker, and what is done; ``> STATE`` is the next one:

            ABSENT        STARTING             READY                       ENDING
  --------  ------------  -------------------  --------------------------  ------------------
  submit    > STARTING    wait in the queue    Send a task if none is in   wait in the queue
            Spawn, Open                        flight; > STARTING, Renew
                                               if files were edited
  hello                   > READY              refuse                      ignore
                          Send a task
  hello of                > ENDING
  others                  give up, Close
  stage                                        take its deadline           take its deadline
  outcome                                      report it                   report it
  done                                         Send the next task          wait for its exit
  bye                     2 s to exit          2 s to exit                 2 s to exit
  exited                  > ABSENT             > ABSENT                    > ABSENT
                          give up; but Spawn   report the loss; Spawn for  Spawn for what
                          once if killed, or   what is queued              was queued since
                          if it was renewed
  deadline                Kill                 Kill                        as READY
  of what is              refuse: say so once, record nothing
  not its task
  more time                                    double the deadlines of     as READY
                                               the task in flight
  stop      drop queue    drop queue, Kill     drop queue; Cancel if a     as READY
                                               task is in flight
  2nd stop                                     Kill if one is in flight    as READY
  close     drop queue    > ENDING             > ENDING                    Close
                          drop queue, Close    drop queue, Close

To give up is to drop the queue and the task in flight without outcomes, because no other worker would do
better. An exit after a Bye that wants no restart gives up, too.
"""

import secrets
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum, auto

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Cancelled, Failed, FailureKind, Outcome, Stage
from roofscope.profiling.supervision.effects import Effect, Kill, Send, Spawn
from roofscope.profiling.supervision.in_flight import InFlight
from roofscope.profiling.supervision.lost_worker import WorkerEnd, loss_of
from roofscope.profiling.supervision.pauses import Pauses
from roofscope.profiling.supervision.progress import Progress, item_count
from roofscope.profiling.supervision.protocol import (
    PROTOCOL_VERSION,
    Bye,
    Cancel,
    Close,
    Event,
    Hello,
    Open,
    OutcomeReady,
    Probe,
    Renew,
    Run,
    SelfTest,
    StageStarted,
    Task,
    TaskDone,
    Trace,
    task_id,
    task_label,
)
from roofscope.profiling.supervision.run_events import (
    Banner,
    BecameIdle,
    CeilingsComplete,
    EnvironmentKnown,
    OutcomeArrived,
    Progressed,
    WorkerLost,
)
from roofscope.profiling.supervision.wait import Wait

START_DEADLINE_S = 120.0  # importing torch from a cold disk takes its time
CANCEL_GRACE_S = 1.5  # with the kill and what it takes, a Stop is over within 3 s
EXIT_GRACE_S = 2.0  # for a worker that said that it ends
_SUPERSEDED = Cancelled("Its file was saved again meanwhile.")


class _Worker(Enum):
    ABSENT = auto()  # no process
    STARTING = auto()  # spawned, has not said hello
    READY = auto()  # has a task, or waits for one
    ENDING = auto()  # was sent Close, has not exited


class Supervisor:
    """The parent's half of the conversation. ``patience`` is a factor on the deadlines of foreign code.

    Without ``pauses`` an implementation that cost a worker is given to the next one all the same.
    """

    def __init__(
        self,
        kernel_roots: Iterable[str],
        catalog_hash: str,
        patience: float = 1.0,
        make_secret: Callable[[], str] = secrets.token_hex,
        *,
        pauses: bool = True,
    ) -> None:
        self._kernel_roots = tuple(kernel_roots)
        self._catalog_hash = catalog_hash
        self._make_secret = make_secret
        # What is to be done.
        self._queue: deque[Task] = deque()
        self._begun: set[str] = set()  # ids of jobs that a worker was given; what a loss left is queued again
        self._pauses = Pauses(are_kept=pauses)
        self._stopping = 0  # presses of Stop since the queue was last filled
        self._progress = Progress()
        self._flight = InFlight()
        self._is_superseded = False  # the task in flight, by what was queued since
        # The worker's process.
        self._worker = _Worker.ABSENT
        self._wait = Wait(patience)
        self._silent_s: float | None = None  # it was killed for a missed deadline of so many seconds
        self._is_dying = False  # killed, or gone with words that were not heard yet
        self._bye: Bye | None = None  # what it said of its own end
        self._was_killed_starting = False
        self._is_outdated = False  # files of the kernels were edited since it read them
        self._is_renewing = False  # it was started before, and reads them again
        self._has_strayed = False  # it has spoken of what is not its task, which was said

    @property
    def is_idle(self) -> bool:
        return self._flight.task is None and not self._queue

    @property
    def _is_ending_flight(self) -> bool:
        """Whether a stop waits for the task in flight, which what is queued now would undo."""
        return bool(self._stopping) and self._flight.task is not None

    def catalog_changed(self, catalog_hash: str, kernel_roots: Iterable[str] | None = None) -> None:
        """Sources were edited, or the folders are others; the worker sees these before its next task."""
        if kernel_roots is not None:
            self._is_outdated |= self._kernel_roots != tuple(kernel_roots)
            self._kernel_roots = tuple(kernel_roots)
        if catalog_hash != self._catalog_hash:
            self._is_outdated = True
            self._pauses.clear()
        self._catalog_hash = catalog_hash

    def lift_pauses(self, implementations: Iterable[Implementation]) -> None:
        """Try these again although they cost a worker."""
        self._pauses.lift(implementations)

    def be_patient(self, patience: float) -> None:
        """From the next thing on that is waited for."""
        self._wait.patience = patience

    def submit(self, tasks: Iterable[Task], now: float) -> list[Effect]:
        """Queue tasks and start working on them; nothing, while what was stopped has not ended."""
        if self._is_ending_flight:
            return []
        if self.is_idle:
            self._progress = Progress(now)
            self._begun.clear()
        self._stopping = 0
        for task in tasks:
            self._queue.append(task)
            self._progress.total += item_count(task)
        return self._advance(now)

    def supersede(self, tasks: Iterable[Task], now: float) -> list[Effect]:
        """Do these instead of the queue and of the task in flight, whose files were saved once more.

        What is in flight ends between two stages or blocks; no worker is ended for it, as its start takes
        longer.
        """
        if self._is_ending_flight:
            return []
        effects = [effect for task in self._queue for effect in self._drop(task, _SUPERSEDED)]
        self._queue.clear()
        if self._flight.task is not None and not self._is_superseded:
            self._is_superseded = True
            effects.append(Send(Cancel(task_id(self._flight.task))))
        return effects + self.submit(tasks, now)

    def stop(self, now: float) -> list[Effect]:
        """First press: drop the queue, cancel the task in flight. Second press: kill."""
        effects = [effect for task in self._queue for effect in self._drop(task)]
        self._queue.clear()
        self._stopping += 1
        if self._worker is _Worker.ABSENT or self._flight.task is None:
            return effects if self._worker is not _Worker.STARTING else [*effects, *self._kill()]
        if self._stopping > 1:
            return [*effects, *self._kill()]
        self._wait.allow(CANCEL_GRACE_S, now)
        return [*effects, Send(Cancel(task_id(self._flight.task)))]

    def give_more_time(self, now: float) -> list[Effect]:
        """Wait as long again for what is being waited for, and twice as long in the rest of its task."""
        if self._stopping or not self._wait.double():
            return []
        return self._awaited(now, at_once=True)

    def _drop(self, task: Task, outcome: Cancelled = Cancelled()) -> list[Effect]:  # noqa: B008 - frozen
        """Outcomes for what is queued of a job that was begun; none for what was never tried."""
        if not isinstance(task, Run) or task.job.id not in self._begun:
            return []
        self._progress.done += len(task.job.implementations)
        return [OutcomeArrived(task.job, left, outcome) for left in task.job.implementations]

    def close(self) -> list[Effect]:
        """The watcher goes away: end the worker now."""
        self._queue.clear()
        if self._worker is _Worker.ABSENT:
            return []
        self._worker = _Worker.ENDING
        return [Send(Close())]

    def tick(self, now: float, waited_s: float = 0.0) -> list[Effect]:
        """Call a few times a second: enforces deadlines.

        ``waited_s``: for how much of the time since the last call the worker waited for a core.
        """
        self._wait.excuse(waited_s, now)
        if not self._wait.is_over(now):
            return self._awaited(now)
        if not self._stopping:
            self._silent_s = self._wait.granted_s
        return self._kill()

    def feed(self, event: Event, now: float) -> list[Effect]:
        """One event from the worker."""
        self._wait.hear(now)
        if not self._expects(event):
            return self._refuse()
        match event:
            case Hello():
                return self._greeted(event, now)
            case StageStarted():
                self._flight.stage = event
                if not self._stopping:
                    self._wait.expect(event.deadline_s, now)
                return [self._progressed(now)]
            case OutcomeReady(implementation=implementation, outcome=outcome):
                return [*self._record(implementation, outcome), self._progressed(now)]
            case TaskDone(problem=problem):
                return self._finish(problem, now)
            case Bye():
                self._bye = event
                self._wait.allow(EXIT_GRACE_S, now)
                return []
            case _:
                return list(self._flight.news(event))

    def _expects(self, event: Event) -> bool:
        if isinstance(event, Hello):
            return self._worker is not _Worker.READY
        return self._flight.expects(event)

    def ended(self) -> None:
        """The worker's process has ended, and what it said last is fed next; then comes ``exited``."""
        self._is_dying = True

    def exited(self, description: str, log_tail: str, now: float) -> list[Effect]:
        """The worker's process is gone. ``description`` is such as "killed by signal 9"."""
        self._is_dying = False
        was, self._worker = self._worker, _Worker.ABSENT
        was_renewing, self._is_renewing = self._is_renewing, False
        bye, self._bye = self._bye, None
        silent_s, self._silent_s = self._silent_s, None
        self._wait.end()
        if was is _Worker.ENDING and self._stopping == 0:
            self._flight.forget()  # nobody waits for it any more
            return self._advance(now) if self._queue else []
        if self._stopping:
            return [*self._end_rest(Cancelled()), *self._advance(now)]
        if bye and not bye.restart:
            self._give_up()
            return [Banner(bye.reason, bye.is_busy), BecameIdle()]
        if was_renewing:  # it was lost while it had nothing to do
            return self._advance(now)
        if was is _Worker.STARTING:
            if silent_s is None and description.startswith("killed") and not self._was_killed_starting:
                self._was_killed_starting = True  # by accident, as far as is known
                message = f"The worker was lost as it started ({description})."
                return [WorkerLost(message, log_tail, restarting=True), *self._advance(now)]
            message = f"The worker did not start ({description}); see its log, or run `roofscope doctor`."
            self._give_up()
            return [WorkerLost(message, log_tail, restarting=False), BecameIdle()]
        return self._survive(WorkerEnd(description, log_tail, silent_s, bye), now)

    def _survive(self, end: WorkerEnd, now: float) -> list[Effect]:
        """Give the outcome of what was lost, queue the rest of its job, go on."""
        loss = loss_of(self._flight.task, self._flight.left, self._flight.stage, end)
        effects = self._record(*loss.failed) if loss.failed else []
        if isinstance(self._flight.task, Probe | SelfTest | Trace):
            self._progress.done += 1
        if self._is_superseded:
            effects += self._end_rest(_SUPERSEDED)
        else:
            self._queue.extendleft(reversed(loss.again))
        self._flight.forget()
        effects.append(WorkerLost(loss.message, end.log_tail, restarting=bool(self._queue)))
        return effects + self._advance(now)

    def _greeted(self, hello: Hello, now: float) -> list[Effect]:
        if self._worker is _Worker.ENDING:  # closed while it started
            return []
        was_renewing, self._is_renewing = self._is_renewing, False
        # Of files edited since it began to read them it is asked to read them again.
        problem = hello.problem(hello.catalog_hash if self._is_outdated else self._catalog_hash)
        said = Banner(problem, is_edited=hello.protocol == PROTOCOL_VERSION)
        if problem and was_renewing:  # edited once more meanwhile: who edits runs again
            self._worker, self._is_outdated = _Worker.READY, True
            self._wait.end()
            self._give_up()
            return [said, BecameIdle()]
        if problem:
            self._worker = _Worker.ENDING
            self._give_up()
            return [said, Send(Close()), BecameIdle()]
        self._worker, self._was_killed_starting = _Worker.READY, False
        self._wait.end()
        return [EnvironmentKnown(hello.environment), *self._advance(now)]

    def _advance(self, now: float) -> list[Effect]:
        """Give a free worker its next task, or start the worker."""
        if self._flight.task is not None or self._worker in (_Worker.STARTING, _Worker.ENDING):
            return []
        if not self._queue:
            return [BecameIdle()]
        if self._is_dying:  # a worker that cannot take it; its end would be held against the task
            return []
        if self._worker is _Worker.ABSENT:
            self._worker = _Worker.STARTING
            self._has_strayed = self._is_outdated = False
            self._wait.expect(START_DEADLINE_S, now)
            secret = self._make_secret()
            opening = Open(PROTOCOL_VERSION, self._kernel_roots, secret)
            return [Spawn(secret), Send(opening), self._progressed(now)]
        if self._is_outdated:
            self._worker, self._is_renewing, self._is_outdated = _Worker.STARTING, True, False
            self._wait.expect(START_DEADLINE_S, now)
            return [Send(Renew(self._kernel_roots))]
        task = self._queue.popleft()
        skipped: list[OutcomeArrived] = []
        if isinstance(task, Run):
            task, skipped = self._pauses.split(task)
            self._progress.done += len(skipped)
            if task is None:
                return [*skipped, *self._advance(now)]
            self._begun.add(task.job.id)
        self._is_superseded = False
        # Until its first stage, too: a reference.py, which is a user's code, may hang as it is loaded.
        self._flight.begin(task)
        self._wait.begin_task()
        self._wait.expect(START_DEADLINE_S, now)
        return [*skipped, Send(task)]

    def _record(self, implementation: Implementation, outcome: Outcome) -> list[Effect]:
        if not isinstance(self._flight.task, Run):
            return []
        self._flight.left.remove(implementation)
        self._progress.done += 1
        self._pauses.note(implementation, outcome)
        return [OutcomeArrived(self._flight.task.job, implementation, outcome)]

    def _finish(self, problem: str, now: float) -> list[Effect]:
        effects: list[Effect] = [Banner(problem)] if problem else []
        if isinstance(self._flight.task, Probe):
            self._progress.done += 1
            if not problem and not self._stopping:
                effects.append(CeilingsComplete(self._flight.task.device))
        elif isinstance(self._flight.task, SelfTest | Trace):
            self._progress.done += 1
        effects += self._end_rest(self._outcome_of_the_rest(problem))
        self._wait.end()
        return [*effects, self._progressed(now), *self._advance(now)]

    def _outcome_of_the_rest(self, problem: str) -> Outcome:
        """What becomes of those that a job left without an outcome of their own."""
        if self._is_superseded and not problem:
            return _SUPERSEDED
        if self._stopping and not problem:
            return Cancelled()
        stage = self._flight.stage.stage if self._flight.stage else Stage.BUILD
        message = problem or "The job ended without a result for it; run it again."
        return Failed(FailureKind.INTERNAL, stage, message)

    def _end_rest(self, outcome: Outcome) -> list[Effect]:
        effects = [effect for left in list(self._flight.left) for effect in self._record(left, outcome)]
        self._flight.forget()
        return effects

    def _give_up(self) -> None:
        """What could not be tried has no outcome: drop it."""
        self._queue.clear()
        self._flight.forget()

    def _refuse(self) -> list[Effect]:
        """Said once a worker: what speaks so may say it without end."""
        if self._has_strayed:
            return []
        self._has_strayed = True
        return [Banner("The worker spoke of what is not its task; that was not recorded.")]

    def _awaited(self, now: float, *, at_once: bool = False) -> list[Effect]:
        if self._stopping or self._worker is not _Worker.READY:  # imports are slow: nobody need know
            return []
        awaited = self._wait.silence(now, at_once=at_once)
        return [awaited] if awaited else []

    def _kill(self) -> list[Effect]:
        self._wait.end()
        self._is_dying = self._worker is not _Worker.ABSENT
        return [Kill()]

    def _progressed(self, now: float) -> Progressed:
        starting = "starting the worker" if self._worker is _Worker.STARTING and not self._is_renewing else ""
        return self._progress.report(
            now, task_label(self._flight.task) if self._flight.task else starting, self._flight.stage
        )
