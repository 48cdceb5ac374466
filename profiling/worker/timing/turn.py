"""One implementation's part of the measurement: its timer, its blocks and their evidence."""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from roofscope.profiling.analysis.at_clock import AtClock, time_at_clock
from roofscope.profiling.analysis.statistics import PERSISTENT, Interval, median_of_known, unstable_because
from roofscope.profiling.analysis.stop_rules import Progress
from roofscope.profiling.devices.device import SLOWDOWNS, DeviceState
from roofscope.profiling.results.outcome import Discard, Evidence, Method
from roofscope.profiling.results.time_stats import LEAST_BLOCKS, TimeStats
from roofscope.profiling.worker.timing.block import LONG_CALL_S, BlockReading, BlockTimer

ReadState = Callable[[], DeviceState]

# What slows a few blocks is a fault of theirs, and they are discarded; what slows more than a quarter of them
# is the condition of the run, and they are kept. A power cap is always a condition: longer rests answer it.
_NO_CAUSE = ("idle",)  # reasons of a clock that nothing holds down
_GIVEN_UP = "measured before rests grew (power cap)"
PREEMPTED = "preempted by other work"
_MOST_PREEMPTED = 0.15  # of the slices: more is a condition of the run, which its reader must know


class Block(NamedTuple):
    """One timed block: what was read, and the state of the device meanwhile."""

    round: int
    reading: BlockReading
    state: DeviceState

    @property
    def faults(self) -> list[str]:
        return [fault for fault in SLOWDOWNS if fault in (self.state.event_reasons or ())]

    @property
    def is_held_up(self) -> bool:
        """Whether other work had a core in all of it."""
        return self.reading.preempted == 1.0

    @property
    def clock_hz(self) -> float | None:
        """In band where it was read, else as NVML sampled it."""
        return self.reading.clock_hz or self.state.clock_hz


