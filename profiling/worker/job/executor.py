"""One job through its stages: build, verify, settle, measure, check.

Implementations are built and verified one after the other and measured in turn. Each ends in exactly one
outcome; a wrong one ends before it is timed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch

from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.plan import Job, Regime
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Outcome, Stage, Verification
from roofscope.profiling.supervision.protocol import OutcomeReady, StageStarted, TraceReady
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Built
from roofscope.profiling.worker.environment import free_bytes
from roofscope.profiling.worker.failures import (
    BuildError,
    CancelRequested,
    Changed,
    DeviceFault,
    Refusal,
    TooLarge,
    classify,
    has_broken_capture,
)
from roofscope.profiling.worker.inputs import InputMaker, InputSet, sets_on
from roofscope.profiling.worker.job.activity import ActivityCounter
from roofscope.profiling.worker.job.check_stage import Candidate, Checker
from roofscope.profiling.worker.job.first_calls import DEADLINE_OF_EACH_S, DEADLINE_S, watched
from roofscope.profiling.worker.job.reference import load_reference
from roofscope.profiling.worker.job.verify import Verifier
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.profiler import record_trace
from roofscope.profiling.worker.timing.rounds import STOP_RULES, measure, warm_up, warm_up_rule
from roofscope.profiling.worker.timing.turn import Turn

Item = TypeVar("Item")
Value = TypeVar("Value")
Emit = Callable[[OutcomeReady | StageStarted | TraceReady], None]

_SETTLE_CALLS = 3
_HOT_ROUNDS = 3
_DOUBLE = 8


@dataclass(frozen=True)
class _Prepared:
    """An implementation that is built and correct."""

    implementation: Implementation
    built: Built
    verification: Verification


def is_sound(device: torch.device) -> bool:
    """Whether the device still computes: a broken context answers every call with its error."""
    try:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        torch.ones(1, device=device).item()
    except torch.cuda.OutOfMemoryError:
        return True
    except RuntimeError:
        return False
    return True


def require_sound(device: torch.device, error: Exception, what: str) -> None:
    """Raises DeviceFault where the ``error`` of ``what`` has left the worker unusable for the next task."""
    if has_broken_capture(error):
        raise DeviceFault(f"{what} failed: {error}; the worker was restarted.") from error
    if not is_sound(device):
        raise DeviceFault(f"{what} broke the device's context: {error}") from error


class JobExecutor:
    """Runs one job on one device."""

    def __init__(
        self,
        job: Job,
        catalog: Catalog,
        instruments: Instruments,
        emit: Emit,
        check_cancelled: Callable[[], None],
    ) -> None:
        kernel = catalog.kernel(job.workload.kernel)
        if kernel is None:
            raise Refusal(f"This worker has no kernel {job.workload.kernel!r}.")
        self._job = job
        self._kernel: Kernel = kernel
        self._instruments = instruments
        self._device = instruments.torch_device
        self._emit = emit
        self._check_cancelled = check_cancelled

    def run(self) -> None:
        """Emit one outcome per implementation. Raises CancelRequested or DeviceFault."""
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
        prepared = self._each(
            self._job.implementations, Stage.BUILD, self._prepare, lambda implementation: implementation
        )
        self._activity = ActivityCounter(self._device)  # now that each provider has imported what it uses
        self._pool = self._instruments.output_pool()
        sets = self._input_sets()
        candidates = self._each(
            prepared, Stage.SETTLE, lambda one: self._settle(one, sets), lambda one: one.implementation
        )
        if not candidates:
            return
        happened = self._measured_together(candidates)
        if happened is None:
            return
        for candidate in candidates:
            act = partial(self._checker.check, candidate, sets, happened)
            outcome = self._guarded(candidate.implementation, Stage.CHECK, act)
            if outcome:
                self._conclude(candidate.implementation, outcome)

    def trace(self) -> None:
        """Record a trace of the job's one implementation. Raises what the build raises."""
        self._load_reference()
        implementation = self._job.implementations[0]
        self._start(Stage.BUILD, implementation)
        built = self._build(implementation)
        inputs = self._maker.make(self._job.workload.sizes)
        for _ in range(_SETTLE_CALLS):
            built.call(*inputs)
        self._start(Stage.CHECK, implementation)
        self._emit(TraceReady(self._job.id, implementation, record_trace(built.call, [inputs])))

    def _load_reference(self) -> None:
        """Raises BuildError."""
        spec, job = self._kernel.spec, self._job
        run, derive = load_reference(self._kernel)
        self._maker = InputMaker(spec, job.workload.dtype, self._device, seed=2026, derive=derive)
        self._verifier = Verifier(spec, job.workload, run, self._maker)
        self._checker = Checker(job, self._instruments, self._maker, self._verifier)

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

    def _prepare(self, implementation: Implementation) -> _Prepared:
        built = self._build(implementation)
        self._start(Stage.VERIFY, implementation)
        call = watched(
            built.call, implementation.provider, self._device, partial(self._announce_call, implementation)
        )
        return _Prepared(implementation, built, self._verifier.verify(call))

    def _build(self, implementation: Implementation) -> Built:
        if not self._kernel.is_unchanged(implementation):
            what = f"{implementation.title} or its reference"
            raise Changed(f"{what} changed since the run was planned; run it again.")
        inputs = tuple(tensor.name for tensor in self._kernel.spec.inputs)
        request = BuildRequest(implementation, self._kernel.folder, self._job.workload, self._device, inputs)
        return providers.build(request)

    def _settle(self, one: _Prepared, sets: list[InputSet]) -> Candidate:
        """Let the first calls compile and allocate, then fix the timed path."""
        for _ in range(_SETTLE_CALLS):
            one.built.call(*sets[0])
        turn = self._turn(one.built, sets)
        hot = self._turn(one.built, sets[:1]) if self._has_hot_reading() else None
        return Candidate(one.implementation, one.built, one.verification, turn, hot)

    def _has_hot_reading(self) -> bool:
        may_be_hot = self._instruments.device.may_keep(self._job.work.byte_count)
        return self._device.type == "cuda" and may_be_hot

    def _turn(self, built: Built, sets: list[InputSet]) -> Turn:
        return Turn(self._instruments.timer(built.call, sets, self._pool))

    def _measured_together(self, candidates: list[Candidate]) -> str | None:
        """As ``_measure``; None when it failed, which ends all of them: any one may have caused it."""
        try:
            return self._measure(candidates)
        except CancelRequested:
            raise
        except Exception as error:  # noqa: BLE001 - a kernel may raise anything
            self._fail([candidate.implementation for candidate in candidates], error)
            return None

    def _measure(self, candidates: list[Candidate]) -> str:
        """Fill the candidates' turns; returns what compiled or allocated meanwhile."""
        begin = partial(
            self._start,
            Stage.MEASURE,
            candidates[0].implementation,
            f"{len(candidates)} in turn",
            more_s=DEADLINE_OF_EACH_S * len(candidates),
        )
        begin()
        turns = [candidate.turn for candidate in candidates]
        read_state = self._instruments.read_state
        full_clock_hz = self._instruments.full_clock_hz if self._job.regime is Regime.BURST else None
        warm_up(turns, warm_up_rule(self._job.quality, self._job.regime), read_state, full_clock_hz)
        before = self._activity.read()
        rule, again = STOP_RULES[self._job.quality], begin if self._job.regime is Regime.BURST else None
        measure(turns, rule, read_state, self._check_cancelled, before_longer_rests=again)
        happened = self._activity.read().since(before)
        for candidate in candidates:
            if candidate.hot:
                candidate.hot.rest_s = candidate.turn.rest_s
                candidate.hot.timer.block()
                for number in range(_HOT_ROUNDS):
                    candidate.hot.take_block(number, read_state)
        return happened

    def _guarded(
        self, implementation: Implementation, stage: Stage, act: Callable[[], Value]
    ) -> Value | None:
        """Run one implementation's stage; whatever it raises becomes its outcome."""
        self._check_cancelled()
        self._start(stage, implementation)
        try:
            result = act()
            self._synchronize()
            return result
        except Exception as error:  # noqa: BLE001 - a kernel may raise anything
            self._fail([implementation], error)
            return None

    def _fail(self, implementations: list[Implementation], error: Exception) -> None:
        """Conclude these with the outcome of the error. Raises DeviceFault where the worker must end."""
        sound, message = is_sound(self._device), ""
        for implementation in implementations:
            what = f"{implementation.title} at {self._job.workload.size_label}"
            outcome = classify(error, what=what, stage=self._stage, device_is_sound=sound)
            message = outcome.message
            self._conclude(implementation, outcome)
        if not sound:
            raise DeviceFault(message) from None
        if has_broken_capture(error):
            raise DeviceFault(f"{message}; the worker was restarted.") from None
        # The message and log are kept as text: the traceback would keep tensors alive.
        error.__traceback__ = None

    def _conclude(self, implementation: Implementation, outcome: Outcome) -> None:
        self._emit(OutcomeReady(self._job.id, implementation, outcome))

    def _announce_call(self, implementation: Implementation, detail: str, deadline_s: float) -> None:
        self._emit(StageStarted(self._job.id, Stage.VERIFY, deadline_s, implementation, detail))

    def _start(
        self, stage: Stage, implementation: Implementation, detail: str = "", more_s: float = 0.0
    ) -> None:
        self._stage = stage
        self._emit(StageStarted(self._job.id, stage, DEADLINE_S[stage] + more_s, implementation, detail))

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _input_sets(self) -> list[InputSet]:
        make = partial(self._maker.make_sets, self._job.workload.sizes)
        return sets_on(self._instruments.device, make, self._checker.bytes_a_call)

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
