"""After timing: verify again, cross-check with other instruments, and put the outcome together."""

import random
from dataclasses import dataclass, field

from msgspec.structs import replace

from roofscope.profiling.devices.device import CACHE_LAPS
from roofscope.profiling.planning.plan import Job, Quality
from roofscope.profiling.planning.spec import REPLAYING_MODES, Implementation, Provider
from roofscope.profiling.results.outcome import (
    BuildInfo,
    ClockElasticity,
    Energy,
    FailureKind,
    Flag,
    Meanwhile,
    Measured,
    MemoryUse,
    Method,
    Verification,
)
from roofscope.profiling.worker.candidate.memory_use import plausible
from roofscope.profiling.worker.candidate.messages import (
    ClockBlocks,
    EnergyRead,
    HeatedBlocks,
    HostTime,
    Info,
    Informed,
    LastReturned,
    MeasureEnergy,
    MemoryRead,
    Profile,
    Profiled,
    ReadLast,
    ReadMemory,
    Replay,
    Seconds,
    SetOutputs,
    SingleCalls,
)
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import InputMaker, InputSet
from roofscope.profiling.worker.job.candidate_process import Tampered
from roofscope.profiling.worker.job.link import CandidateFailed, Link, RemoteSets, RemoteTimer
from roofscope.profiling.worker.job.memoization import (
    REMEMBERED,
    NeverCalm,
    find_memory,
    fingerprint,
    pass_length,
)
from roofscope.profiling.worker.job.passes import RemotePasses
from roofscope.profiling.worker.job.runner_ups import TimedRunnerUp, Tuned, with_times
from roofscope.profiling.worker.job.second_clock import contradiction, is_unjudged
from roofscope.profiling.worker.job.verify import Verifier
from roofscope.profiling.worker.timing.clock_steps import fitted
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.turn import Turn

_HOST_CALLS_S = 0.02  # of the device's work
_MOST_HOST_CALLS = 50
_SINGLE_CALLS_S = 0.12  # which are run twice and more, and captured before
_MOST_SINGLE_CALLS = 64
_BURSTS = 2  # of single calls, at most, each as long as a block, where blocks rest: rests cost most
_RESTED_CALLS = 16  # which these make, as far as they go
_SETS_CHECKED = 2  # after timing, chosen by lot
_BLOCKS_CHECKED = 3  # of timed calls: who works in each other one alone passes once in eight times
_QUEUE_SLOWED = 1.12  # CUPTI adds 6 to 9 % to kernels of 65536 blocks and more on an H200
_REPLAYED_REMEMBERED = 1.2  # times as fast on contents seen before, for a pass that a graph replays