@dataclass
class Turn:
    """One implementation's timer and the readings of its blocks.

    Before each block ``rest_s`` is slept, or for ``lead_in_s`` the same calls run, as the regime asks.
    """

    timer: BlockTimer
    rest_s: float = 0.0
    lead_in_s: float = 0.0
    fresh_hz: float | None = None  # the clock found with the rest that it chose
    held_hz: list[float] = field(default_factory=list)  # the clocks with rests that were too short
    given_up: Counter[str] = field(default_factory=Counter[str])  # blocks under rests too short, by cause
    blocks: list[Block] = field(default_factory=list[Block])
    spent_s: float = 0.0
    beside: "Turn | None" = None  # the only one that this one is compared with

    def take_block(self, number: int, read_state: ReadState) -> None:
        """Time one block of a round."""
        self.blocks.append(Block(number, *self._run(read_state)))

    def rest(self) -> None:
        time.sleep(self.rest_s)

    def begin_again(self, rest_s: float) -> None:
        """Discard the blocks so far as warm-up, and rest this long from now on."""
        for discard in (*self._faulty, Discard(_GIVEN_UP, len(self.kept))):
            self.given_up[discard.cause] += discard.blocks
        self.rest_s, self.spent_s = rest_s, 0.0
        self.blocks.clear()

    def warm_block(self, read_state: ReadState) -> BlockReading:
        """Run one block that is not kept."""
        reading, state = self._run(read_state)
        return BlockReading(reading.seconds, reading.clock_hz or state.clock_hz)

    def _run(self, read_state: ReadState) -> tuple[BlockReading, DeviceState]:
        started = time.perf_counter()
        self.rest()
        if self.lead_in_s:
            self.timer.keep_busy(self.lead_in_s)
        states: list[DeviceState] = []
        reading = self.timer.block(lambda: states.append(read_state()))
        # Rests count, because the user waits for them. At least the wall time counts, so that blocks much
        # shorter than planned do not go on for hours.
        self.spent_s += max(time.perf_counter() - started, reading.seconds * self.timer.calls_per_block)
        return reading, states[-1] if states else DeviceState()

    @property
    def kept(self) -> list[Block]:
        """The blocks that count: all but those with a rare fault, or that other work held up throughout.

        Where other work left no block alone, all count: a labelled condition, no fault. A few blocks that
        were left alone are nearer to the truth than many that were not.
        """
        rare = {discard.cause for discard in self._faulty}
        sound = [block for block in self.blocks if not rare.intersection(block.faults)]
        return [block for block in sound if not block.is_held_up] or sound

    @property
    def _held_up(self) -> int:
        """Blocks that are left out because other work held them up throughout."""
        held_up = sum(block.is_held_up for block in self.blocks)
        return 0 if held_up == len(self.blocks) else held_up

    @property
    def is_preempted(self) -> bool:
        """Whether other work had a core so often that the reader must know."""
        return self._preempted > _MOST_PREEMPTED

    @property
    def _preempted(self) -> float:
        shares = [block.reading.preempted for block in self.blocks]
        return sum(shares) / len(shares) if shares else 0.0

    @property
    def _faulty(self) -> tuple[Discard, ...]:
        """The blocks that are discarded, each for the first of its rare faults."""
        share = Counter(fault for block in self.blocks for fault in block.faults)
        rare = {fault for fault, count in share.items() if count <= PERSISTENT * len(self.blocks)}
        causes = (next((fault for fault in block.faults if fault in rare), None) for block in self.blocks)
        found = Counter(cause for cause in causes if cause)
        return tuple(Discard(cause, blocks) for cause, blocks in sorted(found.items()))

    @property
    def samples_s(self) -> list[float]:
        return [block.reading.seconds for block in self.kept]

    @property
    def rounds(self) -> list[int]:
        """The round of each block that counts."""
        return [block.round for block in self.kept]

    @property
    def clocks_hz(self) -> list[float]:
        return [block.clock_hz for block in self.kept if block.clock_hz]

    @property
    def held_by(self) -> tuple[str, ...]:
        """What held the clock down in more than a quarter of the blocks."""
        kept = self.kept
        share = Counter(
            reason for block in kept for reason in block.state.event_reasons or () if reason not in _NO_CAUSE
        )
        return tuple(sorted(reason for reason, count in share.items() if count > PERSISTENT * len(kept)))

    @property
    def at_clock(self) -> AtClock:
        """The time at the fresh clock; at the clock held where that has a cause with a name."""
        kept = self.kept
        fresh_hz = None if self.held_by else self.fresh_hz
        return time_at_clock(
            [block.reading.seconds for block in kept], [block.reading.clock_hz for block in kept], fresh_hz
        )

    @property
    def clock_hz(self) -> float | None:
        """The clock that the time is given at; NVML's where none was read in band."""
        return self.at_clock.clock_hz or median_of_known(self.clocks_hz)

    @property
    def has_long_calls(self) -> bool:
        """Whether a call alone is a block, and a long one."""
        return self.timer.calls_per_block == 1 and self.interval.median > LONG_CALL_S

    @property
    def needs_another(self) -> bool:
        """Whether the clock of a block is that of a round only behind another block."""
        return not (self.rest_s or self.has_long_calls)

    @property
    def interval(self) -> Interval:
        return self.at_clock.to_fresh

    @property
    def stats(self) -> TimeStats:
        kept, found = self.kept, self.at_clock
        is_known = len(kept) >= LEAST_BLOCKS
        clocks_hz = [block.reading.clock_hz for block in kept]
        return TimeStats(
            found.to_fresh.median,
            found.to_fresh.low if is_known else None,
            found.to_fresh.high if is_known else None,
            tuple(block.reading.seconds for block in kept),
            self.timer.calls_per_block,
            tuple(block.round for block in kept),
            tuple(hz for hz in clocks_hz if hz) if all(clocks_hz) else (),
            found.clock_hz,
        )

    @property
    def progress(self) -> Progress:
        """Without what a clock that sagged adds: no further block makes that narrower.

        Where other work held up every block so far, nothing is known yet.
        """
        if self.blocks and all(block.is_held_up for block in self.blocks):
            return Progress(math.inf, 0, self.spent_s)
        return Progress(self.at_clock.interval.relative_half_width, len(self.kept), self.spent_s)

    @property
    def discards(self) -> tuple[Discard, ...]:
        faults = Counter({discard.cause: discard.blocks for discard in self._faulty})
        faults.update({cause: blocks for cause, blocks in self.given_up.items() if cause != _GIVEN_UP})
        if self._held_up:
            faults[PREEMPTED] += self._held_up
        found = [Discard(cause, blocks) for cause, blocks in sorted(faults.items())]
        if self.given_up[_GIVEN_UP]:
            found.append(Discard(_GIVEN_UP, self.given_up[_GIVEN_UP], is_fault=False))
        return tuple(found)

    @property
    def evidence(self) -> Evidence:
        states = [block.state for block in self.kept]
        told = [state.event_reasons for state in states if state.event_reasons is not None]
        clocks_hz = self.clocks_hz
        return Evidence(
            clock_hz=median_of_known(clocks_hz),
            clock_low_hz=min(clocks_hz, default=None),
            clock_high_hz=max(clocks_hz, default=None),
            memory_clock_hz=median_of_known([state.memory_clock_hz for state in states]),
            power_w=median_of_known([state.power_w for state in states]),
            temperature_c=median_of_known([state.temperature_c for state in states]),
            event_reasons=tuple(sorted({reason for reasons in told for reason in reasons})) if told else None,
            held_by=self.held_by,
            fresh_hz=self.fresh_hz,
            preempted=self._preempted if self.timer.method is Method.WALL_CLOCK else None,
        )

    @property
    def unstable_because(self) -> str | None:
        discarded = sum(discard.blocks for discard in self._faulty)
        return unstable_because(self.interval, len(self.kept), discarded, self.held_by)
