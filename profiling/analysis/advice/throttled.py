"""Heat, a setting or nothing known held the clock down: the point says less of the code than of the device.

Evidence: what the driver said in more than a quarter of the blocks, or a clock a step below that of the
fresh device (analysis/verdict.py). The power cap has a rule of its own.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.devices.device import APPLICATION_CLOCK
from roofscope.profiling.results.outcome import Flag

_POWER = "power cap"


class Throttled(Advice, frozen=True, kw_only=True, tag="throttled"):
    held_by: tuple[str, ...]  # empty: nobody knows
    clock_hz: float | None
    fresh_hz: float | None
    is_setting: bool  # somebody asked for that clock


def throttled(case: Case) -> Throttled | None:
    evidence, flags = case.measured.evidence, case.verdict.flags
    held_by = tuple(reason for reason in evidence.held_by if reason != _POWER)
    if not held_by and Flag.CLOCK_SAGGED not in flags and Flag.HEAT_LIMITED not in flags:
        return None
    return Throttled(
        held_by=held_by,
        clock_hz=evidence.clock_hz,
        fresh_hz=evidence.fresh_hz,
        is_setting=APPLICATION_CLOCK in held_by,
    )
