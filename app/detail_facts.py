"""Everything known of one point, as sections of named values."""

from msgspec import Struct

from app.formatting import (
    MISSING,
    bandwidth_text,
    clock_text,
    count_text,
    energy_text,
    error_text,
    flop_count_text,
    flop_rate_text,
    intensity_text,
    interval_text,
    memory_text,
    power_text,
    ratio_text,
    temperature_text,
    time_text,
    traffic_text,
)
from app.models.point_row import PointRow
from app.verdict_text import ceiling_name, ceiling_value_text
from profiling.outcome import Evidence, Failed, Measured, Method
from profiling.report import VERSIONED_PACKAGES, version
from profiling.session import Session


class Fact(Struct, frozen=True):
    name: str
    value: str
    tip: str = ""


class Section(Struct, frozen=True):
    title: str
    facts: tuple[Fact, ...]


def sections(row: PointRow, session: Session) -> tuple[Section, ...]:
    """The sections that have something to say, in reading order."""
    measured = row.point.measured
    found = [_failure(row), _work(row, session)]
    if measured:
        found = [
            _time(row, measured),
            _work(row, session),
            _device(measured),
            _verification(measured),
            _build(measured),
            _kernels(measured),
        ]
    return tuple(section for section in (*found, _origin(row, session)) if section.facts)


def _section(title: str, *facts: Fact) -> Section:
    return Section(title, tuple(fact for fact in facts if fact.value not in ("", MISSING)))


def _time(row: PointRow, measured: Measured) -> Section:
    time = measured.time
    speed_up = row.speed_up
    return _section(
        "Time",
        Fact(
            "Time of a call" if measured.method is Method.WALL_CLOCK else "Device time",
            f"{time_text(time.median_s)} {interval_text(time.relative_half_width)}",
            "Median over the blocks, caches cold",
        ),
        Fact("95 % interval", f"{time_text(time.low_s)} to {time_text(time.high_s)}"),
        Fact("From the host", time_text(measured.host_s), "Wall time a call, Python and launch included"),
        Fact("Hot cache", time_text(measured.hot.median_s) if measured.hot else "", "With one buffer set"),
        Fact("Profiler", time_text(measured.kernel_sum_s), "Sum of the kernels of a call"),
        Fact(
            "Speed-up",
            ratio_text(speed_up.ratio, speed_up.low, speed_up.high) if speed_up else "",
            "Over the baseline chosen in the results",
        ),
        Fact(
            "Samples",
            f"{count_text(len(time.samples_s))} blocks, {count_text(time.calls_per_block)} a block",
            "Blocks timed, and calls in each",
        ),
        Fact(
            "Left out", _discards(measured), "Blocks void for a cause that has a name, never for their value"
        ),
        Fact("Method", str(measured.method), measured.method_reason),
        Fact("Fallback", measured.method_reason),
        Fact("Flags", ", ".join(row.verdict.flags)),
    )


def _work(row: PointRow, session: Session) -> Section:
    work, spec = row.point.job.work, session.specs.get(row.point.implementation.kernel)

    def formula(text: str) -> str:
        return f" = {text}" if spec else ""

    flop_count, read, write = (
        (spec.work.flop_count, spec.work.read_bytes, spec.work.write_bytes) if spec else ("", "", "")
    )
    limiter = row.verdict.limiter
    return _section(
        "Work and roof",
        Fact("FLOPs", flop_count_text(work.flop_count) + formula(flop_count), "FMA counts as 2"),
        Fact("Read", traffic_text(work.read_bytes) + formula(read), "Every input once; s = bytes an element"),
        Fact("Written", traffic_text(work.write_bytes) + formula(write), "Every output once"),
        Fact("Intensity", intensity_text(work.arithmetic_intensity)),
        Fact("Bandwidth", bandwidth_text(row.point.achieved_bandwidth)),
        Fact("Arithmetic", flop_rate_text(row.point.achieved_flop_rate) if work.flop_count else ""),
        Fact(
            "Ceiling",
            f"{ceiling_name(limiter)}, {ceiling_value_text(limiter)}, {limiter.source}" if limiter else "",
            limiter.method if limiter else "",
        ),
        Fact("Roof allows", time_text(row.verdict.least_time_s), "Least time under that ceiling"),
    )


def _device(measured: Measured) -> Section:
    evidence = measured.evidence
    return _section(
        "Device during the run",
        Fact("Clock", _clock(evidence), "Median, then the slowest and the fastest block"),
        Fact("Memory clock", clock_text(evidence.memory_clock_hz)),
        Fact("Power", power_text(evidence.power_w)),
        Fact(
            "Energy of a call",
            energy_text(measured.energy.joules_per_call) if measured.energy else "",
            "Of the whole board at steady load, idle power included",
        ),
        Fact("Temperature", temperature_text(evidence.temperature_c)),
        Fact("Clock held by", ", ".join(evidence.event_reasons)),
    )


def _clock(evidence: Evidence) -> str:
    low, high = evidence.clock_low_hz, evidence.clock_high_hz
    text = clock_text(evidence.clock_hz)
    return text if low is None or high is None else f"{text} ({clock_text(low)} to {clock_text(high)})"


def _discards(measured: Measured) -> str:
    return ", ".join(f"{count_text(discard.blocks)} × {discard.cause}" for discard in measured.discards)


def _verification(measured: Measured) -> Section:
    found = measured.verification
    return _section(
        "Verification",
        Fact("Relative error", error_text(found.relative_error), "norm(y - reference) / norm(reference)"),
        Fact("Large inputs", error_text(found.large_relative_error), "Worst over large-magnitude inputs"),
        Fact("Allowed", error_text(found.tolerance)),
        Fact("Shapes", count_text(found.shape_count)),
    )


def _build(measured: Measured) -> Section:
    build = measured.build
    return _section(
        "Build",
        Fact("Compile time", time_text(build.compile_s)),
        Fact("Registers", count_text(build.registers), "A thread"),
        Fact("Spills", memory_text(build.spill_bytes), "A thread"),
        Fact("Shared memory", memory_text(build.shared_bytes), "A block"),
        Fact("Architecture", build.architecture or ""),
        Fact("Configuration", build.configuration or "", "Chosen by the autotuner"),
    )


def _kernels(measured: Measured) -> Section:
    return _section(
        "Kernels of a call",
        *(
            Fact(time_text(kernel.total_s), f"{kernel.calls:g} × {kernel.name}", kernel.name)
            for kernel in measured.kernels
        ),
    )


def _failure(row: PointRow) -> Section:
    match row.point.outcome:
        case Failed(kind=kind, stage=stage):
            return _section("Failure", Fact("Kind", str(kind)), Fact("Stage", str(stage)))
        case _:
            return Section("", ())


def _origin(row: PointRow, session: Session) -> Section:
    environment = session.environment
    versions = ((package, version(session, package)) for package in VERSIONED_PACKAGES)
    return _section(
        "Where it comes from",
        Fact("Device", session.device.name if session.device else ""),
        Fact("Host", environment.host if environment else ""),
        Fact("System", environment.operating_system if environment else ""),
        *(Fact(package, number or "") for package, number in versions),
        Fact("Recorded", row.point.recorded_at.replace("T", " ").partition(".")[0] + " UTC"),
        Fact("Source", row.point.implementation.source_hash[:12], row.point.implementation.source_hash),
        Fact("Plan", f"{row.point.job.quality}, {row.point.job.regime}"),
    )
