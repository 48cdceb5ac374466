"""A session's points as CSV and JSON: raw SI values, the unit in each column's name.

Every point is in them, failures with their reason, and every row carries the hardware and the
versions, so that rows of two files can be put together.
"""

import csv
import io
import math

import msgspec

from roofscope.profiling.analysis.comparison import BreakEven
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.results.outcome import Cancelled, Failed, Measured, Skipped
from roofscope.profiling.results.session import Point, Session, version
from roofscope.profiling.roofline.roofline import Ceiling

Cell = str | int | float | bool | None

VERSIONED_PACKAGES = ("torch", "triton", "cuda-core")


def csv_report(session: Session) -> str:
    """RFC 4180 text, its CRLF included, with a header line.

    An unknown value is an empty cell, a count never reached ``inf``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    break_even = BreakEven(session.points)
    for point in session.points:
        row = point_row(point, session, break_even)
        writer.writerow([_plain(row[column]) for column in COLUMNS])
    return text.getvalue()


def json_report(session: Session) -> str:
    """One object: session, device, versions, ceilings and points, samples included.

    An unknown value is null, and so is a break-even never reached, where ``compiling_pays`` is false.
    """
    break_even = BreakEven(session.points)
    points = [
        {
            **point_row(point, session, break_even),
            "sizes": point.job.workload.sizes,
            "samples_s": point.measured.time.samples_s if point.measured else (),
        }
        for point in session.points
    ]
    document = {
        "created_at": session.created_at,
        "environment": session.environment,
        "device": session.device,
        "ceilings": [_ceiling_row(ceiling) for ceiling in session.roofline.ceilings],
        "points": points,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def point_row(point: Point, session: Session, break_even: BreakEven) -> dict[str, Cell]:
    """One flat row; its keys are COLUMNS, in that order."""
    work, workload = point.job.work, point.job.workload
    judged = verdict(point, session)
    return {
        "number": point.number,
        "recorded_at": point.recorded_at,
        "kernel": workload.kernel,
        "provider": str(point.implementation.provider),
        "variant": point.implementation.variant,
        "dtype": str(workload.dtype),
        "sizes": workload.size_label,
        "regime": str(point.job.regime),
        "quality": str(point.job.quality),
        **_outcome_cells(point),
        "flop_count": work.flop_count,
        "read_bytes": work.read_bytes,
        "write_bytes": work.write_bytes,
        "arithmetic_intensity_flop_per_byte": work.arithmetic_intensity,
        **_measured_cells(point.measured),
        "achieved_bandwidth_byte_per_s": point.achieved_bandwidth,
        "achieved_flop_per_s": point.achieved_flop_rate,
        **_break_even_cells(break_even.calls(point)),
        "verdict": str(judged.kind),
        "limiter": judged.limiter.label if judged.limiter else None,
        "limiter_byte_per_s": _value(judged.limiter, memory=True),
        "limiter_flop_per_s": _value(judged.limiter, memory=False),
        "fraction_of_roof": judged.fraction_of_roof,
        "headroom_s": judged.headroom_s,
        "envelope": judged.envelope.ceiling.label if judged.envelope else None,
        "fraction_of_envelope": judged.fraction_of_envelope,
        "flags": "; ".join(judged.flags),
        "source_sha256": point.implementation.source_hash,
        **_machine_cells(session),
    }


def _break_even_cells(calls: float | None) -> dict[str, Cell]:
    """After how many calls compiling pays against eager, and whether it ever does.

    The second tells ``never`` from ``not known``: JSON has no infinity, so the first is null for both.
    """
    return {
        "break_even_call_count": calls,
        "compiling_pays": None if calls is None else math.isfinite(calls),
    }


def _outcome_cells(point: Point) -> dict[str, Cell]:
    match point.outcome:
        case Measured():
            kind, stage, message = None, None, None
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


def _measured_cells(measured: Measured | None) -> dict[str, Cell]:
    if measured is None:
        return dict.fromkeys(_MEASURED_COLUMNS)
    time, hot, build, evidence = measured.time, measured.hot, measured.build, measured.evidence
    cells: dict[str, Cell] = {
        "median_s": time.median_s,
        "low_s": time.low_s,
        "high_s": time.high_s,
        "block_count": len(time.samples_s),
        "calls_per_block": time.calls_per_block,
        "host_s": measured.host_s,
        "hot_median_s": hot.median_s if hot else None,
        "kernel_sum_s": measured.kernel_sum_s,
        "profiled_s": measured.profiled.seconds if measured.profiled else None,
        "kernel_calls": sum(kernel.calls for kernel in measured.kernels) if measured.kernels else None,
        "method": str(measured.method),
        "method_reason": measured.method_reason,
        "relative_error": measured.verification.relative_error,
        "large_relative_error": measured.verification.large_relative_error,
        "tolerance": measured.verification.tolerance,
        "compile_s": build.compile_s,
        "graph_count": build.graph_count,
        "graph_break_count": build.graph_breaks,
        "recompile_count": build.recompiles,
        "cached_graph_count": build.cached_graphs,
        "registers": build.registers,
        "spill_bytes": build.spill_bytes,
        "shared_bytes": build.shared_bytes,
        "configuration": build.configuration,
        "clock_hz": evidence.clock_hz,
        "memory_clock_hz": evidence.memory_clock_hz,
        "power_w": evidence.power_w,
        "temperature_c": evidence.temperature_c,
        "event_reasons": "; ".join(evidence.event_reasons),
    }
    return cells


_MEASURED_COLUMNS = (
    *("median_s", "low_s", "high_s", "block_count", "calls_per_block", "host_s", "hot_median_s"),
    *("kernel_sum_s", "profiled_s", "kernel_calls", "method", "method_reason"),
    *("relative_error", "large_relative_error", "tolerance"),
    *("compile_s", "graph_count", "graph_break_count", "recompile_count", "cached_graph_count"),
    *("registers", "spill_bytes", "shared_bytes", "configuration"),
    *("clock_hz", "memory_clock_hz", "power_w", "temperature_c", "event_reasons"),
)


def _machine_cells(session: Session) -> dict[str, Cell]:
    device = session.device
    return {
        "device": device.name if device else None,
        "device_uuid": device.uuid if device else None,
        "driver_version": device.driver_version if device else None,
        "host": session.environment.host if session.environment else None,
        **{f"{name.replace('-', '_')}_version": version(session, name) for name in VERSIONED_PACKAGES},
    }


def _ceiling_row(ceiling: Ceiling) -> dict[str, Cell]:
    return {
        "bound": str(ceiling.bound),
        "mix": str(ceiling.mix) if ceiling.mix else None,
        "source": str(ceiling.source),
        "value_byte_per_s" if ceiling.bound.is_memory else "value_flop_per_s": ceiling.value,
        "method": ceiling.method,
        "device_uuid": ceiling.device_uuid,
        "recorded_at": ceiling.recorded_at,
    }


def _value(ceiling: Ceiling | None, *, memory: bool) -> float | None:
    return ceiling.value if ceiling and ceiling.bound.is_memory is memory else None


def _plain(cell: Cell) -> str:
    """A CSV cell; ``repr`` of a float reads back to the same float."""
    if cell is None:
        return ""
    return repr(cell) if isinstance(cell, float) else str(cell)


COLUMNS = (
    *("number", "recorded_at", "kernel", "provider", "variant", "dtype", "sizes", "regime", "quality"),
    *("outcome", "outcome_kind", "stage", "message"),
    *("flop_count", "read_bytes", "write_bytes", "arithmetic_intensity_flop_per_byte"),
    *_MEASURED_COLUMNS,
    *("achieved_bandwidth_byte_per_s", "achieved_flop_per_s"),
    *("break_even_call_count", "compiling_pays"),
    *("verdict", "limiter"),
    *("limiter_byte_per_s", "limiter_flop_per_s", "fraction_of_roof", "headroom_s"),
    *("envelope", "fraction_of_envelope", "flags", "source_sha256"),
    *("device", "device_uuid", "driver_version", "host"),
    *("torch_version", "triton_version", "cuda_core_version"),
)
