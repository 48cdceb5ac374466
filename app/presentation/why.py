"""Why a point is where it is, in four sentences: what limits it, its cost, the evidence, the next step.

A point without a time has those of why_not.

The window's details, `show --why`, `why` and the JSON export have the same ones.
"""

from msgspec import Struct

from roofscope.app.presentation.comparison import MUCH_SLOWER
from roofscope.app.presentation.flag_text import badge
from roofscope.app.presentation.formatting import (
    MISSING,
    break_even_text,
    part_text,
    percent_text,
    range_text,
    ratio_text,
    rest_text,
    time_text,
)
from roofscope.app.presentation.limiter_text import evidence_text, limiter_title
from roofscope.app.presentation.verdict_text import ceiling_name, ceiling_text
from roofscope.app.presentation.why_limits import Words, brief, limit_words, short_name
from roofscope.app.presentation.why_not import WhyNot, why_not
from roofscope.profiling.analysis.advice.at_roof import AtRoof
from roofscope.profiling.analysis.advice.case import Case, Cases
from roofscope.profiling.analysis.advice.compile_pays_not import CompilePaysNot
from roofscope.profiling.analysis.advice.faster_sibling import FasterSibling
from roofscope.profiling.analysis.advice.not_bytes import NotBytes
from roofscope.profiling.analysis.advice.power_cap import PowerCap
from roofscope.profiling.analysis.advice.rules import AnyAdvice, Judged, advise
from roofscope.profiling.analysis.advice.stay_with_eager import StayWithEager
from roofscope.profiling.analysis.advice.tf32 import Tf32
from roofscope.profiling.analysis.verdict import Verdict, VerdictKind
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.plan import Quality
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Flag
from roofscope.profiling.results.session import Point, Session

TITLES = ("Limit", "Cost", "Evidence", "Next")
_STAY = "Stay with eager here: nothing that was measured beside it is faster by more than 2 %."
_LITTLE_LEFT = 0.9  # of the roof
_MOST_OTHERS = 4
_UNSURE = frozenset((Flag.UNSTABLE, Flag.PREEMPTED))
# Measuring again does not mend these.
_DOUBTFUL = (Flag.REMEMBERS, Flag.PROFILER_DISAGREES, Flag.HOST_TIME_INSIDE, Flag.PARTLY_WARM)


class Why(Struct, frozen=True):
    """Four whole sentences, and what else could be tried, the most worth first."""

    limit: str
    cost: str
    evidence: str
    next_step: str
    others: tuple[str, ...] = ()

    @property
    def titled(self) -> tuple[tuple[str, str], ...]:
        """Each sentence with the word that stands before it."""
        return tuple(zip(TITLES, (self.limit, self.cost, self.evidence, self.next_step), strict=True))


class WhyTexts:
    """The sentences of a session's points; made once for many points."""

    def __init__(self, session: Session) -> None:
        self._cases = Cases(session)

    def of(self, point: Point) -> Why | WhyNot | None:
        """Of a point without a time why it has none."""
        case = self._cases.of(point)
        return why_of(case, advise(case)) if case else why_not(point)


def limited_by_text(point: Point, judged: Verdict, cases: Cases) -> str:
    """For a column: the verdict, or what the sentences name instead of it; "" without a time.

    They do so where the verdict names nothing, and where power lowers the roof that it names.
    """
    if point.measured is None:
        return ""
    is_open = judged.kind is VerdictKind.UNKNOWN or Flag.POWER_CAPPED in judged.flags
    case = cases.of(point) if is_open else None
    limiter = advise(case).limiter if case else None
    if judged.kind is not VerdictKind.UNKNOWN and not isinstance(limiter, PowerCap):
        return str(judged.kind)
    return (short_name(limiter) if limiter else "") or str(judged.kind)


def why_of_one(point: Point, session: Session) -> Why | WhyNot | None:
    """Of one point, among thousands: only those of its kernel are looked at."""
    if point.measured is None:
        return why_not(point)
    kernel = point.job.workload.kernel
    same = (other for other in session.points if other.job.workload.kernel == kernel)
    case = Cases(session, same).of(point)
    return why_of(case, advise(case)) if case else None


