"""What another GPU's data sheet bounds each point to: a bound, and never a prediction.

No code reaches a data sheet, and how near it comes differs from GPU to GPU; only bounds of one kind are
compared, nameplate with nameplate. GPUs differ most in double precision, a half to a 64th of the rate of
floats: what a version was seen to execute in it is part of its bound, and what was not counted is named.
"""

from msgspec import Struct
from msgspec.structs import replace

from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    flop_rate_text,
    percent_text,
    ratio_text,
    si_text,
    size_and_fill_text,
    time_text,
)
from roofscope.profiling.analysis.limiter import LEAST_DOUBLES
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.spec import Work
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.nameplate import nameplate, tensor_class
from roofscope.profiling.roofline.products import Product
from roofscope.profiling.roofline.roofline import Bound, Ceiling

COLUMNS = (
    ("Measured here", "Median device time of a call"),
    ("Of roof", "Share of what the measured ceiling here allows"),
    ("Bound here", "Least time by this GPU's data sheet"),
    ("Bound there", "Least time by the other GPU's data sheet: no prediction"),
    ("Ratio", "Bound here over bound there: above 1 the other GPU's bound is lower"),
    ("Bound there by", "What of its data sheet gives the bound"),
)


class Projected(Struct, frozen=True):
    """One measured point; None where a bound is not known, which ``missing`` explains."""

    number: int
    kernel: str
    implementation: str
    workload: str  # "bf16 32Ki × 4Ki"
    measured_s: float
    fraction_of_roof: float | None  # of the ceilings measured here
    bound_here_s: float | None
    bound_there_s: float | None
    ratio: float | None  # of the bounds, here over there
    bound_there_by: str | None  # "DRAM", "BF16"
    missing: str = ""
    uncounted_doubles: int = 0  # instructions of its code in double precision, which no bound holds

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of COLUMNS."""
        return (
            time_text(self.measured_s),
            percent_text(self.fraction_of_roof),
            f"≥ {si_text(self.bound_here_s, 's')}" if self.bound_here_s is not None else MISSING,
            f"≥ {si_text(self.bound_there_s, 's')}" if self.bound_there_s is not None else MISSING,
            ratio_text(self.ratio),
            self._by,
        )

    @property
    def _by(self) -> str:
        if self.bound_there_by and self.uncounted_doubles:
            return f"{self.bound_there_by}, without its {self.uncounted_doubles} double instructions"
        return self.bound_there_by or self.missing


class Projection(Struct, frozen=True):
    """All measured points of a session, bound by another GPU's data sheet."""

    here: str  # the name of the session's device
    there: str
    bandwidth_byte_per_s: float | None
    sentence: str  # what the figures are, and are not
    points: tuple[Projected, ...]


def project(session: Session, product: Product) -> Projection:
    """Bound each measured point of the session by this GPU's nameplate."""
    there = _bounds(product.device)
    heres: dict[str, dict[Bound, Ceiling]] = {}
    points: list[Projected] = []
    for point in session.points:
        if point.measured is None:
            continue
        device = session.device_of(point)
        if device and device.uuid not in heres:
            heres[device.uuid] = _bounds(device)
        here = heres[device.uuid] if device else {}
        points.append(_projected(point, session, here, there, product))
    memory = there.get(Bound.DRAM)
    return Projection(
        here=session.device.name if session.device else "",
        there=product.label,
        bandwidth_byte_per_s=memory.value if memory else None,
        sentence=_sentence(product, there),
        points=tuple(points),
    )


def _bounds(device: Device) -> dict[Bound, Ceiling]:
    """By its nameplate; FP8 with sums in FP16, which fast accumulation may take where that is faster."""
    found = {ceiling.bound: ceiling for ceiling in nameplate(device, "")}
    row = tensor_class(device)
    if row and row.fp16_sums and Bound.FP8 in found:
        plain = found[Bound.FP8]
        found[Bound.FP8] = replace(plain, value=plain.value * row.fp16_sums / row.fp16)
    return found


def _projected(
    point: Point,
    session: Session,
    here: dict[Bound, Ceiling],
    there: dict[Bound, Ceiling],
    product: Product,
) -> Projected:
    assert point.measured is not None
    work, pipe = point.job.work, session.bound_of(point)
    doubles = _executed_doubles(point, session)
    mine, other = _least(work, pipe, doubles, here), _least(work, pipe, doubles, there)
    compiled = point.measured.build.double_instructions or 0
    bound_s = other[0] if other else None
    return Projected(
        number=point.number,
        kernel=point.implementation.kernel,
        implementation=point.implementation.label,
        workload=f"{point.job.workload.dtype.label} {size_and_fill_text(point.job.workload)}",
        measured_s=point.measured.time.median_s,
        fraction_of_roof=verdict(point, session).fraction_of_roof,
        bound_here_s=mine[0] if mine else None,
        bound_there_s=bound_s,
        ratio=mine[0] / bound_s if mine and bound_s else None,
        bound_there_by=other[1].label if other else None,
        missing="" if other else _why_missing(pipe, product),
        uncounted_doubles=compiled if doubles is None and compiled >= LEAST_DOUBLES else 0,
    )


def _executed_doubles(point: Point, session: Session) -> float | None:
    """FLOPs in double precision of one call, outside of tensor cores; None where nobody counted."""
    counters = session.counters.get(point.number)
    return counters.flops.get(Bound.FP64.label, 0.0) if counters and counters.flops else None


def _least(
    work: Work, pipe: Bound | None, doubles: float | None, ceilings: dict[Bound, Ceiling]
) -> tuple[float, Bound] | None:
    """The longest of what its bytes, its FLOPs and its doubles take; None where a rate is not known."""
    memory = ceilings.get(Bound.DRAM)
    if memory is None or pipe is None:
        return None
    bounds = [(work.byte_count / memory.value, Bound.DRAM)]
    if pipe is Bound.FP64_TENSOR and pipe not in ceilings:
        pipe = Bound.FP64  # which computes the same, where tensor cores have no doubles
    for bound, count in ((pipe, work.flop_count), (Bound.FP64, doubles)):
        if not count:
            continue
        ceiling = ceilings.get(bound)
        if ceiling is None:
            return None
        bounds.append((count / ceiling.value, bound))
    return max(bounds, key=lambda bound: bound[0])


def _why_missing(pipe: Bound | None, product: Product) -> str:
    if pipe is None:
        return "its kernel's specification is not kept"
    return f"{product.label}: no rate of {pipe.label} is known"


def _sentence(product: Product, ceilings: dict[Bound, Ceiling]) -> str:
    parts = [
        bandwidth_text(ceilings[Bound.DRAM].value) if Bound.DRAM in ceilings else "",
        *(
            f"{bound.label} {flop_rate_text(ceilings[bound].value)}"
            for bound in (Bound.FP64, Bound.FP32, Bound.TF32, Bound.FP16, Bound.BF16, Bound.FP8)
            if bound in ceilings
        ),
    ]
    return (
        f"Bounds by the data sheet of {product.label} ({', '.join(filter(None, parts))}), and no "
        "predictions: no code reaches a data sheet, and how near it comes differs from GPU to GPU. Rates are "
        "those of its rated clock; a card that boosts beyond it may pass a compute bound by some per cent."
    )
