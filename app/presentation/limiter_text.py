"""The evidence of what limits a point, in words: a title, a clause with its figure, a row of the details."""

from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import (
    clock_text,
    count_text,
    memory_text,
    percent_text,
    ratio_text,
    time_short_text,
)
from roofscope.profiling.analysis.limiter import Cause, Finding
from roofscope.profiling.analysis.verdict import Verdict, VerdictKind
from roofscope.profiling.results.outcome import ClockElasticity, Measured

_TITLES = {
    VerdictKind.GAPS: "Bound by gaps between its kernels",
    VerdictKind.HELD_CLOCK: "Held by the clock",
    VerdictKind.LITTLE_WORK: "Too little work a block",
    VerdictKind.MIXED: "Bound by the cores and by memory",
    VerdictKind.ON_CHIP: "Bound on the chip, not by DRAM",
    VerdictKind.UNKNOWN: "On no roof",
}

_NAMES = {
    Cause.LAUNCHES: "Launches",
    Cause.GAPS: "Gaps",
    Cause.KERNELS: "Kernels",
    Cause.POWER: "Power cap",
    Cause.CLOCK: "Clock",
    Cause.NOT_CORE: "Clock",
    Cause.COLD: "Cold and hot",
    Cause.LITTLE_WORK: "Blocks",
    Cause.DOUBLE: "Doubles",
    Cause.SPILLS: "Spills",
    Cause.WAVES: "Waves",
    Cause.TRAFFIC: "Traffic",
    Cause.CORE: "Clock",
    Cause.MIX: "Clock",
    Cause.AS_HOT: "Cold and hot",
}


def limiter_title(kind: VerdictKind) -> str:
    """How the sentence of a verdict begins: ``Memory-bound``, ``Held by the clock``."""
    return _TITLES.get(kind, str(kind).capitalize())


def evidence_text(evidence: Finding) -> str:
    """One clause with the figure: ``432 B of registers are spilled, a thread``."""
    figure = evidence.figure
    match evidence.cause:
        case Cause.CORE | Cause.MIX | Cause.NOT_CORE:
            return f"its time {_FOLLOWS[evidence.cause]} (elasticity {figure:.2f})"
        case Cause.COLD:
            return f"cold caches make it take {ratio_text(figure)} the time of hot ones"
        case Cause.AS_HOT:
            return f"cold caches cost it {percent_text(figure)} of its time"
        case Cause.TRAFFIC:
            return f"in this time DRAM could move {ratio_text(figure)} the compulsory bytes"
        case Cause.DOUBLE:
            return f"{count_text(round(figure))} instructions of its code compute in double precision"
        case Cause.SPILLS:
            return f"{memory_text(figure)} of registers are spilled, a thread"
        case Cause.LITTLE_WORK:
            return f"each of its {_number(evidence.other)} blocks has {memory_text(figure)} to move"
        case _:
            return _text_of_two(evidence)


_FOLLOWS = {
    Cause.CORE: "follows the SM clock",
    Cause.MIX: "follows the SM clock in part",
    Cause.NOT_CORE: "does not follow the SM clock",
}


def _text_of_two(evidence: Finding) -> str:
    """The clause of a cause with two figures, of which one is a share of the time or of the roof."""
    share, other = percent_text(evidence.figure), evidence.other
    match evidence.cause:
        case Cause.LAUNCHES:
            return f"launches alone take {share} of the time, {time_short_text(other)} each"
        case Cause.GAPS:
            return f"{share} of the time lies between its {_number(other)} kernels"
        case Cause.KERNELS:
            number = _number(evidence.figure)
            return f"{number} kernels a call, of which the longest takes {percent_text(other)} of their time"
        case Cause.WAVES:
            return f"its {_number(other)} blocks keep the multiprocessors busy for {share} of the time"
        case _:
            by = "the power cap holds" if evidence.cause is Cause.POWER else "it held"
            return f"at the {clock_text(other)} that {by}, it is at {share} of the roof"


def limiter_section(verdict: Verdict, measured: Measured, sentence: str) -> Section:
    """The verdict's sentence, then all that speaks of the limiter; what names it comes first."""
    ordered = sorted(verdict.evidence, key=lambda evidence: evidence is not verdict.proof)
    facts = [
        Fact(_NAMES[evidence.cause], _sentence(evidence_text(evidence)), _tip(evidence, verdict))
        for evidence in ordered
    ]
    told = Fact("Verdict", sentence)
    return section(
        "What limits it", told, *facts, Fact("Elasticity", elasticity_text(measured), _ELASTICITY_TIP)
    )


_ELASTICITY_TIP = (
    "How a call's time follows the SM clock, with its 95 % interval: 1 is bound by the cores, 0 by memory or "
    "by a fixed wait"
)


def elasticity_text(measured: Measured) -> str:
    """``0.98 (0.95 to 1.01), from 1.45 to 1.98 GHz``, or why there is none; "" where it was not asked."""
    found: ClockElasticity | None = measured.clock_elasticity
    if found is None:
        return measured.clock_elasticity_missing
    clocks = f"{clock_text(found.clock_low_hz)} to {clock_text(found.clock_high_hz)}"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f}), from {clocks}"


def _tip(evidence: Finding, verdict: Verdict) -> str:
    if evidence is verdict.proof:
        return "This names the limiter"
    return (
        "Would name the limiter by itself" if evidence.decides else "Too little to name the limiter by itself"
    )


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}"


def _number(value: float | None) -> str:
    """Kernels a call may be a fraction, where some calls launch one more."""
    return "" if value is None else f"{value:,.3g}" if value < 100 else count_text(round(value))
