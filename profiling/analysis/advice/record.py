"""Why a point is where it is, as data: sentences, which faces word, and the figures of the rules behind."""

from msgspec import Struct

from roofscope.profiling.analysis.advice.rules import AnyAdvice


class WhyRecord(Struct, frozen=True, kw_only=True):
    """Of one measured point. Figures are in SI units; null is what is not known."""

    number: int
    implementation: str  # "softmax/triton_online"
    workload: str
    limit: str
    cost: str
    evidence: str
    next_step: str
    others: tuple[str, ...]
    limiter: AnyAdvice | None  # the rule that names the limiter; null where a roof or nothing does
    advice: tuple[AnyAdvice, ...]  # what else fired, the most worth first


class WhyNotRecord(Struct, frozen=True, kw_only=True):
    """Of one point without a time."""

    number: int
    implementation: str
    workload: str
    outcome: str  # failed, skipped or cancelled
    happened: str
    meaning: str
    next_step: str
