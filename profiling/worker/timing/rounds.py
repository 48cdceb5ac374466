"""Which block next: implementations take turns, round by round, in random order."""

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from roofscope.profiling.analysis.statistics import (
    EXACT_STOP,
    EXACT_WARM_UP,
    QUICK_STOP,
    QUICK_WARM_UP,
    Interval,
    Progress,
    StopRule,
    WarmUpRule,
    median_interval,
    unstable_because,
)
from roofscope.profiling.devices.device import DeviceState
from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.results.outcome import Discard, Evidence, TimeStats
from roofscope.profiling.worker.timing.blocks import BlockReading, BlockTimer

STOP_RULES = {Quality.QUICK: QUICK_STOP, Quality.EXACT: EXACT_STOP}
_MOST_ROUNDS = 2000
_LEAST_BLOCKS = 3  # for calls so long that the cap would stop earlier
_LONG_BLOCK_S = 0.2  # warms the device up in one go
# Faults of the device, not conditions of the run: a power cap is labelled, and answered by longer rests.
_FAULTS = ("thermal slowdown (software)", "thermal slowdown (hardware)", "hardware slowdown", "power brake")
_FULL_CLOCK = 0.985  # of the highest clock: clocks come in steps of nearly 1 %
_AS_HIGH = 0.99
_RESTS_S = (0.0, 0.005, 0.02, 0.08)
_REST_TRIALS = 4
_LONG_REST_TRIALS = 3  # each a rest of 80 ms
_SAG = 0.975  # of the clock that a turn found when it looked for its rest
_HIGHER = 1.01
_POWER_CAP = "power cap"
_STEPS_IN_VAIN = 2
_GIVEN_UP = "measured before rests grew (power cap)"

ReadState = Callable[[], DeviceState]