def why_of(case: Case, judged: Judged) -> Why:
    limiter, verdict = judged.limiter, case.verdict
    words = limit_words(limiter) if limiter else None
    first, steps = _steps(case, judged, words)
    if case.measured.time.bounds_s is None or _UNSURE & set(verdict.flags):
        first = f"Measure it again: its time is not known well. {first}"
    return Why(
        limit=words.limit if words else _limit(verdict),
        cost=_cost(case, limiter),
        evidence=_evidence(judged, verdict, words) + _host_too(case) + _doubts(verdict),
        next_step=first,
        others=steps[:_MOST_OTHERS],
    )


def _limit(verdict: Verdict) -> str:
    roof = verdict.limiter
    if roof is None:
        return "No ceiling is measured for this kernel yet, so nothing can be said of what limits it."
    match verdict.kind:
        case VerdictKind.MEMORY_BOUND | VerdictKind.COMPUTE_BOUND:
            share = verdict.fraction_of_roof or 0.0
            does = "limits it" if share >= _LITTLE_LEFT else f"explains {percent_text(share)} of its time"
            return f"{limiter_title(verdict.kind)}: its roof, {ceiling_text(roof)}, {does}."
        case VerdictKind.UNKNOWN:
            return "It is on no roof, and nothing that was recorded says what limits it."
        case _:
            return f"{limiter_title(verdict.kind)}."


def _cost(case: Case, limiter: AnyAdvice | None) -> str:
    verdict, time_s = case.verdict, case.time_s
    if verdict.kind is VerdictKind.LAUNCH_BOUND and verdict.launch_s is not None:
        host_s = case.measured.host_s
        return (
            f"A program waits {brief(verdict.launch_s)} longer than the device works, {brief(host_s)} a call."
        )
    if verdict.headroom_s is None or verdict.limiter is None:
        return f"A call takes {time_text(time_s)}; without a ceiling its cost is not known."
    name, allows = ceiling_name(verdict.limiter), part_text(verdict.least_time_s, time_s)
    whole, left = time_text(time_s), rest_text(verdict.least_time_s or 0.0, time_s)
    if verdict.is_above or not verdict.headroom_s:
        return f"It costs nothing: a call takes {whole}, and {name} allows {allows}."
    if isinstance(limiter, AtRoof):
        return f"Only {left} of its {whole} a call are above the {allows} that {name} allows."
    if isinstance(limiter, PowerCap) and limiter.saves_s:
        return (
            f"That costs at most {part_text(limiter.saves_s, time_s)} of its {whole} a call, against its "
            f"highest clock; {left} are left to {name} as it was measured."
        )
    return f"That costs {left} of its {whole} a call: {name} allows {allows}."


def _evidence(judged: Judged, verdict: Verdict, words: Words | None) -> str:
    """The limiter's own, and that bytes do not matter where another type proves it."""
    alike = next((found for found in judged.others if isinstance(found, NotBytes)), None)
    beside = f" In {alike.dtype.label} it takes as long, {brief(alike.other_s)}." if alike else ""
    if words:
        return words.evidence + beside
    if verdict.limiter is None:
        return f"Nothing to judge it by was recorded.{beside}"
    reached = f"{percent_text(verdict.fraction_of_roof)} of the {ceiling_name(verdict.limiter)} ceiling"
    decided = evidence_text(verdict.proof) if verdict.proof else ""
    return f"It reaches {reached}{f'; {decided}' if decided else ''}.{beside}"


def _host_too(case: Case) -> str:
    """Where a roof limits the device, and a program that launches each call waits for the host."""
    host_s, verdict = case.measured.host_s, case.verdict
    if Flag.LAUNCH_BOUND not in verdict.flags or verdict.kind is VerdictKind.LAUNCH_BOUND or not host_s:
        return ""
    return (
        f" Its host takes {brief(host_s)} to launch it: a program waits for that unless it replays a graph."
    )


def _doubts(verdict: Verdict) -> str:
    """What undermines the time, and so all that was said of it."""
    meanings = [badge(flag).meaning for flag in _DOUBTFUL if flag in verdict.flags]
    return f" But its time is not certain. {' '.join(meanings)}" if meanings else ""


