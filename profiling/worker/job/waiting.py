"""Tells the program what is being waited for and how long, before each wait for foreign code."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.supervision.protocol import StageStarted
from roofscope.profiling.worker.candidate.messages import Block, Free, Get, Put, ReadActivity, Request
from roofscope.profiling.worker.job.deadlines import LOAD_REFERENCE_S, OWN_WORK_S, Deadline, Deadlines

# Asked in quick succession: the work of the referee between two of them is not worth a word.
_LIGHT = (Block, Free, Get, Put, ReadActivity)
_WORTH_A_WORD_S = 1.0


class Waiting:
    """Of one job. A wait is announced where it moves what the program expects by more than a second.

    So each call and each pass has a deadline of its own, and blocks of 10 ms cost one line a second.
    """

    def __init__(self, job: Job, device: Device, emit: Callable[[StageStarted], None]) -> None:
        self._job_id = job.id
        self._deadlines = Deadlines(job, device)
        self._emit = emit
        self._stage = Stage.BUILD
        self._implementation: Implementation | None = job.implementations[0]
        self._detail = ""  # of the stage
        self._said = ""
        self._until = -OWN_WORK_S  # when the program would end this worker

    def begin(self, stage: Stage, implementation: Implementation, detail: str = "") -> None:
        self._stage, self._implementation, self._detail = stage, implementation, detail
        self._announce(Deadline(OWN_WORK_S))

    def loading_reference(self) -> None:
        self._announce(Deadline(LOAD_REFERENCE_S, "loading reference.py"))

    def own_work(self) -> None:
        """What follows is the referee's."""
        self._expect(Deadline(OWN_WORK_S))

    @contextmanager
    def reference(self) -> Generator[None]:
        """While a function of reference.py has this process."""
        self._expect(Deadline(self._deadlines.reference_s, "reference"))
        try:
            yield
        finally:
            self.own_work()

    @contextmanager
    def answer(self, request: Request) -> Generator[None]:
        """While the candidate's process has a request."""
        self._expect(self._deadlines.of(request))
        started = time.monotonic()
        try:
            yield
        except BaseException:  # what is done about it is no work of the foreign code
            self.own_work()
            raise
        self._deadlines.learn(request, time.monotonic() - started)
        if not isinstance(request, _LIGHT):
            self.own_work()

    def _expect(self, deadline: Deadline) -> None:
        until = time.monotonic() + deadline.seconds
        is_news = deadline.detail not in ("", self._said) or abs(until - self._until) > _WORTH_A_WORD_S
        if is_news:
            self._announce(deadline)

    def _announce(self, deadline: Deadline) -> None:
        self._said = deadline.detail or self._detail
        self._until = time.monotonic() + deadline.seconds
        self._emit(
            StageStarted(self._job_id, self._stage, deadline.seconds, self._implementation, self._said)
        )