@dataclass(frozen=True)
class Candidate:
    """An implementation that is built, correct and settled; its turns fill as it is measured."""

    implementation: Implementation
    number: int
    verification: Verification
    turn: Turn
    timer: RemoteTimer
    hot: Turn | None  # on one buffer set; None on a CPU and where the cache can hold none of it
    tuned: Tuned = field(default_factory=Tuned)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Its own, and those of its runner-ups."""
        return (self.turn, *(one.turn for one in self.tuned.runner_ups))

    @property
    def timers(self) -> tuple[RemoteTimer, ...]:
        return (self.timer, *(one.timer for one in self.tuned.runner_ups))


class Checker:
    """Checks the timed path of the candidates of one job."""

    def __init__(
        self,
        job: Job,
        instruments: Instruments,
        maker: InputMaker,
        verifier: Verifier,
        link: Link,
        sets: RemoteSets,
        bytes_a_call: int,
    ) -> None:
        self._job = job
        self._instruments = instruments
        self._maker = maker
        self._verifier = verifier
        self._link = link
        self._sets = sets
        self._bytes_a_call = bytes_a_call
        self._on_gpu = instruments.torch_device.type == "cuda"

    def check(self, candidate: Candidate, happened: str) -> Measured:
        """The outcome of a measured candidate. Raises WrongResult.

        ``happened`` says what compiled or allocated while blocks were timed; empty for nothing.
        """
        turn = candidate.turn
        if happened and turn.timer.method is not Method.CUDA_GRAPH:  # a replayed graph does neither
            raise WrongResult(
                FailureKind.NOT_SETTLED,
                f"was not settled when timed ({happened}); let its first calls do that work.",
            )
        if against := contradiction(candidate.timer.seen):
            raise WrongResult(
                FailureKind.TAMPERED, f"claims times that are not those of its work: {against}."
            )
        self._verify_again(candidate.number, candidate.timer)
        tunings = with_times(candidate.tuned, self._verify_runner_up)
        flags = self._flags(candidate)
        host_s = self._host_s(candidate) if self._on_gpu else None
        profile = self._profile(candidate) if self._on_gpu else None
        elasticity = self._clock_elasticity(candidate)
        return Measured(
            time=turn.stats,
            method=turn.timer.method,
            method_reason=turn.timer.reason,
            verification=candidate.verification,
            build=self._build_info(candidate),
            evidence=replace(turn.evidence, launch_floor_s=self._instruments.launch_floor_s),
            host_s=host_s,
            hot=candidate.hot.stats if candidate.hot and candidate.hot.samples_s else None,
            kernels=profile.kernels if profile else (),
            flags=flags,
            discards=turn.discards,
            calls_s=self._single_calls(candidate, host_s or 0.0),
            energy=self._energy(candidate),
            profiled=self._profiled(turn, profile),
            unsealed_because=self._unsealed_because(turn),
            clock_elasticity=elasticity if isinstance(elasticity, ClockElasticity) else None,
            clock_elasticity_missing=elasticity if isinstance(elasticity, str) else "",
            rotated_bytes=self._rotated_bytes(candidate),
            memory=self._memory(candidate),
            tunings=tunings,
        )

    def _verify_runner_up(self, one: TimedRunnerUp) -> None:
        self._verify_again(one.number, one.timer)

    def _rotated_bytes(self, candidate: Candidate) -> int:
        return candidate.timer.set_count * self._bytes_a_call

    def _unsealed_because(self, turn: Turn) -> tuple[str, ...]:
        """What of the number rests on the word of the process that ran the implementation."""
        found: list[str] = []
        if not self._link.shares_memory:
            found.append("its results reach the referee through its own process")
        if turn.timer.method is Method.QUEUE:
            found.append("how long its calls waited in a queue is its own process's claim")
        return tuple(found)

    @staticmethod
    def _profiled(turn: Turn, profile: Profiled | None) -> Meanwhile | None:
        if profile is None or turn.timer.method not in (Method.CUDA_GRAPH, Method.QUEUE):
            return None
        # Queued calls may wait for a host that the profiler slows; a time that is longer says nothing.
        slowed = profile.block.seconds / turn.interval.median
        if turn.timer.method is Method.QUEUE and slowed > _QUEUE_SLOWED:
            return None
        then_hz, now_hz = turn.clock_hz, profile.block.clock_hz
        return Meanwhile(profile.block.seconds, now_hz / then_hz if now_hz and then_hz else None)

    def _verify_again(self, number: int, timer: RemoteTimer) -> None:
        """Verify what the timed path writes for contents it has never seen, in sets chosen by lot."""
        sets = self._sets
        self._maker.refresh_all(sets.blocks, sets.sets, self._job.workload.sizes)
        sets.send()
        # What is kept by address is kept for the sets that were reached.
        reached = min(len(sets.sets), timer.reached)
        chosen = tuple(random.SystemRandom().sample(range(reached), min(_SETS_CHECKED, reached)))
        before = [fingerprint(sets.sets[index]) for index in chosen]
        lent = self._link.ask(Replay(number, chosen), SetOutputs).sets
        sets.look()
        for index, of_set, kept in zip(chosen, lent, before, strict=True):
            if fingerprint(sets.sets[index]) != kept:
                raise WrongResult(
                    FailureKind.INPUT_CHANGED, "changed its input when timed; it must not write to it."
                )
            self._verifier.check_again(sets.sets[index], self._link.outputs(of_set))
        if timer.method is not Method.CUDA_GRAPH:  # whose replays run no code that could tell them apart
            self._verify_timed_calls(number, timer)

    def _verify_timed_calls(self, number: int, timer: RemoteTimer) -> None:
        """Verify what blocks return: who looks at its callers' frames can tell timed calls from others."""
        for _ in range(_BLOCKS_CHECKED):
            timer.block(keeps_last=True)
            last = self._link.ask(ReadLast(number), LastReturned)
            if not 0 <= last.place < len(self._sets.sets):
                raise Tampered("what it answers the referee")
            self._verifier.check_again(self._sets.sets[last.place], self._link.outputs(last.tensors))

    def _refresh(self, inputs: InputSet) -> None:
        self._maker.refresh(inputs, self._job.workload.sizes)

    def _flags(self, candidate: Candidate) -> tuple[Flag, ...]:
        turn = candidate.turn
        flags: list[Flag] = []
        if turn.unstable_because:
            flags.append(Flag.UNSTABLE)
        cache_bytes = self._instruments.device.last_level_cache_bytes or 0
        if self._rotated_bytes(candidate) < CACHE_LAPS * cache_bytes and not turn.has_long_calls:
            flags.append(Flag.PARTLY_WARM)
        if turn.is_preempted or is_unjudged(candidate.timer.seen):
            flags.append(Flag.PREEMPTED)
        is_replayed = turn.timer.method is Method.CUDA_GRAPH
        count = (
            candidate.timer.set_count
            if is_replayed
            else pass_length(len(self._sets.sets), turn.interval.median)
        )
        passes = RemotePasses(self._link, candidate.number, self._sets, count, self._refresh)
        try:
            memory = find_memory(passes, _REPLAYED_REMEMBERED if is_replayed else REMEMBERED)
        except NeverCalm:
            return tuple({*flags, Flag.PREEMPTED})
        if memory and is_replayed:  # nothing else differs between two replays of one graph
            raise WrongResult(
                FailureKind.TAMPERED,
                f"remembers what it has worked on: a call takes {memory.fresh_s / count * 1e6:.4g} us on new "
                f"contents, and {memory.repeated_s / count * 1e6:.4g} us on the same ones again.",
            )
        return (*flags, Flag.REMEMBERS) if memory else tuple(flags)

    def _build_info(self, candidate: Candidate) -> BuildInfo:
        return self._link.ask(Info(candidate.number), Informed).build

    def _profile(self, candidate: Candidate) -> Profiled:
        turn = candidate.turn
        profile = Profile(candidate.number, turn.rest_s, behind_another=turn.needs_another)
        return self._link.ask(profile, Profiled)

    def _energy(self, candidate: Candidate) -> Energy | None:
        """Measured apart from timing, and only in exact runs, because it keeps the device busy for 2 s."""
        if self._job.quality is not Quality.EXACT or not self._on_gpu:
            return None
        return self._link.ask(MeasureEnergy(candidate.number), EnergyRead).energy

    def _memory(self, candidate: Candidate) -> MemoryUse | None:
        """Not known where a call replays a graph of its own: its pool was allocated before.

        Nor where this one call more fails, or what is said of it is impossible: it costs no result.
        """
        made = candidate.implementation
        if not self._on_gpu or (made.provider is Provider.COMPILE and made.variant in REPLAYING_MODES):
            return None
        try:
            said = self._link.ask(ReadMemory(candidate.number), MemoryRead).memory
        except CandidateFailed as error:
            if not error.is_sound or error.has_broken_capture:
                raise
            return None
        return plausible(said, self._instruments.device.memory_bytes)

    def _clock_elasticity(self, candidate: Candidate) -> ClockElasticity | str:
        """Only in exact runs, because it takes some 2 s; "" where it is not asked for."""
        if self._job.quality is not Quality.EXACT or candidate.timer.method is not Method.CUDA_GRAPH:
            return ""
        return fitted(self._link.ask(HeatedBlocks(candidate.number), ClockBlocks).blocks)

    def _host_s(self, candidate: Candidate) -> float:
        calls = min(max(round(_HOST_CALLS_S / candidate.turn.interval.median), 1), _MOST_HOST_CALLS)
        return self._link.ask(HostTime(candidate.number, calls), Seconds).values[0]

    def _single_calls(self, candidate: Candidate, host_s: float) -> tuple[float, ...]:
        turn = candidate.turn
        if turn.timer.method is not Method.CUDA_GRAPH:
            return ()
        if turn.timer.calls_per_block == 1:  # each block was one
            return tuple(turn.samples_s)
        # Slow calls get fewer samples, because more would take minutes; so do those of thousands of kernels,
        # of which the host captures each.
        call_s = max(turn.interval.median, host_s)
        count = min(max(round(_SINGLE_CALLS_S / call_s), 4), _MOST_SINGLE_CALLS)
        # A burst is no longer than a block, and there are no more than these samples need.
        wanted = min(count, _RESTED_CALLS)
        bursts = min(-(-wanted // turn.timer.calls_per_block), _BURSTS) if turn.rest_s else 1
        return self._link.ask(SingleCalls(candidate.number, count, bursts, turn.rest_s), Seconds).values
