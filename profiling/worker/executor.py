"""One job through its stages: build, verify, settle, measure, check.

Implementations are built and verified one after the other, measured in turn, and each ends in
exactly one outcome. A wrong one ends before it is timed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psutil
import torch

from profiling.catalog import Catalog, Kernel, load_module
from profiling.outcome import Energy, FailureKind, Flag, Measured, Method, Outcome, Stage, Verification
from profiling.plan import Job, Quality, Regime
from profiling.protocol import OutcomeReady, StageStarted, TraceReady
from profiling.spec import Implementation
from profiling.worker import providers
from profiling.worker.call_times import single_calls
from profiling.worker.energy import measure_energy
from profiling.worker.failures import Refusal, TooLarge, WrongResult, classify
from profiling.worker.freeze import ActivityCounter
from profiling.worker.inputs import InputMaker, InputSet, set_count
from profiling.worker.instruments import Instruments
from profiling.worker.providers import BuildRequest, Built
from profiling.worker.repeats import fingerprint, remembers
from profiling.worker.rounds import STOP_RULES, Turn, measure, warm_up, warm_up_rule
from profiling.worker.timing import BlockTimer, GraphTimer, host_seconds
from profiling.worker.tracing import profile_kernels, record_trace
from profiling.worker.verify import Verifier

Value = TypeVar("Value")
Emit = Callable[[OutcomeReady | StageStarted | TraceReady], None]

_DEADLINE_S = {
    Stage.BUILD: 120.0,
    Stage.VERIFY: 240.0,  # compilers and autotuners that work at the first call do so here
    Stage.SETTLE: 120.0,
    Stage.MEASURE: 120.0,
    Stage.CHECK: 120.0,
}
_SETTLE_CALLS = 3
_HOT_ROUNDS = 5
_HOST_CALLS_S = 0.5
_MOST_HOST_CALLS = 50
_SINGLE_CALLS_S = 0.25
_MOST_SINGLE_CALLS = 64
_DOUBLE = 8


class DeviceFault(Exception):
    """The device's context is broken; this worker must end."""


