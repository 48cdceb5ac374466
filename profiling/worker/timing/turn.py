"""One implementation's part of the measurement: its timer, its blocks and their evidence."""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from roofscope.profiling.analysis.statistics import (
    Interval,
    Progress,
    median_interval,
    median_of_known,
    unstable_because,
)
from roofscope.profiling.devices.device import DeviceState
from roofscope.profiling.results.outcome import Discard, Evidence, Method, TimeStats
from roofscope.profiling.worker.timing.blocks import BlockReading, BlockTimer

# Faults of the device. A power cap is a condition of the run: it is labelled, and longer rests answer it.
_FAULTS = ("thermal slowdown (software)", "thermal slowdown (hardware)", "hardware slowdown", "power brake")
_GIVEN_UP = "measured before rests grew (power cap)"
PREEMPTED = "preempted by other work"
_MOST_PREEMPTED = 0.25  # of the slices: more is a condition of the run, which its reader must know

ReadState = Callable[[], DeviceState]


@dataclass
class Turn:
    """One implementation's timer and the readings of its blocks. ``rest_s`` is slept before each block."""

    timer: BlockTimer
    rest_s: float = 0.0
    fresh_hz: float | None = None  # the clock found with the rest that it chose
    held_hz: list[float] = field(default_factory=list)  # the clocks with rests that were too short
    given_up: int = 0  # blocks under rests that were too short
    samples_s: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    clocks_hz: list[float] = field(default_factory=list)
    states: list[DeviceState] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter[str])
    preempted: list[tuple[int, float]] = field(default_factory=list)  # rounds and seconds of such blocks
    preempted_shares: list[float] = field(default_factory=list)  # of the slices of every block
    spent_s: float = 0.0

    def take_block(self, number: int, read_state: ReadState) -> None:
        """Time one block; keep it, or discard it for a named cause."""
        reading, state = self._run(read_state)
        cause = next((fault for fault in _FAULTS if fault in state.event_reasons), None)
        self.preempted_shares.append(reading.preempted)
        if cause is None and reading.preempted == 1.0:
            cause = PREEMPTED
            self.preempted.append((number, reading.seconds))
        if cause:
            self.causes[cause] += 1
            return
        self.samples_s.append(reading.seconds)
        self.rounds.append(number)
        self.states.append(state)
        if clock_hz := reading.clock_hz or state.clock_hz:
            self.clocks_hz.append(clock_hz)

    def keep_preempted(self) -> None:
        """Where other work left no block alone, keep what there is: a labelled condition, no fault.

        Call it once all blocks are taken. A few blocks that were left alone are nearer to the truth than many
        that were not, so these are then left out.
        """
        if self.samples_s or not self.preempted:
            return
        self.rounds = [number for number, _ in self.preempted]
        self.samples_s = [seconds for _, seconds in self.preempted]
        del self.causes[PREEMPTED]
        self.preempted.clear()

    @property
    def is_preempted(self) -> bool:
        """Whether other work had a core so often that the reader must know."""
        return self._preempted > _MOST_PREEMPTED

    @property
    def _preempted(self) -> float:
        return statistics.fmean(self.preempted_shares) if self.preempted_shares else 0.0

    def rest(self) -> None:
        time.sleep(self.rest_s)

    def begin_again(self, rest_s: float) -> None:
        """Discard the blocks so far as warm-up, and rest this long from now on."""
        self.given_up += len(self.samples_s)
        self.rest_s, self.spent_s = rest_s, 0.0
        for kept in (self.samples_s, self.rounds, self.clocks_hz, self.states, self.preempted):
            kept.clear()

    def warm_block(self, read_state: ReadState) -> BlockReading:
        """Run one block that is not kept."""
        reading, state = self._run(read_state)
        return BlockReading(reading.seconds, reading.clock_hz or state.clock_hz)

    def _run(self, read_state: ReadState) -> tuple[BlockReading, DeviceState]:
        started = time.perf_counter()
        self.rest()
        reading = self.timer.block()
        # Rests count, because the user waits for them. At least the wall time counts, so that blocks much
        # shorter than planned do not go on for hours.
        self.spent_s += max(time.perf_counter() - started, reading.seconds * self.timer.calls_per_block)
        state = read_state()
        return reading, state

    @property
    def interval(self) -> Interval:
        return median_interval(self.samples_s)

    @property
    def stats(self) -> TimeStats:
        interval = self.interval
        return TimeStats(
            interval.median,
            interval.low,
            interval.high,
            tuple(self.samples_s),
            self.timer.calls_per_block,
            tuple(self.rounds),
        )

    @property
    def progress(self) -> Progress:
        return Progress(self.interval.relative_half_width, len(self.samples_s), self.spent_s)

    @property
    def discards(self) -> tuple[Discard, ...]:
        faults = tuple(Discard(cause, blocks) for cause, blocks in sorted(self.causes.items()))
        given_up = Discard(_GIVEN_UP, self.given_up, is_fault=False)
        return (*faults, given_up) if self.given_up else faults

    @property
    def evidence(self) -> Evidence:
        return Evidence(
            clock_hz=median_of_known(self.clocks_hz),
            clock_low_hz=min(self.clocks_hz, default=None),
            clock_high_hz=max(self.clocks_hz, default=None),
            memory_clock_hz=median_of_known([state.memory_clock_hz for state in self.states]),
            power_w=median_of_known([state.power_w for state in self.states]),
            temperature_c=median_of_known([state.temperature_c for state in self.states]),
            event_reasons=tuple(sorted({reason for state in self.states for reason in state.event_reasons})),
            preempted=self._preempted if self.timer.method is Method.WALL_CLOCK else None,
        )

    @property
    def unstable_because(self) -> str | None:
        kept = len(self.samples_s) + self.given_up
        return unstable_because(self.interval, kept, sum(self.causes.values()))
