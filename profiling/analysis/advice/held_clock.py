"""The clock is below what the device may take, and the driver did not say why.

Evidence: the clock read in band. The driver's reasons are sampled, and a call of milliseconds after a rest
may end before one is seen; the board's power is the usual one of a product on tensor cores, but nothing here
proves it. Thresholds: a tenth below the highest clock, and no farther than that from a compute roof, which is
lower by as much: farther away something else limits it.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.results.outcome import Flag

_BELOW = 0.9
_NEAR = 0.9
_EXPLAINED = frozenset((Flag.POWER_CAPPED, Flag.CLOCK_SAGGED, Flag.HEAT_LIMITED))  # by rules of their own


class HeldClock(Advice, frozen=True, kw_only=True, tag="held clock"):
    fraction: float  # of the roof as it was measured
    clock_hz: float
    highest_hz: float


def held_clock(case: Case) -> HeldClock | None:
    evidence, fraction = case.measured.evidence, case.verdict.fraction_of_roof
    highest_hz = case.highest_hz
    if case.under_memory or fraction is None or fraction < _NEAR or not highest_hz or not evidence.clock_hz:
        return None
    if evidence.held_by or _EXPLAINED & set(case.verdict.flags) or evidence.clock_hz >= _BELOW * highest_hz:
        return None
    return HeldClock(fraction=fraction, clock_hz=evidence.clock_hz, highest_hz=highest_hz)
