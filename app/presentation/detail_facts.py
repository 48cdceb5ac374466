"""Everything known of one point, as sections of named values."""

import re
from collections.abc import Iterable

from roofscope.app.presentation.ceiling_conditions import conditions_text
from roofscope.app.presentation.counters import counted_section
from roofscope.app.presentation.examined import compiled_section, examined_section
from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import (
    bandwidth_text,
    clock_text,
    count_text,
    difference_text,
    error_text,
    flop_count_text,
    flop_rate_text,
    intensity_text,
    memory_text,
    percent_text,
    time_text,
    traffic_text,
)
from roofscope.app.presentation.limiter_text import limiter_section
from roofscope.app.presentation.payback import BY_WALL_NOTE, IN_GRAPH_NOTE, PAYBACK_NOTE, payback_text
from roofscope.app.presentation.point_row import PointRow
from roofscope.app.presentation.recorded import recorded_fact
from roofscope.app.presentation.run_facts import device_section, energy_section, time_section
from roofscope.app.presentation.source.launch import occupancy_fact
from roofscope.app.presentation.tuning import configuration_text, tuning_section
from roofscope.app.presentation.verdict_text import (
    ceiling_name,
    ceiling_value_text,
    limit_name,
    verdict_sentence,
)
from roofscope.profiling.analysis.point_record import VERSIONED_PACKAGES
from roofscope.profiling.analysis.verdict import Verdict
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.spec import REPLAYING_MODES, Provider
from roofscope.profiling.results.outcome import (
    CodeNote,
    CompileNotes,
    Examined,
    Failed,
    Measured,
    MemoryUse,
    ProfiledKernel,
    Verification,
)
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.roofline import Roof

_MOST_OF_NAME = 120
_AT_CLOCK_TIP = "The ceiling's FLOPs a cycle, at the clock that the point held"


def sections(row: PointRow, session: Session, recorded: Iterable[Session] = ()) -> tuple[Section, ...]:
    """The sections that have something to say, in reading order.

    ``recorded``: sessions of other machines, for points that have no time on this one.
    """
    measured = row.point.measured
    found = [_failure(row), _work(row, session)]
    if measured:
        found = [
            time_section(row, measured, session.device_of(row.point)),
            limiter_section(row.verdict, measured, verdict_sentence(row.point, row.verdict)),
            _work(row, session),
            device_section(measured, session.device_of(row.point)),
            energy_section(row, measured),
            _verification(measured.verification, row),
            _memory(measured, row, session),
            counted_section(row.point, session),
            _build(measured, row, session),
            tuning_section(measured),
            _kernels(measured),
        ]
    elif isinstance(row.point.outcome, Examined):
        examined = row.point.outcome
        found = [
            examined_section(row.point, examined, recorded_fact(row.point, recorded)),
            *([_verification(examined.verification, row)] if examined.verification else []),
            _work(row, session),
            compiled_section(examined),
        ]
    return tuple(part for part in (*found, _origin(row, session)) if not part.is_empty)


def _work(row: PointRow, session: Session) -> Section:
    work, spec = row.point.job.work, session.specs.get(row.point.implementation.kernel)

    def formula(text: str) -> str:
        return f" = {text}" if spec and not text.isdecimal() else ""

    flop_count, read, write = (
        (spec.work.flop_count, spec.work.read_bytes, spec.work.write_bytes) if spec else ("", "", "")
    )
    limiter = row.verdict.limiter
    return section(
        "Work and roof",
        Fact("FLOPs", flop_count_text(work.flop_count) + formula(flop_count), "FMA counts as 2"),
        Fact("Read", traffic_text(work.read_bytes) + formula(read), "Every input once; s = bytes an element"),
        Fact("Written", traffic_text(work.write_bytes) + formula(write), "Every output once"),
        Fact("Derived", "from the reference" if work.is_derived else "", spec.work.derived if spec else ""),
        Fact("Intensity", intensity_text(work.arithmetic_intensity)),
        Fact("Bandwidth", bandwidth_text(row.point.achieved_bandwidth)),
        Fact("Arithmetic", flop_rate_text(row.point.achieved_flop_rate) if work.flop_count else ""),
        Fact(
            "Ceiling",
            f"{limit_name(limiter)}, {ceiling_value_text(limiter)}, {limiter.source}" if limiter else "",
            limiter.method if limiter else "",
        ),
        Fact("Ceiling held at", conditions_text(limiter) if limiter else "", "While it was measured"),
        Fact("Roof at its clock", _at_clock(row), _AT_CLOCK_TIP),
        Fact("Roof allows", time_text(row.verdict.least_time_s), "Least time under that ceiling"),
        Fact("Highest roof", _envelope(row.verdict), "For reads alone or writes alone"),
    )


def _at_clock(row: PointRow) -> str:
    """``683 TFLOP/s at 1592 MHz, of which 95 %``; "" for a memory's roof, and where a clock is not known."""
    limiter, least_s, share = row.verdict.limiter, row.verdict.least_time_s, row.verdict.fraction_of_roof
    clock_hz = row.point.measured.evidence.clock_hz if row.point.measured else None
    if limiter is None or limiter.bound.is_memory or not least_s or not share:
        return ""
    held = Roof(limiter, least_s).at_clock(clock_hz)
    if held is None:
        return ""
    left = percent_text(share * held.least_time_s / least_s)
    return f"{ceiling_value_text(held.ceiling)} at {clock_text(clock_hz)}, of which {left}"


def _envelope(verdict: Verdict) -> str:
    """Where the ceiling of the work's own mix is beaten: what memory gives at best."""
    if verdict.envelope is None:
        return ""
    ceiling, least_s = verdict.envelope.ceiling, verdict.envelope.least_time_s
    return f"{ceiling_name(ceiling)}, {ceiling_value_text(ceiling)}, allows {time_text(least_s)}"


