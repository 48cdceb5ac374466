"""The board's power limit holds the clock below what the device may take.

Evidence: the driver's event reason while blocks were timed, and the clock read in band. Threshold: 3 %
below the highest clock (analysis/limiter.py has the same). Under a compute roof time is cycles over
clock, so the lost clock is lost time; where the elasticity was measured, that share of it.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.results.outcome import Flag

_BELOW = 0.97


class PowerCap(Advice, frozen=True, kw_only=True, tag="power cap"):
    clock_hz: float
    highest_hz: float
    limit_w: float | None


def power_cap(case: Case) -> PowerCap | None:
    highest_hz, clock_hz = case.highest_hz, case.measured.evidence.clock_hz
    if Flag.POWER_CAPPED not in case.verdict.flags or not clock_hz or not highest_hz:
        return None
    if clock_hz >= _BELOW * highest_hz:
        return None
    lost = 1 - clock_hz / highest_hz
    elasticity = case.measured.clock_elasticity
    follows = min(max(elasticity.value, 0.0), 1.0) if elasticity else None if case.under_memory else 1.0
    return PowerCap(
        clock_hz=clock_hz,
        highest_hz=highest_hz,
        limit_w=case.device.power_limit_w if case.device else None,
        saves_s=None if follows is None else follows * lost * case.time_s,
        is_at_most=True,
    )
