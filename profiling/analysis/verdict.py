"""What limits a point and what is left: SI values only; the window makes the sentence."""

from enum import StrEnum

from msgspec import Struct

from roofscope.profiling.analysis.agreement import is_longer
from roofscope.profiling.analysis.limiter import NEAR_ROOF, Cause, Finding, evidence_of
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.results.outcome import (
    Cancelled,
    Evidence,
    Examined,
    Failed,
    Flag,
    Measured,
    Method,
    Skipped,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Ceiling, Mix, Roof, Source

# A measured ceiling is itself known to about 2 %: a reading within 2 % of its roof is on it, not above.
CEILING_UNCERTAINTY = 0.02

# From this ratio of host to device time on, a caller waits for launches and not for the device.
LAUNCH_BOUND_RATIO = 1.5

# Of a GPU's clock, and a little: 15 MHz of 1 to 2 GHz.
_CLOCK_STEP = 0.015

# A point is judged by ceilings measured at the clock of its own regime.
MEASURED_IN = {Regime.BURST: Source.MEASURED_BURST, Regime.SUSTAINED: Source.MEASURED_SUSTAINED}


class VerdictKind(StrEnum):
    """What limits the time of a point; one of the last five where there is no time to judge.

    A roof is named only from NEAR_ROOF of it on. Below, it is what the measurement proves: ``limiter``.
    """

    MEMORY_BOUND = "memory-bound"
    COMPUTE_BOUND = "compute-bound"
    LAUNCH_BOUND = "launch-bound"  # on the host
    LAUNCH_LATENCY = "launch latency"  # on the device
    GAPS = "gaps between kernels"
    SEVERAL_KERNELS = "several kernels"
    HELD_CLOCK = "held clock"
    WAITS_FOR_MEMORY = "waits for memory"  # its latency, or more bytes than the compulsory ones
    LITTLE_WORK = "little work a block"
    DOUBLE_ARITHMETIC = "double arithmetic"
    SPILLS = "spills"
    PARTIAL_WAVES = "partial waves"
    CORE_BOUND = "core-bound"
    MIXED = "core and memory"
    ON_CHIP = "on chip"
    UNKNOWN = "on no roof"
    CACHE_RESIDENT = "cache-resident"
    ABOVE_ROOF = "above the roof"
    NO_CEILING = "no ceiling"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXAMINED = "not timed"  # interpreted, or compiled, without its GPU


_NAMED_BY = {
    Cause.LAUNCHES: VerdictKind.LAUNCH_LATENCY,
    Cause.GAPS: VerdictKind.GAPS,
    Cause.KERNELS: VerdictKind.SEVERAL_KERNELS,
    Cause.POWER: VerdictKind.HELD_CLOCK,
    Cause.CLOCK: VerdictKind.HELD_CLOCK,
    Cause.NOT_CORE: VerdictKind.WAITS_FOR_MEMORY,
    Cause.COLD: VerdictKind.WAITS_FOR_MEMORY,
    Cause.LITTLE_WORK: VerdictKind.LITTLE_WORK,
    Cause.DOUBLE: VerdictKind.DOUBLE_ARITHMETIC,
    Cause.SPILLS: VerdictKind.SPILLS,
    Cause.WAVES: VerdictKind.PARTIAL_WAVES,
    Cause.TRAFFIC: VerdictKind.WAITS_FOR_MEMORY,
    Cause.CORE: VerdictKind.CORE_BOUND,
    Cause.MIX: VerdictKind.MIXED,
    Cause.AS_HOT: VerdictKind.ON_CHIP,
}


class Verdict(Struct, frozen=True):
    """The judgement of one point. Without a time or a ceiling only ``kind`` and ``flags`` are set."""

    kind: VerdictKind
    limiter: Ceiling | None = None
    least_time_s: float | None = None  # what the limiter allows
    fraction_of_roof: float | None = None  # least time over measured time; above 1 is kept, never clamped
    headroom_s: float | None = None  # seconds a call that the roof leaves; 0 above the roof
    launch_s: float | None = None  # host time over device time, when launch-bound
    flags: tuple[Flag, ...] = ()
    envelope: Roof | None = None  # the highest DRAM ceiling's, where a reading beats only that of its mix
    evidence: tuple[Finding, ...] = ()  # all that speaks of the limiter, in the order of proof

    @property
    def proof(self) -> Finding | None:
        """The evidence that names the limiter; None where a roof or the host does, or nothing."""
        named = (evidence for evidence in self.evidence if evidence.decides)
        return next((evidence for evidence in named if _NAMED_BY[evidence.cause] is self.kind), None)

    @property
    def is_above(self) -> bool:
        """Whether the point beats its roof by more than the errors of both allow."""
        return Flag.ABOVE_ROOF in self.flags

    @property
    def fraction_of_envelope(self) -> float | None:
        """Least time by ``envelope`` over measured time."""
        if not (self.envelope and self.least_time_s and self.fraction_of_roof):
            return None
        return self.fraction_of_roof * self.envelope.least_time_s / self.least_time_s

    @property
    def speedup_left(self) -> float | None:
        """Factor between the measured time and the least one."""
        return 1 / self.fraction_of_roof if self.fraction_of_roof else None


def verdict(point: Point, session: Session) -> Verdict:
    """Judge a point against the session's newest ceilings."""
    match point.outcome:
        case Skipped():
            return Verdict(VerdictKind.SKIPPED)
        case Examined():
            return Verdict(VerdictKind.EXAMINED)
        case Failed():
            return Verdict(VerdictKind.FAILED)
        case Cancelled():
            return Verdict(VerdictKind.CANCELLED)
        case Measured() as measured:
            return _judge(point, measured, session)


def flags_of(point: Point, session: Session) -> tuple[Flag, ...]:
    """The flags the worker set and those that follow from ceilings and cache, in Flag's order."""
    measured = point.measured
    if measured is None:
        return ()
    roof = limiting_roof(point, session)
    return _flags(point, measured, session, roof, _envelope(roof, point, measured, session))


def _flags(
    point: Point, measured: Measured, session: Session, roof: Roof | None, envelope: Roof | None
) -> tuple[Flag, ...]:
    found: set[Flag] = set()
    if measured.host_s and measured.host_s > LAUNCH_BOUND_RATIO * measured.time.median_s:
        found.add(Flag.LAUNCH_BOUND)
    if measured.verification.unverified:
        found.add(Flag.NO_ODD_SIZE)
    device = session.device_of(point)
    if device and device.processes:  # as the worker found them before it used the device
        found.add(Flag.SHARED_GPU)
    found |= own_flags(measured)
    above = roof is not None and envelope is None and is_above(roof, measured)
    if above:
        found.add(Flag.ABOVE_ROOF)
    if fits_in_cache(point, session) and (above or _stays_in_cache(measured, session.device_of(point))):
        found.add(Flag.CACHE_RESIDENT)
    return tuple(flag for flag in Flag if flag in found)


def own_flags(measured: Measured) -> set[Flag]:
    """The flags the worker set and those that follow from method, clocks and kernels, without a session."""
    found = set(measured.flags)
    evidence = measured.evidence
    if "power cap" in (evidence.event_reasons or ()):
        found.add(Flag.POWER_CAPPED)
    if any(reason.startswith("thermal slowdown") for reason in evidence.held_by):
        found.add(Flag.HEAT_LIMITED)
    if _sagged(evidence):
        found.add(Flag.CLOCK_SAGGED)
    if measured.method is Method.EVENTS:
        found.add(Flag.HOST_TIME_INSIDE)
    launches = sum(kernel.calls for kernel in measured.kernels)
    if launches > 1.5:
        found.add(Flag.EXTRA_KERNELS)
    if measured.kernel_sum_s:
        pairs = [(measured.kernel_sum_s, measured.time.median_s)]
        if measured.profiled:
            pairs += measured.profiled.pairs(*pairs[0])
        has_gaps = launches > 1.5 or measured.method is Method.EVENTS
        if not any(_profiler_agrees(*pair, has_gaps=has_gaps) for pair in pairs):
            found.add(Flag.PROFILER_DISAGREES)
    return found


def _sagged(evidence: Evidence) -> bool:
    """Whether the clock was more than a step lower than that of the fresh device, for no known cause."""
    if evidence.held_by or not evidence.clock_hz or not evidence.fresh_hz:
        return False
    return evidence.clock_hz < (1 - _CLOCK_STEP) * evidence.fresh_hz


def _profiler_agrees(kernel_sum_s: float, seconds: float, *, has_gaps: bool) -> bool:
    """Gaps are no kernel's, but the sum of kernels hardly exceeds the time: else some work was not timed."""
    if is_longer(kernel_sum_s, seconds):
        return False
    return has_gaps or not is_longer(seconds, kernel_sum_s)


def limiting_roof(point: Point, session: Session) -> Roof | None:
    """The ceiling under which the point's work takes longest; None without ceilings or spec."""
    bound = session.bound_of(point)
    if bound is None:
        return None
    return session.roofline_of(point).limiter(point.job.work, bound, MEASURED_IN[point.job.regime])


def is_above(roof: Roof, measured: Measured) -> bool:
    """Whether even the slow end of the interval beats this ceiling by more than the ceiling's own error."""
    bounds_s = measured.time.bounds_s
    return bounds_s is not None and bounds_s[1] < roof.least_time_s * (1 - CEILING_UNCERTAINTY)


def _envelope(roof: Roof | None, point: Point, measured: Measured, session: Session) -> Roof | None:
    """The highest DRAM ceiling's roof, where the point beats that of its own mix but not this; else None.

    Reads followed by writes are faster than both at once, and some work allows that order.
    """
    if roof is None or roof.ceiling.mix not in (Mix.COPY, Mix.TRIAD) or not is_above(roof, measured):
        return None
    highest = session.roofline_of(point).of(roof.ceiling.bound, roof.ceiling.source)[0]
    envelope = Roof(highest, point.job.work.byte_count / highest.value)
    return None if is_above(envelope, measured) else envelope


def fits_in_cache(point: Point, session: Session) -> bool:
    """Whether one call's bytes fit the last-level cache.

    GPU points are timed cold on rotated buffers, so for them this explains only a reading above the DRAM roof
    and the hot reading.
    """
    device = session.device_of(point)
    cache_bytes = device.last_level_cache_bytes if device else None
    return cache_bytes is not None and 0 < point.job.work.byte_count <= cache_bytes


def _judge(point: Point, measured: Measured, session: Session) -> Verdict:
    roof = limiting_roof(point, session)
    envelope = _envelope(roof, point, measured, session)
    flags = _flags(point, measured, session, roof, envelope)
    launch_s = None
    if Flag.LAUNCH_BOUND in flags and measured.host_s:
        launch_s = max(0.0, measured.host_s - measured.time.median_s)
    if roof is None:
        kind = VerdictKind.LAUNCH_BOUND if launch_s is not None else VerdictKind.NO_CEILING
        return Verdict(kind, launch_s=launch_s, flags=flags)
    fraction = roof.least_time_s / measured.time.median_s
    evidence = evidence_of(measured, point.job.work, roof, session.device_of(point))
    return Verdict(
        kind=_kind(roof, flags, fraction, evidence),
        limiter=roof.ceiling,
        least_time_s=roof.least_time_s,
        fraction_of_roof=fraction,
        headroom_s=max(0.0, measured.time.median_s - roof.least_time_s),
        launch_s=launch_s,
        flags=flags,
        envelope=envelope,
        evidence=evidence,
    )


def _kind(roof: Roof, flags: tuple[Flag, ...], fraction: float, evidence: tuple[Finding, ...]) -> VerdictKind:
    if Flag.CACHE_RESIDENT in flags and roof.ceiling.bound.is_memory:
        return VerdictKind.CACHE_RESIDENT
    if Flag.ABOVE_ROOF in flags:
        return VerdictKind.ABOVE_ROOF
    # Also where the host is slower, which is a flag: the device's time is judged.
    if fraction >= NEAR_ROOF:
        return VerdictKind.MEMORY_BOUND if roof.ceiling.bound.is_memory else VerdictKind.COMPUTE_BOUND
    if Flag.LAUNCH_BOUND in flags:
        return VerdictKind.LAUNCH_BOUND
    named = next((each.cause for each in evidence if each.decides), None)
    return _NAMED_BY[named] if named else VerdictKind.UNKNOWN


def _stays_in_cache(measured: Measured, device: Device | None) -> bool:
    """Whether calls found their data in the cache, because all that was rotated fits it.

    Older sessions do not say what was rotated: of those a CPU's points are taken for such, as they were.
    """
    if device is None:
        return False
    if measured.rotated_bytes is not None:
        return measured.rotated_bytes <= (device.last_level_cache_bytes or 0)
    return device.kind is DeviceKind.CPU
