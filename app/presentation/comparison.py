"""A speed-up as text: the column's, the details' and the sentence about its origin."""

from roofscope.app.presentation.formatting import interval_text, range_text, ratio_text
from roofscope.profiling.analysis.comparison import SpeedUp

NOT_DISTINGUISHABLE = "not distinguishable"
_MUCH_SLOWER = 0.1  # from here on "261× slower" reads better than "0.00383×"


def speed_up_short_text(found: SpeedUp) -> str:
    """For a column: ``1.07× ± 1.9 %``."""
    if found.is_baseline:
        return "baseline"
    if not found.distinguishable:
        return NOT_DISTINGUISHABLE
    interval = interval_text(found.relative_half_width)  # of the ratio as of its inverse
    if found.ratio < _MUCH_SLOWER:
        return f"{ratio_text(1 / found.ratio)} slower {interval}"
    return f"{ratio_text(found.ratio)} {interval}"


def speed_up_text(found: SpeedUp) -> str:
    """For details: ``1.07×, 95 % CI 1.05 to 1.09``, and where the two runs were apart, that."""
    if found.is_baseline:
        return "this is the baseline"
    if found.ratio < _MUCH_SLOWER:
        text = f"{ratio_text(1 / found.ratio)} slower, 95 % CI {range_text(1 / found.high, 1 / found.low)}"
    else:
        text = f"{ratio_text(found.ratio)}, 95 % CI {range_text(found.low, found.high)}"
    if not found.distinguishable:
        text = f"{NOT_DISTINGUISHABLE} ({text})"
    return text if found.common_rounds else f"{text}, separate runs"


def speed_up_origin(found: SpeedUp) -> str:
    """The baseline and the way of comparing with it, as one sentence."""
    name = found.baseline.implementation.label
    if found.is_baseline:
        return f"Others of this workload are compared with {name}."
    if found.common_rounds:
        return f"Over {name}, by the ratios within {found.common_rounds} rounds timed in turn."
    return (
        f"Over {name}, from a separate run: clocks and temperature may have changed in between, "
        "which this interval does not hold."
    )
