"""Judges the proof of the causal limiter: kernels of known mix, and how their time follows the clock."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from roofscope.profiling.analysis.causal import ClockBlock, clock_elasticity
from roofscope.profiling.analysis.selftest_limits import LIMITS, MIX_WITHIN, PURE_WITHIN, skipped
from roofscope.profiling.results.outcome import ClockElasticity
from roofscope.profiling.results.proof import Column, Proof, ProofName, Row, Unit

_COLUMNS = (
    Column("elasticity", Unit.RATIO),
    Column("low", Unit.RATIO),
    Column("high", Unit.RATIO),
    Column("planted", Unit.RATIO),
)


class Planted(Struct, frozen=True):
    """A call of known mix: so many cycles of the SM clock, then so many seconds; and its blocks."""

    label: str
    cycles: float
    wait_s: float
    blocks: tuple[ClockBlock, ...]

    @property
    def is_pure(self) -> bool:
        return not (self.cycles and self.wait_s)

    @property
    def within(self) -> float:
        return PURE_WITHIN if self.is_pure else MIX_WITHIN

    @property
    def known(self) -> float:
        """What the same fit finds in the times that the mix has at the clocks of its blocks.

        The share of the cycles depends on the clock, so no one share is the truth of a mix.
        """
        if self.is_pure:
            return 1.0 if self.cycles else 0.0
        ideal = [
            ClockBlock(block.cycle, block.clock_hz, self.cycles / block.clock_hz + self.wait_s)
            for block in self.blocks
        ]
        found = clock_elasticity(ideal)
        assert isinstance(found, ClockElasticity)
        return found.value


def judge_causal(calls: Sequence[Planted]) -> Proof:
    """Calls in rising order of what the clock has to say. Skipped where the clock did not move for one."""
    name = ProofName.CAUSAL_LIMITER
    rows: list[Row] = []
    values: list[float] = []
    for call in calls:
        found = clock_elasticity(call.blocks)
        if isinstance(found, str):
            return skipped(name, f"{call.label.capitalize()}: {found}")
        values.append(found.value)
        known = call.known
        clocks = f"{found.clock_low_hz / 1e6:.0f} to {found.clock_high_hz / 1e6:.0f} MHz"
        rows.append(
            Row(
                call.label,
                (found.value, found.low, found.high, known),
                abs(found.value - known) <= call.within,
                f"{found.blocks} blocks at {clocks}",
            )
        )
    in_order = all(one < other for one, other in pairwise(values))
    finding = "; ".join(f"{call.label} {value:.3f}" for call, value in zip(calls, values, strict=True))
    finding += "" if in_order else "; not in the order planted"
    passed = bool(rows) and in_order and all(row.passed for row in rows)
    return Proof(name, passed, f"{finding[:1].upper()}{finding[1:]}.", LIMITS[name], _COLUMNS, tuple(rows))
