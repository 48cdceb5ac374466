"""A speed-up as text: the column's, the details' and the sentence about its origin."""

from roofscope.app.presentation.formatting import interval_text, percent_text, range_text, ratio_text
from roofscope.profiling.analysis.between_runs import USUAL
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.results.outcome import Method

NOT_DISTINGUISHABLE = "not distinguishable"
ACROSS_METHODS = "†"
ACROSS_METHODS_NOTE = f"{ACROSS_METHODS}: the two were timed by different methods."
MUCH_SLOWER = 0.1  # from here on "261× slower" reads better than "0.00383×"


def speed_up_short_text(found: SpeedUp) -> str:
    """For a column: ``1.07× ± 1.9 %``, ``12.3 to 132× slower`` where the interval is too wide for a figure.

    With a dagger where the two were timed by different methods.
    """
    if found.is_baseline:
        return "baseline"
    mark = f" {ACROSS_METHODS}" if found.methods else ""
    if found.is_known and not found.distinguishable:
        return f"{NOT_DISTINGUISHABLE}{mark}"
    if found.is_known and found.is_wide:
        return f"{_wide_text(found)}{mark}"
    # Of the ratio as of its inverse.
    interval = interval_text(found.relative_half_width) if found.is_known else "± not known"
    return f"{_factor_text(found)} {interval}{mark}"


def speed_up_text(found: SpeedUp) -> str:
    """For details: ``1.07×, 95 % CI 1.05 to 1.09``, and where the two runs were apart, that."""
    if found.is_baseline:
        return "this is the baseline"
    if not found.is_known:
        text = f"{_factor_text(found)}, its interval not known: too few blocks"
    elif found.ratio < MUCH_SLOWER:
        text = f"{_factor_text(found)}, 95 % CI {range_text(1 / found.high, 1 / found.low)}"
    else:
        text = f"{_factor_text(found)}, 95 % CI {range_text(found.low, found.high)}"
    if found.is_known and not found.distinguishable:
        text = f"{NOT_DISTINGUISHABLE} ({text})"
    if found.methods:
        text = f"{text}, by different methods"
    return text if found.common_rounds or not found.is_known else f"{text}, separate runs"


def _wide_text(found: SpeedUp) -> str:
    if found.ratio < MUCH_SLOWER:
        return f"{range_text(1 / found.high, 1 / found.low)}× slower"
    return f"{range_text(found.low, found.high)}×"


def _factor_text(found: SpeedUp) -> str:
    if found.ratio < MUCH_SLOWER:
        return f"{ratio_text(1 / found.ratio)} slower"
    return ratio_text(found.ratio)


def speed_up_origin(found: SpeedUp) -> str:
    """The baseline and the way of comparing with it, as one sentence."""
    name = found.baseline.implementation.label
    if found.is_baseline:
        return f"Others of this workload are compared with {name}."
    if found.common_rounds:
        text = f"Over {name}, by the ratios within {found.common_rounds} rounds timed in turn."
    else:
        text = (
            f"Over {name}, from a separate run: clocks and temperature may have changed in between, "
            f"for which this interval holds {percent_text(USUAL)}."
        )
    if found.comparisons > 1:
        text = f"{text} {found.comparisons} comparisons hold 95 % together."
    return f"{text} {across_methods_text(found)}".rstrip()


def across_methods_text(found: SpeedUp) -> str:
    """Why the ratio compares what is not the same; "" where both were timed alike."""
    if found.methods is None:
        return ""
    baseline, mine = found.methods
    inside = " The one by events has the host's time inside." if Method.EVENTS in found.methods else ""
    return f"Timed by different methods: the baseline by {baseline}, this one by {mine}.{inside}"
