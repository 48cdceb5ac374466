"""The judgement of a point as one sentence, for the details pane, the hover card and reports."""

from roofscope.app.presentation.examined import examined_sentence
from roofscope.app.presentation.formatting import (
    bandwidth_text,
    flop_rate_text,
    percent_text,
    ratio_text,
    rest_text,
    time_short_text,
)
from roofscope.app.presentation.limiter_text import evidence_text, limiter_title
from roofscope.profiling.analysis.verdict import CEILING_UNCERTAINTY, Verdict, VerdictKind
from roofscope.profiling.results.outcome import Cancelled, Examined, Failed, Flag, Skipped
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.roofline import Ceiling

WARNING_FLAGS = frozenset(
    (
        *(Flag.ABOVE_ROOF, Flag.UNSTABLE, Flag.PROFILER_DISAGREES, Flag.REMEMBERS),
        *(Flag.CLOCK_SAGGED, Flag.HOST_TIME_INSIDE, Flag.PREEMPTED, Flag.SHARED_GPU),
    )
)


def verdict_sentence(point: Point, verdict: Verdict) -> str:
    """Judge in words: ``Memory-bound: 91 % of the DRAM copy ceiling; the 9 % left is worth 12 µs``."""
    match point.outcome:
        case Skipped(message=message):
            return f"Not run: {ended(message)}"
        case Failed(kind=kind, message=message):
            return f"Failed ({kind}): {ended(message)}"
        case Examined() as examined:
            return examined_sentence(examined, point.job.workload)
        case Cancelled(message=message):
            return f"Cancelled: {ended(message)}"
        case _:
            return _measured_sentence(verdict)


def share_text(verdict: Verdict) -> str:
    """``89 %`` of a measured ceiling, ``89 % of nameplate``: a promise is harder to reach than a reading."""
    share = percent_text(verdict.fraction_of_roof)
    return f"{share} of nameplate" if verdict.limiter and verdict.limiter.is_nameplate else share


def limit_name(ceiling: Ceiling) -> str:
    """What it limits, where its source stands beside it: ``DRAM copy``, ``BF16``."""
    name = ceiling.bound.label
    return f"{name} {ceiling.mix}" if ceiling.mix else name


def ceiling_name(ceiling: Ceiling) -> str:
    """For prose: ``DRAM copy``, ``BF16 nameplate``. A share of a nameplate is none of a measured ceiling."""
    return f"{limit_name(ceiling)} nameplate" if ceiling.is_nameplate else limit_name(ceiling)


def ceiling_value_text(ceiling: Ceiling) -> str:
    """``4.28 TB/s`` or ``796 TFLOP/s``."""
    return bandwidth_text(ceiling.value) if ceiling.bound.is_memory else flop_rate_text(ceiling.value)


def ceiling_text(ceiling: Ceiling) -> str:
    """Beside its source: ``DRAM copy 4.28 TB/s``."""
    return f"{limit_name(ceiling)} {ceiling_value_text(ceiling)}"


def distance_text(verdict: Verdict) -> str:
    """From a point to its roof: ``1.10× to DRAM copy``, ``cache-resident``; "" without a ceiling."""
    if verdict.limiter is None or verdict.speedup_left is None:
        return ""
    name = ceiling_name(verdict.limiter)
    if verdict.kind is VerdictKind.CACHE_RESIDENT:
        return str(verdict.kind)
    if verdict.is_above:
        return f"above {name}"
    if verdict.envelope and verdict.fraction_of_envelope:
        left = ratio_text(1 / verdict.fraction_of_envelope)
        return f"above {name}, {left} to {ceiling_name(verdict.envelope.ceiling)}"
    if why := _why_on_roof(verdict):
        return f"on the roof ({percent_text(verdict.fraction_of_roof)}, {why})"
    return f"{ratio_text(verdict.speedup_left)} to {name}"


def _why_on_roof(verdict: Verdict) -> str:
    """For a reading over the ceiling that the errors explain; "" for any other."""
    fraction = verdict.fraction_of_roof
    if fraction is None or fraction <= 1 or verdict.is_above or verdict.envelope:
        return ""
    if round(fraction - 1, 2) > CEILING_UNCERTAINTY:  # in the percent that a reader sees
        return "within the interval of its time"
    return f"ceilings are known to {100 * CEILING_UNCERTAINTY:.0f} %"


def _measured_sentence(verdict: Verdict) -> str:
    if verdict.limiter is None or verdict.fraction_of_roof is None:
        launch = f"Launch-bound: {_launch(verdict)}. " if verdict.launch_s is not None else ""
        return f"{launch}No ceiling is measured for this kernel yet, so nothing can be said of what is left."
    reached = f"{percent_text(verdict.fraction_of_roof)} of the {ceiling_name(verdict.limiter)} ceiling"
    match verdict.kind:
        case VerdictKind.ABOVE_ROOF:
            return (
                f"Above the roof: {reached}, which cannot be. Check the kernel's FLOP and byte formulas, "
                "or measure the ceilings again."
            )
        case VerdictKind.CACHE_RESIDENT:
            return (
                f"Cache-resident: the data fits the last-level cache, so {reached} says little of memory; "
                "choose a larger size."
            )
        case VerdictKind.LAUNCH_BOUND:
            return f"Launch-bound: {_launch(verdict)}. On the device it reaches {reached}{_left(verdict)}."
        case _ if verdict.proof:
            return (
                f"{limiter_title(verdict.kind)}: {evidence_text(verdict.proof)}; {reached}{_left(verdict)}."
            )
        case _:
            launch = f" Launch-bound, too: {_launch(verdict)}." if verdict.launch_s else ""
            return f"{limiter_title(verdict.kind)}: {reached}{_left(verdict)}.{launch}"


def _launch(verdict: Verdict) -> str:
    return f"a caller waits {time_short_text(verdict.launch_s)} longer than the device works"


def _left(verdict: Verdict) -> str:
    fraction, headroom_s = verdict.fraction_of_roof, verdict.headroom_s
    if verdict.envelope:
        share, name = percent_text(verdict.fraction_of_envelope), ceiling_name(verdict.envelope.ceiling)
        why = "which reads and writes at once; reading first and writing then may pass it"
        return f", {why}. {share} of the {name} ceiling"
    if why := _why_on_roof(verdict):
        return f"; on the roof ({why})"
    if fraction is None or not headroom_s or fraction >= 0.995:
        return "; nothing is left"
    # By the digits that the other sentences show of its time and of what the roof allows.
    worth = rest_text(headroom_s * fraction / (1 - fraction), headroom_s / (1 - fraction))
    if fraction < 0.5:
        return f"; {ratio_text(1 / fraction)} is left, worth {worth} a call"
    return f"; the {percent_text(1 - fraction)} left is worth {worth} a call"


def ended(message: str) -> str:
    return message if message.endswith((".", "!", "?")) else f"{message}."