def _verification(found: Verification, row: PointRow) -> Section:
    return section(
        "Verification",
        Fact("Relative error", error_text(found.relative_error), "norm(y - reference) / norm(reference)"),
        Fact("Large inputs", error_text(found.large_relative_error), "Worst over large-magnitude inputs"),
        Fact("Allowed", error_text(found.tolerance)),
        Fact(
            "Largest difference",
            difference_text(found.largest) if found.largest else "",
            "Of one element, at the measured size",
        ),
        Fact(
            "Worst part",
            f"{percent_text(found.worst_part)} of what is allowed" if found.worst_part is not None else "",
            "Of all rows, chunks of 4096 elements and single elements, each against its own limit",
        ),
        Fact("Shapes", count_text(found.shape_count)),
        Fact("Not verified", found.unverified, "Results at this size are not known to be right"),
        Fact("Domain", row.point.implementation.domain, "The sizes that its file says it takes"),
    )


def _memory(measured: Measured, row: PointRow, session: Session) -> Section:
    """What a call allocates, and what of eager's temporary tensors fusing saved."""
    memory, made = measured.memory, row.point.implementation
    if memory is None:
        device = session.device_of(row.point)
        on_cpu = device is not None and device.kind is DeviceKind.CPU
        replays = made.provider is Provider.COMPILE and made.variant in REPLAYING_MODES
        missing = "not known: a CPU's allocator does not count" if on_cpu else ""
        if replays and not on_cpu:
            missing = "not known: it replays a graph whose memory was allocated before"
        return section("Memory of a call", Fact("Memory", missing))
    return section(
        "Memory of a call",
        Fact("Peak", memory_text(memory.peak_bytes), "Allocated at most, beside the inputs"),
        Fact("Outputs", memory_text(memory.output_bytes), "Of the peak, what it returns"),
        Fact("Temporary", memory_text(memory.temporary_bytes), "Of the peak, what it does not return"),
        Fact("Fusion saves", _fusion_saves(memory, row), "Temporary memory, beside the baseline's"),
    )


def _fusion_saves(memory: MemoryUse, row: PointRow) -> str:
    """``1.50 GiB of the 1.50 GiB of eager PyTorch``; "" where the baseline has no less to lose."""
    baseline = row.speed_up.baseline if row.speed_up and not row.speed_up.is_baseline else None
    before = baseline.measured.memory if baseline and baseline.measured else None
    if baseline is None or before is None or before.temporary_bytes <= memory.temporary_bytes:
        return ""
    saved = memory_text(before.temporary_bytes - memory.temporary_bytes)
    return f"{saved} of the {memory_text(before.temporary_bytes)} of {baseline.implementation.label}"


def _build(measured: Measured, row: PointRow, session: Session) -> Section:
    build = measured.build
    return section(
        "Build",
        Fact("Compile time", time_text(build.compile_s)),
        Fact(
            "Pays after",
            payback_text(row.payback) if build.compile_s else "",
            f"{PAYBACK_NOTE} {BY_WALL_NOTE} {IN_GRAPH_NOTE}",
        ),
        Fact("Graphs", count_text(build.graph_count), "That Dynamo made of a call"),
        Fact("Found on disk", count_text(build.cached_graphs or None), "Graphs that were compiled before"),
        Fact("Graph breaks", count_text(build.graph_breaks), "Where Python steps in between two graphs"),
        Fact("Recompiles", count_text(build.recompiles), "Of the same code, for other shapes or values"),
        *_compile_facts(build.compile_notes),
        Fact("Registers", count_text(build.registers), "A thread"),
        Fact("Spills", memory_text(build.spill_bytes), "A thread"),
        Fact("Shared memory", memory_text(build.shared_bytes), "A block"),
        occupancy_fact(measured, session.device_of(row.point)),
        Fact("Doubles", count_text(build.double_instructions), "Instructions in double precision"),
        Fact("Architecture", build.architecture or ""),
        Fact("Configuration", configuration_text(measured), "Chosen by the autotuner"),
    )


def _compile_facts(notes: CompileNotes | None) -> tuple[Fact, ...]:
    """Each graph break and each guard that failed with its line, in Dynamo's words."""
    if notes is None:
        return ()
    return (
        *(Fact("Breaks at", one_line(_note(note)), one_line(note.code)) for note in notes.breaks),
        *(Fact("Guard failed", one_line(_note(note)), one_line(note.code)) for note in notes.recompiles),
    )


def _note(note: CodeNote) -> str:
    return f"{note.file}:{note.line}, {note.reason}" if note.file else note.reason


def _kernels(measured: Measured) -> Section:
    return section(
        "Kernels of a call",
        *(
            Fact(time_text(kernel.total_s), f"{kernel.calls:g} × {_breakable(kernel.name)}", _tip(kernel))
            for kernel in measured.kernels
        ),
    )


def _tip(kernel: ProfiledKernel) -> str:
    """The name in full, and the shape of its launch."""
    launch = kernel.launch
    if launch is None:
        return kernel.name
    shape = f"{count_text(launch.blocks)} blocks of {count_text(launch.threads)} threads"
    occupancy = f", occupancy {percent_text(launch.occupancy)}" if launch.occupancy else ""
    return f"{kernel.name}\n{shape}{occupancy}"


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
    parameters = row.point.implementation.parameters
    return section(
        "Where it comes from",
        Fact(
            "Parameters",
            " ".join(one.text for one in parameters),
            "\n".join(f"It declares {one.choices_text}." for one in parameters),
        ),
        Fact("Device", f"{device.name} ({device.id})" if device else "", device.uuid if device else ""),
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
