"""After timing: verify again, cross-check with other instruments, and put the outcome together."""

from dataclasses import dataclass

from roofscope.profiling.devices.device import CACHE_LAPS
from roofscope.profiling.planning.plan import Job, Quality
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import (
    Energy,
    FailureKind,
    Flag,
    Meanwhile,
    Measured,
    Method,
    Verification,
)
from roofscope.profiling.worker.build.contract import Built
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import InputMaker, InputSet, bytes_a_call
from roofscope.profiling.worker.job.memoization import fingerprint, remembers
from roofscope.profiling.worker.job.verify import Verifier
from roofscope.profiling.worker.timing.blocks import GraphTimer, host_seconds
from roofscope.profiling.worker.timing.energy import measure_energy
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.profiler import Profile, profile_turn
from roofscope.profiling.worker.timing.single_calls import single_calls
from roofscope.profiling.worker.timing.turn import Turn

_HOST_CALLS_S = 0.1
_MOST_HOST_CALLS = 50
_SINGLE_CALLS_S = 0.25
_MOST_SINGLE_CALLS = 64
_BURSTS = 4  # of single calls, each as long as a block, where blocks rest


@dataclass(frozen=True)
class Candidate:
    """An implementation that is built, correct and settled; its turns fill as it is measured."""

    implementation: Implementation
    built: Built
    verification: Verification
    turn: Turn
    hot: Turn | None  # on one buffer set; None on a CPU and where the cache can hold none of it


class Checker:
    """Checks the timed path of the candidates of one job."""

    def __init__(self, job: Job, instruments: Instruments, maker: InputMaker, verifier: Verifier) -> None:
        self._job = job
        self._instruments = instruments
        self._maker = maker
        self._verifier = verifier
        self._on_gpu = instruments.torch_device.type == "cuda"
        self.bytes_a_call = bytes_a_call(maker.set_bytes(job.workload.sizes), job.work.byte_count)

    def check(self, candidate: Candidate, sets: list[InputSet], happened: str) -> Measured:
        """The outcome of a measured candidate. Raises WrongResult.

        ``happened`` says what compiled or allocated while blocks were timed; empty for nothing.
        """
        turn = candidate.turn
        if happened and turn.timer.method is not Method.CUDA_GRAPH:  # a replayed graph does neither
            raise WrongResult(
                FailureKind.NOT_SETTLED,
                f"was not settled when timed ({happened}); let its first calls do that work.",
            )
        self._verify_again(turn, sets)
        host_s = self._host_s(candidate, sets) if self._on_gpu else None
        profile = profile_turn(turn, self._instruments.read_state) if self._on_gpu else None
        return Measured(
            time=turn.stats,
            method=turn.timer.method,
            method_reason=turn.timer.reason,
            verification=candidate.verification,
            build=candidate.built.info(),
            evidence=turn.evidence,
            host_s=host_s,
            hot=candidate.hot.stats if candidate.hot and candidate.hot.samples_s else None,
            kernels=profile.kernels if profile else (),
            flags=self._flags(candidate, sets),
            discards=turn.discards,
            calls_s=self._single_calls(candidate, sets),
            energy=self._energy(turn),
            profiled=self._profiled(turn, profile),
            rotated_bytes=self._rotated_bytes(turn),
        )

    def _rotated_bytes(self, turn: Turn) -> int:
        return turn.timer.set_count * self.bytes_a_call

    @staticmethod
    def _profiled(turn: Turn, profile: Profile | None) -> Meanwhile | None:
        # Queued calls may wait for a host that the profiler slows, so their time under it says nothing.
        is_replayed = turn.timer.method is Method.CUDA_GRAPH
        return profile.meanwhile(turn.evidence.clock_hz) if profile and is_replayed else None

    def _verify_again(self, turn: Turn, sets: list[InputSet]) -> None:
        """Verify what the timed path writes for contents it has never seen."""
        self._refresh(sets[0])
        before = fingerprint(sets[0])
        outputs = turn.timer.call_on_first_set()
        if fingerprint(sets[0]) != before:
            raise WrongResult(
                FailureKind.INPUT_CHANGED, "changed its input when timed; it must not write to it."
            )
        self._verifier.check_again(sets[0], outputs)

    def _refresh(self, inputs: InputSet) -> None:
        self._maker.refresh(inputs, self._job.workload.sizes)

    def _flags(self, candidate: Candidate, sets: list[InputSet]) -> tuple[Flag, ...]:
        turn = candidate.turn
        flags: list[Flag] = []
        if turn.unstable_because:
            flags.append(Flag.UNSTABLE)
        if self._rotated_bytes(turn) < CACHE_LAPS * (self._instruments.device.last_level_cache_bytes or 0):
            flags.append(Flag.PARTLY_WARM)
        if turn.is_preempted:
            flags.append(Flag.PREEMPTED)
        # A replayed graph cannot return a remembered result.
        if turn.timer.method is not Method.CUDA_GRAPH and remembers(
            candidate.built.call, sets, self._refresh, turn.interval.median
        ):
            flags.append(Flag.REMEMBERS)
        return tuple(flags)

    def _energy(self, turn: Turn) -> Energy | None:
        """Measured apart from timing, and only in exact runs, because it keeps the device busy for 2 s."""
        reader, timer = self._instruments.energy, turn.timer
        if self._job.quality is not Quality.EXACT or reader is None or not isinstance(timer, GraphTimer):
            return None
        return measure_energy(timer.replay, timer.calls_per_block, reader)

    def _host_s(self, candidate: Candidate, sets: list[InputSet]) -> float:
        calls = min(max(round(_HOST_CALLS_S / candidate.turn.interval.median), 1), _MOST_HOST_CALLS)
        return host_seconds(candidate.built.call, sets[0], calls)

    def _single_calls(self, candidate: Candidate, sets: list[InputSet]) -> tuple[float, ...]:
        turn, offset_s = candidate.turn, self._instruments.call_offset_s
        if turn.timer.method is not Method.CUDA_GRAPH or offset_s is None:
            return ()
        call = candidate.built.call
        # Slow calls get fewer samples, because more would take minutes.
        count = min(max(round(_SINGLE_CALLS_S / turn.interval.median), 4), _MOST_SINGLE_CALLS)
        if not turn.rest_s:
            return single_calls(call, sets, offset_s, count)
        count = min(count, turn.timer.calls_per_block)
        return single_calls(call, sets, offset_s, count, bursts=_BURSTS, rest_s=turn.rest_s)