@dataclass
class _Contender:
    """An implementation that is built and right."""

    implementation: Implementation
    built: Built
    verification: Verification
    turn: Turn | None = None
    hot: Turn | None = None


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
        self._maker = InputMaker(kernel.spec, job.workload.dtype, self._device, seed=2026)
        reference = load_module(kernel.folder / "reference.py")
        self._verifier = Verifier(kernel.spec, job.workload, reference.run, self._maker)

    def run(self) -> None:
        """Emit one outcome per implementation. Raises CancelRequested or DeviceFault."""
        try:
            self._require_memory()
        except TooLarge as error:
            for implementation in self._job.implementations:
                self._conclude(
                    implementation, classify(error, what="", stage=Stage.BUILD, device_is_sound=True)
                )
            return
        contenders = [
            contender
            for implementation in self._job.implementations
            if (
                contender := self._guarded(
                    implementation, Stage.BUILD, lambda i=implementation: self._prepare(i)
                )
            )
        ]
        self._activity = ActivityCounter(self._device)  # by now each provider has imported what it uses
        self._pool = self._instruments.output_pool()
        sets = self._input_sets()
        contenders = [
            contender
            for contender in contenders
            if self._guarded(
                contender.implementation, Stage.SETTLE, lambda c=contender: self._settle(c, sets) or c
            )
        ]
        if contenders:
            self._measure(contenders)
        for contender in contenders:
            outcome = self._guarded(
                contender.implementation, Stage.CHECK, lambda c=contender: self._check(c, sets)
            )
            if outcome:
                self._conclude(contender.implementation, outcome)

    def trace(self) -> None:
        """Record a trace of the job's one implementation. Raises what the build raises."""
        implementation = self._job.implementations[0]
        self._start(Stage.BUILD, implementation)
        built = self._build(implementation)
        inputs = self._maker.make(self._job.workload.sizes)
        for _ in range(_SETTLE_CALLS):
            built.call(*inputs)
        self._start(Stage.CHECK, implementation)
        self._emit(TraceReady(self._job.id, implementation, record_trace(built.call, [inputs])))

    def _prepare(self, implementation: Implementation) -> _Contender:
        built = self._build(implementation)
        self._start(Stage.VERIFY, implementation)
        return _Contender(implementation, built, self._verifier.verify(built.call))

    def _build(self, implementation: Implementation) -> Built:
        request = BuildRequest(implementation, self._kernel.folder, self._job.workload, self._device)
        return providers.build(request)

    def _settle(self, contender: _Contender, sets: list[InputSet]) -> None:
        """Make everything that the first calls make, then freeze the timed path."""
        for _ in range(_SETTLE_CALLS):
            contender.built.call(*sets[0])
        contender.turn = self._turn(contender.built, sets)
        if self._device.type == "cuda":
            contender.hot = self._turn(contender.built, sets[:1])

    def _turn(self, built: Built, sets: list[InputSet]) -> Turn:
        return Turn(self._instruments.timer(built.call, sets, self._pool))

    def _measure(self, contenders: list[_Contender]) -> None:
        self._start(Stage.MEASURE, contenders[0].implementation, f"{len(contenders)} in turn")
        turns = [contender.turn for contender in contenders if contender.turn]
        read_state = self._instruments.read_state
        full_clock_hz = self._instruments.full_clock_hz if self._job.regime is Regime.BURST else None
        warm_up(turns, warm_up_rule(self._job.quality, self._job.regime), read_state, full_clock_hz)
        before = self._activity.read()
        measure(turns, STOP_RULES[self._job.quality], read_state, self._check_cancelled)
        self._happened = self._activity.read().since(before)
        for contender in contenders:
            if contender.hot and contender.turn:
                contender.hot.rest_s = contender.turn.rest_s
                contender.hot.timer.block()
                for number in range(_HOT_ROUNDS):
                    contender.hot.take_block(number, read_state)

    def _check(self, contender: _Contender, sets: list[InputSet]) -> Outcome:
        """Verify what the timed path writes for contents it has never seen; then profile."""
        assert contender.turn is not None
        timer = contender.turn.timer
        self._require_frozen(timer)
        self._maker.refresh(sets[0])
        before = fingerprint(sets[0])
        outputs = timer.call_on_first_set()
        if fingerprint(sets[0]) != before:
            raise WrongResult(
                FailureKind.INPUT_CHANGED, "changed its input when timed; it must not write to it."
            )
        self._verifier.check_again(sets[0], outputs)
        on_gpu = self._device.type == "cuda"
        host_s = self._host_s(contender, sets) if on_gpu else None
        # The reference heats the device: the profiler is to find the clock where the blocks had it.
        contender.turn.cool_down()
        contender.turn.warm_block(self._instruments.read_state)
        contender.turn.rest()
        stats = contender.turn.stats
        return Measured(
            time=stats,
            method=timer.method,
            method_reason=timer.reason,
            verification=contender.verification,
            build=contender.built.info(),
            evidence=contender.turn.evidence,
            host_s=host_s,
            hot=contender.hot.stats if contender.hot and contender.hot.samples_s else None,
            kernels=profile_kernels(timer) if on_gpu else (),
            flags=self._flags(contender, sets, stats.median_s),
            discards=contender.turn.discards,
            calls_s=self._single_calls(contender.built, timer, sets, stats.median_s),
            energy=self._energy(timer),
        )

    def _flags(self, contender: _Contender, sets: list[InputSet], median_s: float) -> tuple[Flag, ...]:
        assert contender.turn is not None
        flags: list[Flag] = []
        if contender.turn.unstable_because:
            flags.append(Flag.UNSTABLE)
        # A replayed graph cannot look a result up.
        if contender.turn.timer.method is not Method.CUDA_GRAPH and remembers(
            contender.built.call, sets, self._maker.refresh, median_s
        ):
            flags.append(Flag.REMEMBERS)
        return tuple(flags)

    def _energy(self, timer: BlockTimer) -> Energy | None:
        """Apart from timing, and in exact runs only: it holds the device busy for 2 s."""
        reader = self._instruments.energy
        if self._job.quality is not Quality.EXACT or reader is None or not isinstance(timer, GraphTimer):
            return None
        return measure_energy(timer.replay, timer.calls_per_block, reader)

    def _host_s(self, contender: _Contender, sets: list[InputSet]) -> float:
        assert contender.turn is not None
        calls = min(max(round(_HOST_CALLS_S / contender.turn.stats.median_s), 3), _MOST_HOST_CALLS)
        return host_seconds(contender.built.call, sets[0], calls)

    def _require_frozen(self, timer: BlockTimer) -> None:
        """A replayed graph can neither compile nor allocate; anything else may have. Raises WrongResult."""
        if self._happened and timer.method is not Method.CUDA_GRAPH:
            raise WrongResult(
                FailureKind.NOT_SETTLED,
                f"was not settled when timed ({self._happened}); let its first calls do that work.",
            )

    def _single_calls(
        self, built: Built, timer: BlockTimer, sets: list[InputSet], median_s: float
    ) -> tuple[float, ...]:
        offset_s = self._instruments.call_offset_s
        if timer.method is not Method.CUDA_GRAPH or offset_s is None:
            return ()
        # Slow calls get fewer samples: their spread is no mystery, and a minute is a minute.
        count = min(max(round(_SINGLE_CALLS_S / median_s), 4), _MOST_SINGLE_CALLS)
        return single_calls(built.call, sets, offset_s, count)

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
            sound = self._device_is_sound()
            what = f"{implementation.kernel} / {implementation.label} at {self._job.workload.size_label}"
            outcome = classify(error, what=what, stage=self._stage, device_is_sound=sound)
            # The message and log are kept as text: the traceback would keep tensors alive.
            error.__traceback__ = None
            self._conclude(implementation, outcome)
            if not sound:
                raise DeviceFault(outcome.message) from None
            return None

    def _conclude(self, implementation: Implementation, outcome: Outcome) -> None:
        self._emit(OutcomeReady(self._job.id, implementation, outcome))

    def _start(self, stage: Stage, implementation: Implementation, detail: str = "") -> None:
        self._stage = stage
        self._emit(StageStarted(self._job.id, stage, _DEADLINE_S[stage], implementation, detail))

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _device_is_sound(self) -> bool:
        """A broken context answers every call with its error: ask it."""
        try:
            self._synchronize()
            torch.ones(1, device=self._device).item()
        except torch.cuda.OutOfMemoryError:
            return True
        except RuntimeError:
            return False
        return True

    def _input_sets(self) -> list[InputSet]:
        cache_bytes = self._instruments.device.last_level_cache_bytes or 0
        count = set_count(self._job.work.byte_count, cache_bytes, self._free_bytes())
        return [self._maker.make(self._job.workload.sizes) for _ in range(count)]

    def _require_memory(self) -> None:
        """Refuse what cannot fit, before anything is allocated. Raises TooLarge."""
        work, itemsize = self._job.work, self._job.workload.dtype.itemsize
        # One set, and its float64 twins for the reference.
        needed = work.byte_count + work.byte_count // itemsize * _DOUBLE
        free = self._free_bytes()
        if needed > free:
            raise TooLarge(
                f"{self._job.workload.label} needs about {needed / 2**30:.1f} GiB with its reference; "
                f"{free / 2**30:.1f} GiB are free. Choose smaller sizes."
            )

    def _free_bytes(self) -> int:
        if self._device.type == "cuda":
            free, _ = torch.cuda.mem_get_info(self._device)
            reserved = torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)
            return free + reserved
        return psutil.virtual_memory().available
