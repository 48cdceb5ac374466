"""Which block next: implementations take turns, round by round, in random order."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from profiling.devices import DeviceState
from profiling.outcome import Discard, Evidence, TimeStats
from profiling.plan import Quality, Regime
from profiling.statistics import Interval, StopRule, median_interval
from profiling.worker.timing import BlockTimer

STOP_RULES = {
    Quality.QUICK: StopRule(half_width=0.01, cap_s=2.0),
    Quality.EXACT: StopRule(half_width=0.0025, cap_s=10.0),
}
_WARM_UP_S = {Regime.BURST: 0.2, Regime.SUSTAINED: 3.0}
_MOST_WARM_UP_S = {Regime.BURST: 1.0, Regime.SUSTAINED: 6.0}
_STEADY = 0.01  # relative change of the clock between two warm-up rounds
_LEAST_ROUNDS = 3  # for calls so long that the cap would stop earlier
# Faults of the device, not conditions of the run: a power cap is labelled, never discarded.
_FAULTS = ("thermal slowdown (software)", "thermal slowdown (hardware)", "hardware slowdown", "power brake")

ReadState = Callable[[], DeviceState]


@dataclass
class Turn:
    """One implementation's timer and what its blocks gave."""

    timer: BlockTimer
    samples_s: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    clocks_hz: list[float] = field(default_factory=list)
    states: list[DeviceState] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)

    def take_block(self, number: int, read_state: ReadState) -> None:
        """Time one block; keep it, or discard it for a named cause."""
        reading = self.timer.block()
        state = read_state()
        cause = next((fault for fault in _FAULTS if fault in state.event_reasons), None)
        if cause:
            self.causes[cause] += 1
            return
        self.samples_s.append(reading.seconds)
        self.rounds.append(number)
        self.states.append(state)
        if clock_hz := reading.clock_hz or state.clock_hz:
            self.clocks_hz.append(clock_hz)

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
    def discards(self) -> tuple[Discard, ...]:
        return tuple(Discard(cause, blocks) for cause, blocks in sorted(self.causes.items()))

    @property
    def evidence(self) -> Evidence:
        return Evidence(
            clock_hz=_median(self.clocks_hz),
            clock_low_hz=min(self.clocks_hz, default=None),
            clock_high_hz=max(self.clocks_hz, default=None),
            memory_clock_hz=_median([state.memory_clock_hz for state in self.states]),
            power_w=_median([state.power_w for state in self.states]),
            temperature_c=_median([state.temperature_c for state in self.states]),
            event_reasons=tuple(sorted({reason for state in self.states for reason in state.event_reasons})),
        )


def warm_up(turns: Sequence[Turn], regime: Regime, read_state: ReadState) -> None:
    """Run blocks, unrecorded, until the clock is steady."""
    started = time.monotonic()
    clock_hz: float | None = None
    while (elapsed := time.monotonic() - started) < _MOST_WARM_UP_S[regime]:
        readings = [turn.timer.block() for turn in turns]
        before, clock_hz = clock_hz, readings[-1].clock_hz or read_state().clock_hz
        steady = clock_hz is None or (before is not None and abs(clock_hz - before) <= _STEADY * before)
        if elapsed >= _WARM_UP_S[regime] and steady:
            return


def measure(
    turns: Sequence[Turn], rule: StopRule, read_state: ReadState, between_rounds: Callable[[], None]
) -> None:
    """Add rounds of blocks to the turns until the stop rule is met or the cap is reached.

    Random order within a round: a fixed one would read the same neighbour's heat every time.
    Blocks all discarded at the cap are taken anyway: never an empty result.
    """
    order = list(turns)
    spent_s = 0.0
    number = 0
    while True:
        between_rounds()
        random.shuffle(order)
        started = time.monotonic()
        for turn in order:
            turn.take_block(number, read_state)
        spent_s += time.monotonic() - started
        number += 1
        if number >= _LEAST_ROUNDS and spent_s > rule.cap_s * len(turns):
            break
        if all(turn.samples_s for turn in turns) and rule.is_met(number, [turn.interval for turn in turns]):
            break
    for turn in turns:
        if not turn.samples_s:
            turn.samples_s.append(turn.timer.block().seconds)
            turn.rounds.append(number)


def _median(values: Sequence[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if known else None
