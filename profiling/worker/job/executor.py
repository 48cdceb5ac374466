"""One job through its stages: build, verify, settle, measure, check.

Implementations are built and verified one after the other and measured in turn. Each ends in exactly one
outcome; a wrong one ends before it is timed. They run in a process of their own; this one judges.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TypeVar

import torch

from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.domain import outside
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.generated import bounded
from roofscope.profiling.results.outcome import Failed, FailureKind, Outcome, Skipped, Stage, Verification
from roofscope.profiling.supervision.protocol import (
    CodeReady,
    Notice,
    OutcomeReady,
    StageStarted,
    TraceReady,
)
from roofscope.profiling.worker.candidate.compilers import Compiler
from roofscope.profiling.worker.candidate.messages import (
    Build,
    Contents,
    Done,
    Record,
    Reveal,
    Revealed,
    Settle,
    Settled,
)
from roofscope.profiling.worker.environment import free_bytes
from roofscope.profiling.worker.failures import (
    BuildError,
    CancelRequested,
    Changed,
    DeviceFault,
    Refusal,
    TooLarge,
    classify,
)
from roofscope.profiling.worker.inputs import InputMaker, InputSet, bytes_a_call, set_count
from roofscope.profiling.worker.job.candidate_process import (
    CandidateLost,
    Connect,
    ConnectInterpreter,
    Tampered,
)
from roofscope.profiling.worker.job.check_stage import Candidate, Checker
from roofscope.profiling.worker.job.examine import Examiner
from roofscope.profiling.worker.job.link import CandidateFailed, Link, RemoteCall, RemoteSets, RemoteTimer
from roofscope.profiling.worker.job.measure_stage import measure_in_turn
from roofscope.profiling.worker.job.reference import load_reference
from roofscope.profiling.worker.job.runner_ups import RunnerUpFailed, RunnerUps
from roofscope.profiling.worker.job.verify import Verifier
from roofscope.profiling.worker.job.waiting import Waiting
from roofscope.profiling.worker.soundness import is_sound
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.turn import Turn

Item = TypeVar("Item")
Value = TypeVar("Value")
Emit = Callable[[OutcomeReady | StageStarted | TraceReady | CodeReady | Notice], None]

_DOUBLE = 8


@dataclass(frozen=True)
class _Prepared:
    """An implementation that is built and correct; ``number`` is what its process calls it."""

    implementation: Implementation
    number: int
    verification: Verification


class _Spoiled(Exception):
    """The candidates' process is not to be used any more; what it has left is run in another one."""


