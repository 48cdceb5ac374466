"""The roofline of a trace: what operators reached, where their work is known, and what is not known and why.

Several kernels of one call share its work, so a point is the operator: all calls of it on the same shapes,
with the whole device time of its kernels, copies and fills.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from roofscope.profiling.planning.spec import Work
from roofscope.profiling.roofline.products import PRODUCTS, Product
from roofscope.profiling.roofline.roofline import Bound, Roof, Roofline
from roofscope.profiling.traces.columns import NONE, DeviceSheet, Trace
from roofscope.profiling.traces.origins import Origins, origins_of
from roofscope.profiling.traces.short_names import short_name
from roofscope.profiling.traces.work.formulas import UnknownWork, work_of
from roofscope.profiling.traces.work.operator_work import OperatorWork

_NS = 1e-9
_DECIDING = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")
_NO_OPERATOR = "the trace names no operator that launched it"
_OVER_THE_BUS = "it copies between host and device, which is no memory of the device"
_PIPES = {
    "bf16": Bound.BF16,
    "fp16": Bound.FP16,
    "fp8 e4m3": Bound.FP8,
    "fp8 e5m2": Bound.FP8,
    "int8": Bound.INT8,
}


class TracePoint(Struct, frozen=True):
    """All calls of an operator with the same arguments and kernels. Work is that of one call.

    None is not known. A tensor that is given twice counts twice, because a trace does not say where it lies.
    """

    name: str
    shapes: str
    dtype: str
    count: int
    time_s: float  # of all calls
    flop_count: int | None
    byte_count: int | None
    read_bytes: int | None
    kernels: tuple[str, ...]  # full names
    pipe: Bound | None  # that does its FLOPs; None where the kernels' names do not say

    @property
    def call_s(self) -> float:
        return self.time_s / self.count

    @property
    def flop_per_s(self) -> float | None:
        return self.flop_count / self.call_s if self.flop_count and self.time_s else None

    @property
    def byte_per_s(self) -> float | None:
        return self.byte_count / self.call_s if self.byte_count and self.time_s else None

    @property
    def intensity(self) -> float | None:
        """FLOP per byte."""
        return self.flop_count / self.byte_count if self.flop_count and self.byte_count else None

    def roof(self, roofline: Roofline) -> Roof | None:
        """What bounds it, without FLOPs its bytes; None where bytes, pipe or a ceiling is not known."""
        if self.byte_count is None or self.read_bytes is None:
            return None
        if self.flop_count and (self.pipe is None or roofline.best(self.pipe) is None):
            return None
        work = Work(self.flop_count or 0, self.read_bytes, self.byte_count - self.read_bytes)
        return roofline.limiter(work, self.pipe or Bound.FP32)

    def fraction_of_roof(self, roofline: Roofline) -> float | None:
        roof = self.roof(roofline)
        return roof.least_time_s / self.call_s if roof and self.time_s else None


class UnknownOperator(Struct, frozen=True):
    """Device time whose work is not known."""

    name: str
    why: str  # half a sentence
    count: int
    time_s: float


class TraceRoofline(Struct, frozen=True):
    """The longest first."""

    points: tuple[TracePoint, ...]
    unknown: tuple[UnknownOperator, ...]

    @property
    def time_s(self) -> float:
        """Of all work of GPUs."""
        return sum(each.time_s for each in (*self.points, *self.unknown))

    @property
    def known_share(self) -> float:
        return sum(point.time_s for point in self.points) / self.time_s if self.time_s else 0.0


class _Call(Struct):
    """What one call of an operator ran."""

    kernels: set[str]
    time_ns: int = 0


class _Gathered(Struct):
    """Calls of one operator with the same arguments, which ran the same kernels."""

    name: str
    arguments: Mapping[str, Any]
    kernels: frozenset[str]
    count: int = 0
    time_ns: int = 0


def trace_roofline(trace: Trace) -> TraceRoofline:
    origins = origins_of(trace)
    points: list[TracePoint] = []
    lost: list[UnknownOperator] = []
    for each in _gathered(trace, origins):
        time_s, count = each.time_ns * _NS, each.count
        try:
            work = _work(each)
        except UnknownWork as error:
            lost.append(UnknownOperator(each.name, str(error), count, time_s))
        else:
            points.append(_point(each, work, time_s))
    lost.extend(_without_operator(trace, origins))
    return TraceRoofline(
        tuple(sorted(points, key=lambda point: -point.time_s)),
        tuple(sorted(_joined(lost), key=lambda each: -each.time_s)),
    )


def _gathered(trace: Trace, origins: Origins) -> Iterable[_Gathered]:
    """By kernels too, because a matmul in float32 runs in TF32 or not by a setting that no argument shows."""
    calls: dict[int, _Call] = {}
    for work, operator in zip(origins.work.tolist(), origins.operator.tolist(), strict=True):
        if operator != NONE:
            call = calls.setdefault(operator, _Call(set()))
            call.kernels.add(trace.name_of(work))
            call.time_ns += int(trace.slices.duration_ns[work])
    found: dict[bytes, _Gathered] = {}
    for operator, call in calls.items():
        name, arguments = trace.name_of(operator), trace.arguments_of(operator)
        said = {field: arguments.get(field) for field in _DECIDING}
        key = msgspec.json.encode((name, said, sorted(call.kernels)))
        each = found.setdefault(key, _Gathered(name, said, frozenset(call.kernels)))
        each.count += 1
        each.time_ns += call.time_ns
    return found.values()


def _work(each: _Gathered) -> OperatorWork:
    if any(name.startswith("Memcpy") and "(Device -> Device)" not in name for name in each.kernels):
        raise UnknownWork(_OVER_THE_BUS)
    return work_of(each.name, each.arguments)


def _point(each: _Gathered, work: OperatorWork, time_s: float) -> TracePoint:
    read, written = work.read_bytes, work.write_bytes
    return TracePoint(
        name=each.name.removeprefix("aten::"),
        shapes=_shapes_text(each.arguments),
        dtype=work.dtype,
        count=each.count,
        time_s=time_s,
        flop_count=work.flop_count,
        byte_count=None if read is None or written is None else read + written,
        read_bytes=read,
        kernels=tuple(sorted(each.kernels)),
        pipe=_pipe(work, each.kernels),
    )


def _pipe(work: OperatorWork, kernels: Iterable[str]) -> Bound | None:
    """Of a matmul in float32 or float64 only a kernel's name says whether tensor cores did it."""
    if not work.multiplies:
        return {"fp64": Bound.FP64}.get(
            work.dtype, Bound.FP32
        )  # ATen computes with the short types in float32
    names = " ".join(kernels)
    shorts = {word for name in kernels for word in short_name(name).split()}
    if work.dtype == "fp32":
        if "tf32" in shorts:
            return Bound.TF32
        return Bound.FP32 if "_ffma_" in names or "_simt_sgemm_" in names else None
    if work.dtype == "fp64":
        return Bound.FP64_TENSOR if "_tensor" in names else None
    return _PIPES.get(work.dtype)