@dataclass
class Turn:
    """One implementation's timer and what its blocks gave. ``rest_s`` is slept before each block."""

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
    spent_s: float = 0.0

    def take_block(self, number: int, read_state: ReadState) -> None:
        """Time one block; keep it, or discard it for a named cause."""
        reading, state = self._run(read_state)
        cause = next((fault for fault in _FAULTS if fault in state.event_reasons), None)
        if cause:
            self.causes[cause] += 1
            return
        self.samples_s.append(reading.seconds)
        self.rounds.append(number)
        self.states.append(state)
        if clock_hz := reading.clock_hz or state.clock_hz:
            self.clocks_hz.append(clock_hz)

    def find_rest(self, full_clock_hz: float, read_state: ReadState, least_s: float = 0.0) -> None:
        """The shortest rest from ``least_s`` on after which blocks find the highest clock they can.

        A burst is what the device does at the clock it holds when fresh. Large matrix products reach
        the power cap within a few blocks and lose 15 % of the clock; how much depends on who ran
        before. Some kernels hold a lower clock however rested the device is: those need none.
        """
        self.rest_s = least_s
        longer_s = [rest_s for rest_s in _RESTS_S if rest_s > least_s]
        if not longer_s:
            return
        self.fresh_hz = clock_hz = self._clock_after_rests(_REST_TRIALS, read_state)
        if clock_hz is None or clock_hz >= _FULL_CLOCK * full_clock_hz:
            return
        # The longest next: most that hold a low clock hold it then, too, and the steps between need no look.
        *between_s, longest_s = longer_s
        self.rest_s = longest_s
        self.fresh_hz = max(clock_hz, self._clock_after_rests(_LONG_REST_TRIALS, read_state) or 0.0)
        wanted_hz = _AS_HIGH * self.fresh_hz
        if clock_hz >= wanted_hz:
            self.rest_s = least_s
            return
        for self.rest_s in between_s:
            if (self._clock_after_rests(_REST_TRIALS, read_state) or 0.0) >= wanted_hz:
                return
        self.rest_s = longest_s

    def _clock_after_rests(self, trials: int, read_state: ReadState) -> float | None:
        """The clock of the last two of some blocks, each after a rest; of the first, if that is long."""
        readings = [self.warm_block(read_state)]
        if readings[0].seconds * self.timer.calls_per_block < _LONG_BLOCK_S:
            readings += [self.warm_block(read_state) for _ in range(trials - 1)]
        return _median([reading.clock_hz for reading in readings[-2:]])

    def rest(self) -> None:
        time.sleep(self.rest_s)

    @property
    def has_sagged(self) -> bool:
        """Whether the power cap holds the clock lower than it was found, and longer rests may help.

        The latest blocks tell: it comes half a second into the load. No rest helps a clock that two longer
        ones did not raise; the first may have been compared with a clock that was still falling.
        """
        latest_hz = self._latest_hz
        if latest_hz is None or self.fresh_hz is None:
            return False
        is_capped = any(_POWER_CAP in state.event_reasons for state in self.states)
        is_in_vain = len(self.held_hz) >= _STEPS_IN_VAIN and latest_hz <= _HIGHER * min(self.held_hz)
        return is_capped and latest_hz < _SAG * self.fresh_hz and not is_in_vain

    @property
    def _latest_hz(self) -> float | None:
        return _median(self.clocks_hz[-max(len(self.clocks_hz) // 3, 3) :])

    def begin_again(self, rest_s: float) -> None:
        """Give the blocks so far up, as those of a warm-up, and rest so long from now on."""
        if self.has_sagged and self._latest_hz is not None:
            self.held_hz.append(self._latest_hz)
        self.given_up += len(self.samples_s)
        self.rest_s, self.spent_s = rest_s, 0.0
        for kept in (self.samples_s, self.rounds, self.clocks_hz, self.states):
            kept.clear()

    def warm_block(self, read_state: ReadState) -> BlockReading:
        """Run one block that is not kept."""
        reading, state = self._run(read_state)
        return BlockReading(reading.seconds, reading.clock_hz or state.clock_hz)

    def _run(self, read_state: ReadState) -> tuple[BlockReading, DeviceState]:
        started = time.perf_counter()
        self.rest()
        reading = self.timer.block()
        # Rests count, for they are waited for; and never less than the wall time: a block much shorter than
        # planned must not go on for hours.
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
            clock_hz=_median(self.clocks_hz),
            clock_low_hz=min(self.clocks_hz, default=None),
            clock_high_hz=max(self.clocks_hz, default=None),
            memory_clock_hz=_median([state.memory_clock_hz for state in self.states]),
            power_w=_median([state.power_w for state in self.states]),
            temperature_c=_median([state.temperature_c for state in self.states]),
            event_reasons=tuple(sorted({reason for state in self.states for reason in state.event_reasons})),
        )

    @property
    def unstable_because(self) -> str | None:
        kept = len(self.samples_s) + self.given_up
        return unstable_because(self.interval, kept, sum(self.causes.values()))


def warm_up_rule(quality: Quality, regime: Regime) -> WarmUpRule:
    """When the device is warm: steady, and for the sustained regime after 3 s of work at least."""
    if regime is Regime.SUSTAINED:
        return WarmUpRule(least_s=3.0, most_s=6.0)
    return QUICK_WARM_UP if quality is Quality.QUICK else EXACT_WARM_UP


def warm_up(
    turns: Sequence[Turn], rule: WarmUpRule, read_state: ReadState, full_clock_hz: float | None = None
) -> None:
    """Run blocks in turn, unrecorded, until neither block times nor clocks drift.

    With ``full_clock_hz``, the burst regime: each implementation first finds the rest it needs, and all
    take the longest of these. One that rests less runs hotter than its rivals, and heats them, too.
    """
    if full_clock_hz is not None:
        longest_s = 0.0
        for turn in turns:
            turn.find_rest(full_clock_hz, read_state, longest_s)
            longest_s = turn.rest_s
        for turn in turns:
            turn.rest_s = longest_s
    blocks_s: list[list[float]] = [[] for _ in turns]
    clocks_hz: list[float] = []
    long_enough = [False] * len(turns)
    started = time.monotonic()
    while (elapsed := time.monotonic() - started) < rule.most_s and not rule.is_met(
        elapsed, blocks_s, clocks_hz
    ):
        if all(long_enough) and elapsed >= rule.least_s:
            break
        for index, turn in enumerate(turns):
            if long_enough[index] and not all(long_enough):
                continue
            reading = turn.warm_block(read_state)
            blocks_s[index].append(reading.seconds)
            long_enough[index] = reading.seconds * turn.timer.calls_per_block > _LONG_BLOCK_S
            if index == 0 and reading.clock_hz:
                clocks_hz.append(reading.clock_hz)
    for turn in turns:
        turn.spent_s = 0.0


def measure(
    turns: Sequence[Turn],
    rule: StopRule,
    read_state: ReadState,
    between_rounds: Callable[[], None],
    *,
    before_longer_rests: Callable[[], None] | None = None,
) -> None:
    """Add rounds of blocks to the turns until the stop rule is met, or each has spent its cap.

    With ``before_longer_rests``, the burst regime, all rest longer and begin again, after that call, where
    the power cap has pulled a clock down: it comes half a second into the load, in the warm-up or after.
    Random order within a round: a fixed one would read the same neighbour's heat every time.
    Blocks all discarded at the cap: one is taken anyway, never an empty result.
    """
    number = 0
    while number < _MOST_ROUNDS and (
        active := [turn for turn in turns if turn.spent_s < rule.cap_s or number < _LEAST_BLOCKS]
    ):
        between_rounds()
        random.shuffle(active)
        for turn in active:
            turn.take_block(number, read_state)
        number += 1
        if not rule.is_checkpoint(number) or not all(turn.samples_s for turn in active):
            continue
        if before_longer_rests and _rest_longer(turns):
            before_longer_rests()
            number = 0
        elif rule.is_met([turn.progress for turn in active]):
            break
    for turn in turns:
        if not turn.samples_s:
            turn.samples_s.append(turn.timer.block().seconds)
            turn.rounds.append(number)


def _rest_longer(turns: Sequence[Turn]) -> bool:
    """One step more for all, where the clock of one has sagged and there is one; whether so."""
    longer_s = next((rest_s for rest_s in _RESTS_S if rest_s > turns[0].rest_s), None)
    if longer_s is None or not any(turn.has_sagged for turn in turns):
        return False
    for turn in turns:
        turn.begin_again(longer_s)
    return True


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
