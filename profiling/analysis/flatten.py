"""Makes the flat records of a session's points: outcome, speed-up, verdict and origin side by side."""

import math
from collections.abc import Iterator, Mapping

import msgspec

from roofscope.profiling.analysis.comparison import Baselines, BreakEven, Payback, SpeedUp
from roofscope.profiling.analysis.counted_cells import counted_cells
from roofscope.profiling.analysis.point_record import PointRecord
from roofscope.profiling.analysis.tuning_record import beside_runner_up, runner_up_verdict
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.planning.spec import size_text
from roofscope.profiling.results.marks import Mark, pins_of
from roofscope.profiling.results.outcome import (
    Cancelled,
    CodeNote,
    Examined,
    Failed,
    Flag,
    Measured,
    Outcome,
    Skipped,
    Verification,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Ceiling

Cells = dict[str, object]
_IN_COLUMNS = ("torch", "triton", "cuda-core")  # versions that have a column of their own


def point_records(session: Session) -> Iterator[PointRecord]:
    """In the order of the points. As in the window a speed-up is over the first pin, else eager."""
    break_even = BreakEven(session.points)
    baselines = Baselines(session.points, pinned=pins_of(session.marks))
    of_session = _session_cells(session)
    for point in session.points:
        cells: Cells = {
            **_planned_cells(point),
            **_outcome_cells(point),
            **_measured_cells(point.measured),
            **_examined_cells(point.outcome),
            "achieved_bandwidth_byte_per_s": point.achieved_bandwidth,
            "achieved_flop_per_s": point.achieved_flop_rate,
            **_break_even_cells(break_even.calls(point)),
            **_speed_up_cells(baselines.speed_up(point)),
            **_verdict_cells(point, session),
            **_origin_cells(point, session),
            **counted_cells(point, session),
            **_mark_cells(session.marks.get(point.number, Mark())),
            **of_session,
        }
        yield msgspec.convert(cells, PointRecord)  # which looks at each name and type


def _planned_cells(point: Point) -> Cells:
    work, workload, implementation = point.job.work, point.job.workload, point.implementation
    return {
        "number": point.number,
        "recorded_at": point.recorded_at,
        "kernel": workload.kernel,
        "implementation": implementation.name,
        "provider": str(implementation.provider),
        "variant": implementation.variant,
        "source_sha256": implementation.source_hash,
        "domain": implementation.domain,
        "parameters": {one.name: one.value for one in implementation.parameters},
        "dtype": str(workload.dtype),
        "sizes": workload.sizes,
        "fill": str(workload.fill),
        "regime": str(point.job.regime),
        "quality": str(point.job.quality),
        "work_is_derived": work.is_derived,
        "flop_count": work.flop_count,
        "read_bytes": work.read_bytes,
        "write_bytes": work.write_bytes,
        "arithmetic_intensity_flop_per_byte": work.arithmetic_intensity,
    }


def _outcome_cells(point: Point) -> Cells:
    match point.outcome:
        case Measured():
            kind, stage, message = None, None, None
        case Examined(missing=missing):
            kind, stage, message = None, None, missing or None
        case Skipped(kind=skip_kind, message=message):
            kind, stage = str(skip_kind), None
        case Failed(kind=failure_kind, stage=failure_stage, message=message):
            kind, stage = str(failure_kind), str(failure_stage)
        case Cancelled(message=message):
            kind, stage = None, None
    return {
        "outcome": type(point.outcome).__name__.lower(),
        "outcome_kind": kind,
        "stage": stage,
        "message": message,
    }


def _measured_cells(measured: Measured | None) -> Cells:
    if measured is None:
        return {**dict.fromkeys(_MEASURED), "samples_s": ()}
    time, hot, build, evidence = measured.time, measured.hot, measured.build, measured.evidence
    elasticity = measured.clock_elasticity
    return {
        "median_s": time.median_s,
        "low_s": time.bounds_s[0] if time.bounds_s else None,
        "high_s": time.bounds_s[1] if time.bounds_s else None,
        "reference_clock_hz": time.reference_hz,
        "block_count": len(time.samples_s),
        "calls_per_block": time.calls_per_block,
        "samples_s": time.samples_s,
        "host_s": measured.host_s,
        "hot_median_s": hot.median_s if hot else None,
        "kernel_sum_s": measured.kernel_sum_s,
        "profiled_s": measured.profiled.seconds if measured.profiled else None,
        "kernel_calls": sum(kernel.calls for kernel in measured.kernels) if measured.kernels else None,
        "energy_j": measured.energy.joules_per_call if measured.energy else None,
        "method": str(measured.method),
        "method_reason": measured.method_reason,
        **_verification_cells(measured.verification),
        "compile_s": build.compile_s,
        "graph_count": build.graph_count,
        "graph_break_count": build.graph_breaks,
        "recompile_count": build.recompiles,
        "cached_graph_count": build.cached_graphs,
        "registers": build.registers,
        "spill_bytes": build.spill_bytes,
        "shared_bytes": build.shared_bytes,
        "configuration": build.configuration,
        **_tuning_cells(measured),
        "clock_hz": evidence.clock_hz,
        "memory_clock_hz": evidence.memory_clock_hz,
        "power_w": evidence.power_w,
        "temperature_c": evidence.temperature_c,
        "event_reasons": None if evidence.event_reasons is None else "; ".join(evidence.event_reasons),
        "rotated_bytes": measured.rotated_bytes,
        "fresh_clock_hz": evidence.fresh_hz,
        "clock_held_by": "; ".join(evidence.held_by),
        "clock_elasticity": elasticity.value if elasticity else None,
        "clock_elasticity_low": elasticity.low if elasticity else None,
        "clock_elasticity_high": elasticity.high if elasticity else None,
        "clock_elasticity_low_hz": elasticity.clock_low_hz if elasticity else None,
        "clock_elasticity_high_hz": elasticity.clock_high_hz if elasticity else None,
        "double_instruction_count": build.double_instructions,
        "launch_floor_s": evidence.launch_floor_s,
        "is_sealed": None if measured.unsealed_because is None else not measured.unsealed_because,
        "unsealed_because": "; ".join(measured.unsealed_because or ()),
        **_compile_and_memory_cells(measured),
    }


def _examined_cells(outcome: Outcome) -> Cells:
    """What is known without a time stands in the same columns; the outcome's own column says what it is."""
    if not isinstance(outcome, Examined):
        built = outcome.build.architecture if isinstance(outcome, Measured) else None
        return {"architecture": built, "verified_sizes": None}
    build, found = outcome.build, outcome.verification
    cells: Cells = {
        "architecture": outcome.architecture or None,
        "verified_sizes": size_text(outcome.verified_sizes) if found else None,
    }
    if found:
        cells.update(_verification_cells(found))
    if build:
        cells.update(
            compile_s=build.compile_s,
            registers=build.registers,
            spill_bytes=build.spill_bytes,
            shared_bytes=build.shared_bytes,
            configuration=build.configuration,
            double_instruction_count=build.double_instructions,
        )
    return cells


def _compile_and_memory_cells(measured: Measured) -> Cells:
    memory, notes = measured.memory, measured.build.compile_notes
    return {
        "peak_bytes": memory.peak_bytes if memory else None,
        "temporary_bytes": memory.temporary_bytes if memory else None,
        "graph_breaks_at": _notes_text(notes.breaks) if notes else None,
        "recompiled_because": _notes_text(notes.recompiles) if notes else None,
    }


def _tuning_cells(measured: Measured) -> Mapping[str, object]:
    """Of the autotuner of which most was tried: mostly there is one. `roofscope tuning` has them all."""
    if not measured.tunings:
        return dict.fromkeys(_TUNED)
    tuning = max(measured.tunings, key=lambda each: len(each.configurations))
    found = beside_runner_up(measured, tuning)
    is_known = found is not None and found.is_known
    return {
        "tuned_configurations": len(tuning.configurations) + tuning.more,
        "tuned_left_out": sum(each.left_out is not None for each in tuning.configurations),
        "tuning_s": tuning.tuning_s,
        "runner_up_ratio": found.ratio if found else None,
        "runner_up_low": found.low if found and is_known else None,
        "runner_up_high": found.high if found and is_known else None,
        "runner_up_verdict": runner_up_verdict(found),
    }


def _notes_text(notes: tuple[CodeNote, ...]) -> str:
    return "; ".join(f"{note.file}:{note.line} {note.reason}" for note in notes)


def _verification_cells(found: Verification) -> Cells:
    largest = found.largest
    return {
        "relative_error": found.relative_error,
        "large_relative_error": found.large_relative_error,
        "tolerance": found.tolerance,
        "max_absolute_error": largest.absolute if largest else None,
        "max_error_output": largest.output if largest else None,
        "max_error_index": ", ".join(map(str, largest.index)) if largest else None,
        "max_error_value": largest.found if largest else None,
        "max_error_expected": largest.expected if largest else None,
        "worst_part_share": found.worst_part,
        "unverified": found.unverified,
    }


_TUNED = (
    *("tuned_configurations", "tuned_left_out", "tuning_s"),
    *("runner_up_ratio", "runner_up_low", "runner_up_high", "runner_up_verdict"),
)
_MEASURED = (
    *("median_s", "low_s", "high_s", "block_count", "calls_per_block", "host_s", "hot_median_s"),
    *("kernel_sum_s", "profiled_s", "kernel_calls", "energy_j", "method", "method_reason"),
    *("relative_error", "large_relative_error", "tolerance", "max_absolute_error", "max_error_output"),
    *("max_error_index", "max_error_value", "max_error_expected", "worst_part_share", "unverified"),
    *("compile_s", "graph_count", "graph_break_count", "recompile_count", "cached_graph_count"),
    *("registers", "spill_bytes", "shared_bytes", "configuration"),
    *_TUNED,
    *("clock_hz", "memory_clock_hz", "power_w", "temperature_c", "event_reasons", "rotated_bytes"),
    *("is_sealed", "unsealed_because"),
    *("clock_elasticity", "clock_elasticity_low", "clock_elasticity_high"),
    *("clock_elasticity_low_hz", "clock_elasticity_high_hz"),
    *("double_instruction_count", "launch_floor_s"),
    *("reference_clock_hz", "fresh_clock_hz", "clock_held_by"),
    *("peak_bytes", "temporary_bytes", "graph_breaks_at", "recompiled_because"),
)


def _break_even_cells(payback: Payback) -> Cells:
    by_wall, in_graph = payback.by_wall, payback.in_graph
    return {
        "break_even_wall_call_count": by_wall,
        "compiling_pays_by_wall": None if by_wall is None else math.isfinite(by_wall),
        "break_even_graph_call_count": in_graph,
        "compiling_pays_in_graph": None if in_graph is None else math.isfinite(in_graph),
    }


def _speed_up_cells(found: SpeedUp | None) -> Cells:
    is_known = found is not None and found.is_known
    return {
        "speed_up": found.ratio if found else None,
        "speed_up_low": found.low if found and is_known else None,
        "speed_up_high": found.high if found and is_known else None,
        "speed_up_verdict": _speed_up_verdict(found) if found else None,
        "speed_up_baseline": found.baseline.implementation.name if found else None,
        "speed_up_common_rounds": found.common_rounds if found and not found.is_baseline else None,
        "speed_up_methods": " / ".join(found.methods) if found and found.methods else None,
        "speed_up_comparisons": found.comparisons if found and not found.is_baseline else None,
    }


def _speed_up_verdict(found: SpeedUp) -> str:
    if found.is_baseline:
        return "baseline"
    if not found.is_known:
        return "not known"
    if not found.distinguishable:
        return "not distinguishable"
    return "faster" if found.ratio > 1 else "slower"


def _verdict_cells(point: Point, session: Session) -> Cells:
    judged = verdict(point, session)
    return {
        "verdict": str(judged.kind),
        "limiter": judged.limiter.label if judged.limiter else None,
        "limiter_byte_per_s": _value(judged.limiter, memory=True),
        "limiter_flop_per_s": _value(judged.limiter, memory=False),
        "fraction_of_roof": judged.fraction_of_roof,
        "headroom_s": judged.headroom_s,
        "envelope": judged.envelope.ceiling.label if judged.envelope else None,
        "fraction_of_envelope": judged.fraction_of_envelope,
        "evidence": "; ".join(f"{each.cause} {each.figure:.4g}" for each in judged.evidence) or None,
        "flags": "; ".join(judged.flags),
        **{f"flag_{flag.name.lower()}": flag in judged.flags for flag in Flag},
    }


def _value(ceiling: Ceiling | None, *, memory: bool) -> float | None:
    return ceiling.value if ceiling and ceiling.bound.is_memory is memory else None


def _mark_cells(mark: Mark) -> Cells:
    return {"pinned": mark.is_pinned, "note": mark.note, "tags": "; ".join(mark.tags)}


def _session_cells(session: Session) -> Cells:
    identity = session.identity
    return {
        "session_uuid": identity.uuid,
        "session_created_at": session.created_at,
        "session_file": session.path.name,
        "roofscope_version": identity.roofscope_version,
    }


def _origin_cells(point: Point, session: Session) -> Cells:
    """Where this point was measured: a session may have grown under several drivers and versions."""
    device, environment = session.device_of(point), session.environment_of(point)
    makers = [package.distribution for package in point.implementation.provider.facts.packages]
    names = (*_IN_COLUMNS, *makers)
    versions = {name: environment.version(name) if environment else None for name in names}
    made_by = "; ".join(f"{name} {found}" for name in makers if (found := versions[name]))
    return {
        "environment": point.origin,
        "device": device.name if device else None,
        "device_uuid": device.uuid if device else None,
        "driver_version": device.driver_version if device else None,
        "power_limit_w": device.power_limit_w if device else None,
        "host": environment.host if environment else None,
        "operating_system": environment.operating_system if environment else None,
        "python_version": environment.python if environment else None,
        **{f"{name.replace('-', '_')}_version": versions[name] for name in _IN_COLUMNS},
        "toolchain": made_by or None,
        "cuda_version": environment.cuda_version if environment else None,
        "measured_by_version": environment.roofscope_version if environment else None,
    }