def _shapes_text(arguments: Mapping[str, Any]) -> str:
    """``8192x1024, 1024x4096``: tensors with a dimension."""
    said: list[list[Any]] = [
        cast(list[Any], each) for each in arguments["Input Dims"] if isinstance(each, list)
    ]
    sizes = [each for each in said if each and all(type(size) is int for size in each)]
    return ", ".join("x".join(map(str, each)) for each in sizes)


def _without_operator(trace: Trace, origins: Origins) -> Iterable[UnknownOperator]:
    for work in origins.work[origins.operator == NONE].tolist():
        name = short_name(trace.name_of(work))
        yield UnknownOperator(name, _NO_OPERATOR, 1, int(trace.slices.duration_ns[work]) * _NS)


def _joined(lost: Sequence[UnknownOperator]) -> Iterable[UnknownOperator]:
    """One for each name and reason."""
    groups: defaultdict[tuple[str, str], list[UnknownOperator]] = defaultdict(list)
    for each in lost:
        groups[each.name, each.why].append(each)
    for (name, why), group in groups.items():
        yield UnknownOperator(name, why, sum(g.count for g in group), sum(g.time_s for g in group))


def product_of(device: DeviceSheet) -> Product | None:
    """The GPU on whose data sheet a trace's device stands; None where the program does not know it."""
    return next(
        (
            product
            for product in PRODUCTS
            if product.driver_name == device.name
            and device.multiprocessors in (0, product.multiprocessor_count)
        ),
        None,
    )