def _steps(case: Case, judged: Judged, words: Words | None) -> tuple[str, tuple[str, ...]]:
    """The next thing to try, and the rest."""
    found: list[str] = []
    sibling = next((each for each in judged.others if isinstance(each, FasterSibling)), None)
    if words:
        shown = f" {_shown_by(sibling)}" if sibling else ""
        found.append(words.step + shown)
    for each in judged.others:
        if isinstance(each, NotBytes) or (words and each is sibling):
            continue
        text = choice_text(each)
        is_first = isinstance(each, (StayWithEager, CompilePaysNot)) and _is_compiled(case)
        found.insert(0, text) if is_first else found.append(text)
    if all(text == _STAY for text in found):  # also where there is none: staying is no step towards a roof
        found.insert(0 if case.is_far else len(found), _nothing_else(case))
    return found[0], tuple(found[1:])


def _is_compiled(case: Case) -> bool:
    return case.point.implementation.provider is Provider.COMPILE


def _shown_by(sibling: FasterSibling) -> str:
    return f"{one_line(sibling.label)} does the same work in {brief(sibling.other_s)}."


def choice_text(found: AnyAdvice) -> str:
    """What to do about it, as sentences of their own."""
    return _choice(found) or _as_choice(found)


def _choice(found: AnyAdvice) -> str:
    """Of a rule that names no limiter; "" for others."""
    match found:
        case FasterSibling():
            interval = range_text(found.low, found.high)
            return (
                f"Compare its source with that of {one_line(found.label)}: the same work in "
                f"{brief(found.other_s)}, {ratio_text(found.ratio)} as fast (95 % CI {interval})."
            )
        case Tf32():
            return (
                f"If 10 bits of a fraction suffice, multiply in TF32: its ceiling is "
                f"{ratio_text(found.times)} as high and allows {brief(found.allows_s)}."
            )
        case StayWithEager(is_eager=True):
            return _STAY
        case StayWithEager():
            return f"Stay with eager here: this one {_beside_eager(found)}."
        case CompilePaysNot():
            pays = "" if found.calls is None else f" and pays after {break_even_text(found.calls)}"
            pays = " and never pays" if pays.endswith("never") else pays
            return (
                f"Stay with eager unless it runs for long: compiling takes {brief(found.compile_s)} for "
                f"{ratio_text(found.ratio)} the speed (95 % CI {range_text(found.low, found.high)}){pays}."
            )
        case _:
            return ""


def _beside_eager(found: StayWithEager) -> str:
    """Below a tenth of its speed by how many times as long it takes, as the column of speed-ups has it."""
    if found.ratio < MUCH_SLOWER:
        interval = range_text(1 / found.high, 1 / found.low)
        return f"takes {ratio_text(1 / found.ratio)} as long (95 % CI {interval})"
    return f"is {ratio_text(found.ratio)} as fast (95 % CI {range_text(found.low, found.high)})"


def _as_choice(found: AnyAdvice) -> str:
    """A rule that may name a limiter, but does not here: its evidence, its step, and what that saves."""
    words = limit_words(found)
    if words is None:
        return ""
    saves = brief(found.saves_s) if found.saves_s else MISSING
    at_most = "at most " if found.is_at_most else ""
    worth = "" if saves == MISSING else f" Worth {at_most}{saves} a call."
    return f"{words.evidence} {words.step}{worth}"


def _nothing_else(case: Case) -> str:
    share = case.verdict.fraction_of_roof
    if share is None:
        return "Measure the ceilings of this device (roofscope ceilings), then look again."
    if case.is_far and case.device and case.device.kind is DeviceKind.CPU:
        return "Look at it with a profiler of the CPU: what is recorded here does not say what limits it."
    if case.is_far and case.point.job.quality is not Quality.EXACT:
        return "Run it again with --exact, which finds how its time follows the clock and so what limits it."
    if case.is_far:
        return "Look at it with Nsight Compute, which counts what this measurement does not."
    if share < _LITTLE_LEFT:
        left = part_text(case.headroom_s, case.time_s)
        return f"Try other tiles or launch shapes: {left} a call are left, and nothing recorded says where."
    return "Nothing recorded points further; what is left is small beside what fusing it with others saves."
