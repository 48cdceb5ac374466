"""An operator of a trace as a row: its own and whole times, or what it reached and under which roof."""

from typing import TYPE_CHECKING

from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    count_text,
    flop_rate_text,
    intensity_text,
    percent_text,
    time_text,
)
from roofscope.profiling.plain_text import one_line

if TYPE_CHECKING:
    from roofscope.profiling.roofline.roofline import Roofline
    from roofscope.profiling.traces.averages import OperatorRow
    from roofscope.profiling.traces.roofline import TracePoint, TraceRoofline, UnknownOperator

OPERATOR_HEADERS = ("operator", "calls", "host, own", "host, all", "GPU, own", "GPU, all")


def operator_cells(row: "OperatorRow") -> tuple[str, ...]:
    """What launched nothing has no time on a GPU."""
    device = (time_text(each) if each else MISSING for each in (row.device_self_s, row.device_total_s))
    return (row.name, count_text(row.count), time_text(row.host_self_s), time_text(row.host_total_s), *device)


def reached_cells(point: "TracePoint", found: "TraceRoofline", roofline: "Roofline") -> dict[str, str]:
    """By what stands over each."""
    roof = point.roof(roofline)
    return {
        "operator": one_line(f"{point.name} {point.shapes}"),
        "calls": count_text(point.count),
        "a call": time_text(point.call_s),
        "share": percent_text(point.time_s / found.time_s if found.time_s else None),
        "of roof": percent_text(point.fraction_of_roof(roofline)),
        "FLOP/s": flop_rate_text(point.flop_per_s),
        "B/s": bandwidth_text(point.byte_per_s),
        "FLOP/B": intensity_text(point.intensity),
        "type": point.dtype,
        "roof": roof.ceiling.label if roof else MISSING,
    }


def unknown_cells(each: "UnknownOperator") -> tuple[str, ...]:
    """Name, calls, total and why its work is not known."""
    return (one_line(each.name), count_text(each.count), time_text(each.time_s), each.why)
