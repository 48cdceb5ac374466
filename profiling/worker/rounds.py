"""Which block next: implementations take turns, round by round, in random order."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from profiling.devices import DeviceState
from profiling.outcome import Evidence, TimeStats
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


@dataclass
class Turn:
    """One implementation's timer and what its blocks gave."""

    timer: BlockTimer
    samples_s: list[float] = field(default_factory=list)
    states: list[DeviceState] = field(default_factory=list)

    @property
    def stats(self) -> TimeStats:
        interval = self.interval
        return TimeStats(
            interval.median, interval.low, interval.high, tuple(self.samples_s), self.timer.calls_per_block
        )

    @property
    def interval(self) -> Interval:
        return median_interval(self.samples_s)

    @property
    def evidence(self) -> Evidence:
        reasons = sorted({reason for state in self.states for reason in state.event_reasons})
        return Evidence(
            clock_hz=_median([state.clock_hz for state in self.states]),
            memory_clock_hz=_median([state.memory_clock_hz for state in self.states]),
            power_w=_median([state.power_w for state in self.states]),
            temperature_c=_median([state.temperature_c for state in self.states]),
            event_reasons=tuple(reasons),
        )


def warm_up(turns: Sequence[Turn], regime: Regime, read_state: Callable[[], DeviceState]) -> None:
    """Run blocks, unrecorded, until the clock is steady."""
    started = time.monotonic()
    clock_hz: float | None = None
    while (elapsed := time.monotonic() - started) < _MOST_WARM_UP_S[regime]:
        for turn in turns:
            turn.timer.block()
        before, clock_hz = clock_hz, read_state().clock_hz
        steady = clock_hz is None or (before is not None and abs(clock_hz - before) <= _STEADY * before)
        if elapsed >= _WARM_UP_S[regime] and steady:
            return


def measure(
    turns: Sequence[Turn],
    rule: StopRule,
    read_state: Callable[[], DeviceState],
    between_rounds: Callable[[], None],
) -> None:
    """Add rounds of blocks to the turns until the stop rule is met or the cap is reached.

    Random order within a round: a fixed one would read the same neighbour's heat every time.
    """
    order = list(turns)
    spent_s = 0.0
    rounds = 0
    while True:
        between_rounds()
        random.shuffle(order)
        started = time.monotonic()
        for turn in order:
            turn.samples_s.append(turn.timer.block())
            turn.states.append(read_state())
        spent_s += time.monotonic() - started
        rounds += 1
        if rounds >= _LEAST_ROUNDS and spent_s > rule.cap_s * len(turns):
            return
        if rule.is_met(rounds, [turn.interval for turn in turns]):
            return


def _median(values: Sequence[float | None]) -> float | None:
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if known else None
