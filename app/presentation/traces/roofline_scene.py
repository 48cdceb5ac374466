"""The operators of a trace on the roofline, as `trace roofline` computes them: one scene and its rows."""

import math
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from roofscope.app.presentation.formatting import percent_text, time_text
from roofscope.app.presentation.roofline.points import ChartPoint, StripPoint
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, build_scene
from roofscope.app.presentation.traces.ceilings import TraceCeilings
from roofscope.app.presentation.traces.operator_cells import reached_cells, unknown_cells
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.session import Session
from roofscope.profiling.traces.columns import Trace
from roofscope.profiling.traces.roofline import TracePoint, TraceRoofline, trace_roofline

OPERATOR_TITLES = (
    *("Operator", "Calls", "A call", "Share", "Of roof"),
    *("FLOP/s", "B/s", "FLOP/B", "Type", "Roof"),
)
UNKNOWN_TITLES = ("Unknown", "Calls", "Total", "Because")
_DTYPES = {dtype.label: dtype for dtype in Dtype}


class TracedRoofline(Struct, frozen=True, eq=False):
    """What a view shows; a point's number is its place among the rows."""

    found: TraceRoofline
    ceilings: TraceCeilings
    said: str
    points: tuple[ChartPoint | StripPoint, ...]
    rows: tuple[tuple[str, ...], ...]
    unknown: tuple[tuple[str, ...], ...]

    def scene(self, selected: int | None = None) -> ChartScene:
        """Nothing but ceilings is taken from the session that it is made with."""
        session = Session(Path("trace"), "", ceilings=self.ceilings.roofline.ceilings)
        return build_scene(session, self.points, ChartOptions(selected=selected))


def traced_roofline(trace: Trace, ceilings: TraceCeilings) -> TracedRoofline:
    """Seconds for a million events: made in a thread."""
    found = trace_roofline(trace)
    points = (_chart_point(number, point, ceilings) for number, point in enumerate(found.points))
    share, whole = percent_text(found.known_share), time_text(found.time_s)
    said = [
        f"The work of {share} of the {whole} that the GPUs worked is known."
        if found.time_s
        else "The trace holds no work of a GPU, so nothing of it stands here.",
        ceilings.said,
        ceilings.warning,
        "Above its roof: what it reads lay in the L2 cache, or a tensor was given twice."
        if any((point.fraction_of_roof(ceilings.roofline) or 0) > 1 for point in found.points)
        else "",
    ]
    return TracedRoofline(
        found,
        ceilings,
        " ".join(filter(None, said)),
        tuple(point for point in points if point is not None),
        tuple(tuple(reached_cells(point, found, ceilings.roofline).values()) for point in found.points),
        tuple(map(unknown_cells, found.unknown)),
    )


def _chart_point(number: int, point: TracePoint, ceilings: TraceCeilings) -> ChartPoint | StripPoint | None:
    """None where neither a rate nor a bandwidth is known. A trace has no interval of a time."""
    if not point.time_s or not point.byte_count:
        return None
    dtype, name = _DTYPES.get(point.dtype, Dtype.FLOAT32), one_line(f"{point.name} {point.shapes}")
    provider, series = _provider(point.kernels), str(number)  # each stands for itself
    share = point.fraction_of_roof(ceilings.roofline)
    if point.flop_per_s is None or point.intensity is None:
        x, roof = math.log10(point.byte_count / point.call_s), point.roof(ceilings.roofline)
        return StripPoint(
            *(number, x, x, x, provider, point.name, dtype, point.shapes, name),
            *(False, Regime.BURST, roof.ceiling if roof else None, series),
        )
    y = math.log10(point.flop_per_s)
    return ChartPoint(
        *(number, math.log10(point.intensity), y, y, y, share, share, share),
        *(provider, point.name, dtype, point.shapes, name),
        *(point.pipe, False, Regime.BURST, float(point.byte_count), series),
    )


def _provider(kernels: Sequence[str]) -> Provider:
    """By the names of its kernels: whose marker it has."""
    names = " ".join(kernels)
    if "triton" in names:
        return Provider.COMPILE
    is_library = any(word in names for word in ("nvjet", "cutlass", "cudnn", "gemm", "flash", "xmma"))
    return Provider.LIBRARY if is_library else Provider.EAGER
