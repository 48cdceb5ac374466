"""The self-test in words and figures, for the terminal and the window."""

from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    flop_rate_text,
    percent_text,
    ratio_text,
    time_text,
)
from roofscope.profiling.results.proof import Proof, Unit


def figure_text(value: float | None, unit: Unit) -> str:
    """One figure with its unit: ``9.910 µs``, ``+0.32 %``, ``97``."""
    if value is None:
        return MISSING
    match unit:
        case Unit.SECONDS:
            return time_text(value)
        case Unit.BANDWIDTH:
            return bandwidth_text(value)
        case Unit.FLOP_RATE:
            return flop_rate_text(value)
        case Unit.FRACTION:
            return percent_text(value)
        case Unit.RATIO:
            return ratio_text(value)
        case Unit.COUNT:
            return f"{value:.0f}"


def finding_text(proof: Proof) -> str:
    """What was found, or why nothing was judged."""
    return proof.reason_skipped or proof.reason_inconclusive or proof.finding
