"""All rules, and what they say of a point: first what limits it, then by what it would save."""

from msgspec import Struct

from roofscope.profiling.analysis.advice.above_roof import AboveRoof, above_roof
from roofscope.profiling.analysis.advice.access import Access, access
from roofscope.profiling.analysis.advice.at_roof import AtRoof, at_roof
from roofscope.profiling.analysis.advice.cache_resident import CacheResident, cache_resident
from roofscope.profiling.analysis.advice.case import Case
from roofscope.profiling.analysis.advice.compile_pays_not import CompilePaysNot, compile_pays_not
from roofscope.profiling.analysis.advice.doubles import Doubles, doubles
from roofscope.profiling.analysis.advice.extra_bytes import ExtraBytes, extra_bytes
from roofscope.profiling.analysis.advice.faster_sibling import FasterSibling, faster_sibling
from roofscope.profiling.analysis.advice.gaps import Gaps, gaps
from roofscope.profiling.analysis.advice.held_clock import HeldClock, held_clock
from roofscope.profiling.analysis.advice.launch_bound import LaunchBound, launch_bound
from roofscope.profiling.analysis.advice.launch_latency import LaunchLatency, launch_latency
from roofscope.profiling.analysis.advice.little_work import LittleWork, little_work
from roofscope.profiling.analysis.advice.not_bytes import NotBytes, not_bytes
from roofscope.profiling.analysis.advice.occupancy import Occupancy, occupancy
from roofscope.profiling.analysis.advice.partial_waves import PartialWaves, partial_waves
from roofscope.profiling.analysis.advice.power_cap import PowerCap, power_cap
from roofscope.profiling.analysis.advice.several_kernels import SeveralKernels, several_kernels
from roofscope.profiling.analysis.advice.special_functions import SpecialFunctions, special_functions
from roofscope.profiling.analysis.advice.spills import Spills, spills
from roofscope.profiling.analysis.advice.stay_with_eager import StayWithEager, stay_with_eager
from roofscope.profiling.analysis.advice.tensor_cores import TensorCores, tensor_cores
from roofscope.profiling.analysis.advice.tf32 import Tf32, tf32
from roofscope.profiling.analysis.advice.throttled import Throttled, throttled
from roofscope.profiling.analysis.advice.too_small import TooSmall, too_small
from roofscope.profiling.analysis.verdict import VerdictKind
from roofscope.profiling.planning.spec import Provider

AnyAdvice = (
    AboveRoof
    | CacheResident
    | LaunchBound
    | TooSmall
    | LaunchLatency
    | Gaps
    | SeveralKernels
    | ExtraBytes
    | LittleWork
    | Doubles
    | TensorCores
    | Spills
    | PartialWaves
    | Occupancy
    | NotBytes
    | Access
    | PowerCap
    | HeldClock
    | SpecialFunctions
    | Throttled
    | Tf32
    | FasterSibling
    | StayWithEager
    | CompilePaysNot
    | AtRoof
)

# In the order of proof: of what limits a point, the first that fires is named.
_LIMITING = (
    above_roof,
    cache_resident,
    launch_bound,
    too_small,
    launch_latency,
    gaps,
    several_kernels,
    extra_bytes,
    little_work,
    doubles,
    tensor_cores,
    spills,
    partial_waves,
    not_bytes,
    occupancy,
    access,
    throttled,
    power_cap,
    special_functions,
    held_clock,
    at_roof,
)
_OTHERS = (tf32, faster_sibling, stay_with_eager, compile_pays_not)

# What the verdict names, so that no sentence contradicts the table.
_OF_VERDICT = {
    VerdictKind.ABOVE_ROOF: AboveRoof,
    VerdictKind.CACHE_RESIDENT: CacheResident,
    VerdictKind.LAUNCH_BOUND: LaunchBound,
    VerdictKind.LAUNCH_LATENCY: LaunchLatency,
    VerdictKind.GAPS: Gaps,
    VerdictKind.SEVERAL_KERNELS: SeveralKernels,
    VerdictKind.LITTLE_WORK: LittleWork,
    VerdictKind.DOUBLE_ARITHMETIC: Doubles,
    VerdictKind.SPILLS: Spills,
    VerdictKind.PARTIAL_WAVES: PartialWaves,
    VerdictKind.HELD_CLOCK: (PowerCap, Throttled),
}
# A verdict that a roof or nothing names may be explained by these.
_EXPLAINS_ROOF = (PowerCap, SpecialFunctions, Throttled, HeldClock, AtRoof)
_EXPLAINS_MEMORY = (SpecialFunctions, AtRoof)  # whose clock the SM's is not
_EXPLAINS_UNKNOWN = (TooSmall, Doubles, TensorCores, NotBytes, Occupancy, Access, ExtraBytes)


class Judged(Struct, frozen=True):
    """What the rules say of one point."""

    limiter: AnyAdvice | None  # that explains what limits it; None where the verdict alone does
    others: tuple[AnyAdvice, ...] = ()  # by what they save, the most first

    @property
    def all(self) -> tuple[AnyAdvice, ...]:
        return (*((self.limiter,) if self.limiter else ()), *self.others)


def advise(case: Case) -> Judged:
    """Ask every rule; what limits the point stands apart from what else could be tried."""
    limiting = [found for rule in _LIMITING if (found := rule(case))]
    others = [found for rule in _OTHERS if (found := rule(case))]
    limiter = next((found for found in limiting if _explains(found, case.verdict.kind)), None)
    rest = [found for found in (*limiting, *others) if found is not limiter]
    if case.point.implementation.provider is not Provider.COMPILE and any(
        isinstance(found, FasterSibling) for found in rest
    ):  # the nearer comparison; of a compiled version the question is whether to compile at all
        rest = [found for found in rest if not isinstance(found, StayWithEager)]
    return Judged(limiter=limiter, others=tuple(sorted(rest, key=lambda found: -(found.saves_s or 0.0))))


def _explains(found: AnyAdvice, kind: VerdictKind) -> bool:
    if named := _OF_VERDICT.get(kind):
        return isinstance(found, named)
    if kind is VerdictKind.MEMORY_BOUND:
        return isinstance(found, _EXPLAINS_MEMORY)
    if kind is VerdictKind.COMPUTE_BOUND:
        return isinstance(found, _EXPLAINS_ROOF)
    return kind in (VerdictKind.UNKNOWN, VerdictKind.WAITS_FOR_MEMORY, VerdictKind.CORE_BOUND) and isinstance(
        found, _EXPLAINS_UNKNOWN
    )
