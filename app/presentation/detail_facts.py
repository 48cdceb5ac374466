"""Everything known of one point, as sections of named values."""

import re

from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import (
    bandwidth_text,
    break_even_text,
    count_text,
    error_text,
    flop_count_text,
    flop_rate_text,
    intensity_text,
    memory_text,
    time_text,
    traffic_text,
)
from roofscope.app.presentation.point_row import PointRow
from roofscope.app.presentation.run_facts import device_section, energy_section, time_section
from roofscope.app.presentation.verdict_text import ceiling_name, ceiling_value_text
from roofscope.profiling.analysis.point_record import VERSIONED_PACKAGES
from roofscope.profiling.analysis.verdict import Verdict
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.results.outcome import Failed, Measured
from roofscope.profiling.results.session import Session

_MOST_OF_NAME = 120


def sections(row: PointRow, session: Session) -> tuple[Section, ...]:
    """The sections that have something to say, in reading order."""
    measured = row.point.measured
    found = [_failure(row), _work(row, session)]
    if measured:
        found = [
            time_section(row, measured, session.device),
            _work(row, session),
            device_section(measured, session.device),
            energy_section(row, measured),
            _verification(measured),
            _build(measured, row),
            _kernels(measured),
        ]
    return tuple(part for part in (*found, _origin(row, session)) if not part.is_empty)


def _work(row: PointRow, session: Session) -> Section:
    work, spec = row.point.job.work, session.specs.get(row.point.implementation.kernel)

    def formula(text: str) -> str:
        return f" = {text}" if spec else ""

    flop_count, read, write = (
        (spec.work.flop_count, spec.work.read_bytes, spec.work.write_bytes) if spec else ("", "", "")
    )
    limiter = row.verdict.limiter
    return section(
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
        Fact("Highest roof", _envelope(row.verdict), "For reads alone or writes alone"),
    )


def _envelope(verdict: Verdict) -> str:
    """Where the ceiling of the work's own mix is beaten: what memory gives at best."""
    if verdict.envelope is None:
        return ""
    ceiling, least_s = verdict.envelope.ceiling, verdict.envelope.least_time_s
    return f"{ceiling_name(ceiling)}, {ceiling_value_text(ceiling)}, allows {time_text(least_s)}"


def _verification(measured: Measured) -> Section:
    found = measured.verification
    return section(
        "Verification",
        Fact("Relative error", error_text(found.relative_error), "norm(y - reference) / norm(reference)"),
        Fact("Large inputs", error_text(found.large_relative_error), "Worst over large-magnitude inputs"),
        Fact("Allowed", error_text(found.tolerance)),
        Fact("Shapes", count_text(found.shape_count)),
    )


def _build(measured: Measured, row: PointRow) -> Section:
    build = measured.build
    return section(
        "Build",
        Fact("Compile time", time_text(build.compile_s)),
        Fact(
            "Pays after",
            break_even_text(row.break_even_calls) if build.compile_s else "",
            "Calls until what they save over eager, in device time, is the compile time",
        ),
        Fact("Graphs", count_text(build.graph_count), "That Dynamo made of a call"),
        Fact("Found on disk", count_text(build.cached_graphs or None), "Graphs that were compiled before"),
        Fact("Graph breaks", count_text(build.graph_breaks), "Where Python steps in between two graphs"),
        Fact("Recompiles", count_text(build.recompiles), "Of the same code, for other shapes or values"),
        Fact("Registers", count_text(build.registers), "A thread"),
        Fact("Spills", memory_text(build.spill_bytes), "A thread"),
        Fact("Shared memory", memory_text(build.shared_bytes), "A block"),
        Fact("Architecture", build.architecture or ""),
        Fact("Configuration", build.configuration or "", "Chosen by the autotuner"),
    )


def _kernels(measured: Measured) -> Section:
    return section(
        "Kernels of a call",
        *(
            Fact(time_text(kernel.total_s), f"{kernel.calls:g} × {_breakable(kernel.name)}", kernel.name)
            for kernel in measured.kernels
        ),
    )


def _breakable(name: str) -> str:
    """A C++ name may take a page and has no spaces: its beginning, with places to break a line at."""
    shown = name if len(name) <= _MOST_OF_NAME else f"{name[:_MOST_OF_NAME]}…"
    return re.sub(r"([_:<,(])", "\\1\u200b", shown)


def _failure(row: PointRow) -> Section:
    match row.point.outcome:
        case Failed(kind=kind, stage=stage):
            return section("Failure", Fact("Kind", str(kind)), Fact("Stage", str(stage)))
        case _:
            return Section("", ())


def _origin(row: PointRow, session: Session) -> Section:
    environment, device = session.environment_of(row.point), session.device_of(row.point)
    versions = (
        (package, environment.version(package) if environment else None) for package in VERSIONED_PACKAGES
    )
    return section(
        "Where it comes from",
        Fact("Device", device.name if device else ""),
        Fact("Driver", (device.driver_version or "") if device else ""),
        Fact("Host", environment.host if environment else ""),
        Fact("System", environment.operating_system if environment else ""),
        *(Fact(package, number or "") for package, number in versions),
        Fact("Roofscope", _measured_by(environment), "Of the worker that measured it"),
        Fact("Recorded", row.point.recorded_at.replace("T", " ").partition(".")[0] + " UTC"),
        Fact("Source", row.point.implementation.source_hash[:12], row.point.implementation.source_hash),
        Fact("Plan", f"{row.point.job.quality}, {row.point.job.regime}"),
    )


def _measured_by(environment: Environment | None) -> str:
    return (environment.roofscope_version or "") if environment else ""