class JobExecutor:
    """Runs one job on one device. This process judges; the implementations run in another one."""

    def __init__(
        self,
        job: Job,
        catalog: Catalog,
        instruments: Instruments,
        connect: Connect,
        emit: Emit,
        check_cancelled: Callable[[], None],
        connect_interpreter: ConnectInterpreter | None = None,
    ) -> None:
        kernel = catalog.kernel(job.workload.kernel)
        if kernel is None:
            raise Refusal(f"This worker has no kernel {job.workload.kernel!r}.")
        self._job = job
        self._kernel: Kernel = kernel
        self._instruments = instruments
        self._device = instruments.torch_device
        self._connect = connect
        self._emit = emit
        self._check_cancelled = check_cancelled
        self._connect_interpreter = connect_interpreter
        self._left = list(job.implementations)  # without an outcome
        self._is_apart = False  # each in a process of its own, because nobody knows which of them spoils it
        self._stage = Stage.BUILD
        self._waiting = Waiting(job, instruments.device, emit)
        self._runner_ups = RunnerUps()

    def run(self) -> None:
        """Emit one outcome per implementation. Raises CancelRequested, DeviceFault or CandidateLost."""
        try:
            self._require_memory()
            self._load_reference()
        except (TooLarge, BuildError) as error:
            for implementation in self._job.implementations:
                what = implementation.title
                self._conclude(
                    implementation, classify(error, what=what, stage=Stage.BUILD, device_is_sound=True)
                )
            return
        self._examine_all()
        while self._left:
            batch = tuple(self._left[:1] if self._is_apart else self._left)
            try:
                self._link = self._connected(batch)
            except CandidateFailed as error:  # the device lets no second process in
                for implementation in tuple(self._left):
                    self._conclude(implementation, error.outcome)
                return
            is_done = False
            try:
                self._run_all(batch)
                is_done = not self._is_apart
            except _Spoiled:
                continue
            finally:
                self._link.close(is_done=is_done)

    def _examine_all(self) -> None:
        """What the job is to interpret or compile, because the GPU that it is for is not here."""
        to_examine = [one for one in self._left if self._job.examines(one)]
        if not to_examine or self._connect_interpreter is None:
            return
        examiner = Examiner(
            self._job,
            self._kernel,
            self._instruments,
            self._maker,
            self._reference,
            self._waiting,
            self._connect,
            self._connect_interpreter,
        )
        for implementation in to_examine:
            self._check_cancelled()
            try:
                self._require_as_planned(implementation)
                examined = examiner.examine(implementation)
            except (CancelRequested, DeviceFault, CandidateLost):
                raise
            except Exception as error:  # noqa: BLE001 - a kernel may raise anything
                self._stage = examiner.stage
                self._fail([implementation], error)
                continue
            self._conclude(implementation, examined.outcome)
            if examined.codes:
                self._emit(CodeReady(self._job.id, implementation, bounded(examined.codes)))

    def trace(self, options: TraceOptions) -> None:
        """Record a trace of the job's one implementation. Raises what the build raises."""
        self._load_reference()
        implementation = self._job.implementations[0]
        self._link = self._connected([implementation])
        try:
            self._start(Stage.BUILD, implementation)
            self._build(0, implementation)
            inputs = self._link.make("trace", self._maker.layouts(self._job.workload.sizes))
            self._refresh(inputs.sets[0])
            inputs.send()
            self._start(Stage.CHECK, implementation)
            workload = self._job.workload
            title = f"{implementation.key} {workload.dtype.label} {workload.size_label}"
            trace = self._link.ask(Record(0, inputs.group, title, options), Contents).data
            self._emit(TraceReady(self._job.id, implementation, trace))
        except CandidateFailed as error:
            raise RuntimeError(str(error)) from None
        except Tampered as error:
            raise RuntimeError(f"its process replaced {error}.") from None
        finally:
            self._link.close()

    def _run_all(self, implementations: Sequence[Implementation]) -> None:
        """Raises _Spoiled where those left need another process."""
        numbered = list(enumerate(implementations))
        self._numbers = count(len(numbered))  # for what is settled beside these
        prepared = self._each(numbered, Stage.BUILD, self._prepare, lambda one: one[1])
        if not prepared:
            return
        self._link.forget_outputs()
        _release(self._device)
        try:
            self._sets = self._input_sets()
        except (CandidateFailed, Tampered) as error:  # asked of none of them
            if len(prepared) == 1:
                self._fail([prepared[0].implementation], error)
            self._is_apart = True
            raise _Spoiled from None
        candidates = self._each(prepared, Stage.SETTLE, self._settle, lambda one: one.implementation)
        if not candidates:
            return
        happened = self._measured_together(candidates)
        if happened is None:
            return
        checker = Checker(
            self._job,
            self._instruments,
            self._maker,
            self._verifier,
            self._link,
            self._sets,
            self._bytes_a_call,
        )
        for candidate in candidates:
            act = partial(checker.check, candidate, happened)
            outcome = self._guarded(candidate.implementation, Stage.CHECK, act)
            if outcome:
                self._conclude(candidate.implementation, outcome)
                self._keep_code(candidate)

    def _load_reference(self) -> None:
        """Raises BuildError."""
        spec, job = self._kernel.spec, self._job
        self._waiting.loading_reference()
        run, derive = load_reference(self._kernel)
        # A seed that nobody knows: who knows it knows the inputs, and may have the results ready.
        seed = secrets.randbits(63)
        self._maker = InputMaker(
            spec,
            job.workload.dtype,
            self._device,
            seed=seed,
            derive=derive and self._waited(derive),
            fill=job.workload.fill,
        )
        self._reference = self._waited(run)
        self._verifier = Verifier(spec, job.workload, self._reference, self._maker)
        tensor_bytes = self._maker.set_bytes(job.workload.sizes)
        self._bytes_a_call = bytes_a_call(tensor_bytes, job.work.byte_count)

    def _connected(self, implementations: Sequence[Implementation]) -> Link:
        self._waiting.own_work()
        compilers = Compiler.of(implementations)
        process = self._connect(compilers)
        try:
            return Link(process, self._instruments.device, self._device, self._waiting)
        except (CandidateFailed, CandidateLost, Tampered):
            if not process.has_served:
                raise
        # The job before has left it so, which is no fault of these.
        return Link(self._connect(compilers), self._instruments.device, self._device, self._waiting)

    def _waited(self, function: Callable[..., Value]) -> Callable[..., Value]:
        """A function of the user's reference.py, with a deadline of its own."""

        def call(*inputs: torch.Tensor) -> Value:
            with self._waiting.reference():
                found = function(*inputs)
                if self._device.type == "cuda":
                    torch.cuda.synchronize(self._device)
                return found

        return call

    def _each(
        self,
        items: Iterable[Item],
        stage: Stage,
        act: Callable[[Item], Value],
        whose: Callable[[Item], Implementation],
    ) -> list[Value]:
        """Take each item through a stage; items that end in it are concluded and left out."""
        results = (self._guarded(whose(item), stage, partial(act, item)) for item in items)
        return [result for result in results if result is not None]

    def _prepare(self, one: tuple[int, Implementation]) -> _Prepared:
        number, implementation = one
        self._build(number, implementation)
        self._start(Stage.VERIFY, implementation)
        call = RemoteCall(self._link, number, self._maker)
        return _Prepared(implementation, number, self._verifier.verify(call, implementation.domain))

    def _require_as_planned(self, implementation: Implementation) -> None:
        """Raises Refusal."""
        if not self._kernel.is_unchanged(implementation):
            what = f"{implementation.title} or its reference"
            raise Changed(f"{what} changed since the run was planned; run it again.")
        if sentence := outside(implementation, self._job.workload):
            raise Refusal(sentence)

    def _build(self, number: int, implementation: Implementation) -> None:
        self._require_as_planned(implementation)
        inputs = tuple(tensor.name for tensor in self._kernel.spec.inputs)
        folder = str(self._kernel.folder)
        entry = self._kernel.entries.get(implementation.stem)
        self._link.ask(Build(number, implementation, folder, self._job.workload, inputs, entry), Done)

    def _settle(self, one: _Prepared) -> Candidate:
        """Let the first calls compile and allocate, then fix the timed path."""
        settled = self._link.ask(Settle(one.number, self._sets.group, self._has_hot_reading()), Settled)
        cold = RemoteTimer(self._link, one.number, settled.cold)
        hot = RemoteTimer(self._link, one.number, settled.hot, is_hot=True) if settled.hot else None
        turn = Turn(cold)
        tuned = self._runner_ups.settle(self._link, one.implementation, one.number, turn, self._numbers)
        return Candidate(
            one.implementation, one.number, one.verification, turn, cold, Turn(hot) if hot else None, tuned
        )

    def _has_hot_reading(self) -> bool:
        may_be_hot = self._instruments.device.may_keep(self._job.work.byte_count)
        return self._device.type == "cuda" and may_be_hot

    def _measured_together(self, candidates: list[Candidate]) -> str | None:
        """What compiled or allocated meanwhile; None when it failed, which ends all of them."""
        try:
            return self._measure(candidates)
        except (CancelRequested, DeviceFault, CandidateLost):
            raise
        except (CandidateFailed, Tampered) as error:
            # Asked of one of them, so it is that one's: the others are measured without it.
            asked, is_runner_up = self._in_flight(candidates)
            if is_runner_up:
                self._runner_ups.give_up(asked, f"The runner-up could not be timed: {error}")
            else:
                self._fail([asked], error)
            raise _Spoiled from None
        except Exception as error:  # noqa: BLE001 - a device may fail in any way
            self._fail([candidate.implementation for candidate in candidates], error)
            return None

    def _keep_code(self, candidate: Candidate) -> None:
        """Pass on what compilers made, where the run asked for it, behind the outcome: it costs no result.

        Raises _Spoiled where those left need another process.
        """
        if not self._job.keeps_code:
            return
        said = f"The generated code of {candidate.implementation.title} was not kept"
        try:
            codes = self._link.ask(Reveal(candidate.number), Revealed).codes
        except CandidateFailed as error:
            self._emit(Notice(f"{said}: {error}"))
            self._require_sound(error)
            return
        except Tampered as error:
            self._emit(Notice(f"{said}, because its process replaced {error}."))
            raise _Spoiled from None
        if codes:
            self._emit(CodeReady(self._job.id, candidate.implementation, bounded(codes)))

    @staticmethod
    def _in_flight(candidates: Sequence[Candidate]) -> tuple[Implementation, bool]:
        """The one that was asked last, and whether it was a runner-up of it."""
        timers = [(timer, candidate) for candidate in candidates for timer in candidate.timers]
        timer, asked = max(timers, key=lambda each: each[0].asked_at)
        return asked.implementation, timer is not asked.timer

    def _measure(self, candidates: list[Candidate]) -> str:
        begin = partial(
            self._start,
            Stage.MEASURE,
            candidates[0].implementation,
            f"{len(candidates)} in turn",
        )
        return measure_in_turn(
            candidates, self._job, self._instruments, self._link, begin, self._check_cancelled
        )

    def _guarded(
        self, implementation: Implementation, stage: Stage, act: Callable[[], Value]
    ) -> Value | None:
        """Run one implementation's stage; whatever it raises becomes its outcome."""
        self._check_cancelled()
        self._start(stage, implementation)
        try:
            return act()
        except (CancelRequested, DeviceFault, CandidateLost):
            raise
        except RunnerUpFailed as error:
            self._runner_ups.give_up(implementation, str(error))
            raise _Spoiled from None
        except Exception as error:  # noqa: BLE001 - a kernel may raise anything
            self._fail([implementation], error)
            if isinstance(error, Tampered):
                raise _Spoiled from None
            if isinstance(error, CandidateFailed):
                self._require_sound(error)
            return None

    @staticmethod
    def _require_sound(error: CandidateFailed) -> None:
        """Raises _Spoiled where the process that failed is not to be used any more."""
        if not error.is_sound or error.has_broken_capture:
            raise _Spoiled from None

    def _fail(self, implementations: Sequence[Implementation], error: Exception) -> None:
        """Conclude these with the outcome of the error. Raises DeviceFault where the worker must end."""
        sound = is_sound(self._device)
        message = ""
        for implementation in implementations:
            what = f"{implementation.title} at {self._job.workload.size_label}"
            outcome = self._outcome_of(error, what, sound=sound)
            message = outcome.message
            self._conclude(implementation, outcome)
        if not sound:
            raise DeviceFault(message) from None
        # The message and log are kept as text: the traceback would keep tensors alive.
        error.__traceback__ = None

    def _outcome_of(self, error: Exception, what: str, *, sound: bool) -> Failed | Skipped:
        match error:
            case CandidateFailed(outcome=outcome):
                return outcome
            case Tampered():
                message = f"{what} replaced {error}; a time from a process like that proves nothing."
                return Failed(FailureKind.TAMPERED, self._stage, message)
            case _:
                return classify(error, what=what, stage=self._stage, device_is_sound=sound)

    def _conclude(self, implementation: Implementation, outcome: Outcome) -> None:
        self._left.remove(implementation)
        self._emit(OutcomeReady(self._job.id, implementation, outcome))

    def _start(self, stage: Stage, implementation: Implementation, detail: str = "") -> None:
        self._stage = self._link.stage = stage
        self._link.what = f"{implementation.title} at {self._job.workload.size_label}"
        self._waiting.begin(stage, implementation, detail)

    def _refresh(self, inputs: InputSet) -> None:
        self._maker.refresh(inputs, self._job.workload.sizes)

    def _input_sets(self) -> RemoteSets:
        device, sizes = self._instruments.device, self._job.workload.sizes
        count = set_count(self._bytes_a_call, device.last_level_cache_bytes or 0, free_bytes(device))
        made = self._link.make("sets", self._maker.layouts(sizes), count)
        self._maker.refresh_all(made.blocks, made.sets, sizes)
        made.send()
        return made

    def _require_memory(self) -> None:
        """Refuse what cannot fit, before anything is allocated. Raises TooLarge."""
        work, itemsize = self._job.work, self._job.workload.dtype.itemsize
        # One set, and its float64 twins for the reference.
        needed = work.byte_count + work.byte_count // itemsize * _DOUBLE
        free = free_bytes(self._instruments.device)
        if needed > free:
            raise TooLarge(
                f"{self._job.workload.label} needs about {needed / 2**30:.1f} GiB with its reference; "
                f"{free / 2**30:.1f} GiB are free. Choose smaller sizes."
            )


def _release(device: torch.device) -> None:
    """Give back what verification took here: the other process makes the sets that are timed."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
