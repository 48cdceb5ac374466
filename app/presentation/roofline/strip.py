"""The bandwidth strip: kernels without FLOPs have no arithmetic intensity, only a bandwidth."""

import math

from msgspec import Struct

from roofscope.app.presentation.roofline.points import StripPoint
from roofscope.app.presentation.roofline.scene import ChartScene, Range
from roofscope.profiling.roofline.roofline import Bound, Ceiling


class StripScene(Struct, frozen=True):
    """x is log10 of byte/s; each kernel has a lane, lane 0 on top."""

    x_range: Range
    kernels: tuple[str, ...]
    points: tuple[StripPoint, ...]
    ceilings: tuple[Ceiling, ...]  # the highest DRAM ceiling of each source drawn

    def lane(self, point: StripPoint) -> int:
        return self.kernels.index(point.kernel)


def strip_of(scene: ChartScene) -> StripScene | None:
    """None while every kernel shown has an intensity."""
    if not scene.strip:
        return None
    lines = [line for line in scene.lines if line.is_main and line.ceiling.bound is Bound.DRAM]
    ceilings = tuple({line.ceiling.source: line.ceiling for line in lines}.values())
    tops = [math.log10(ceiling.value) for ceiling in ceilings]
    tops = tops or [max(point.x for point in scene.strip)]
    extent = Range(math.floor(min(tops) * 4) / 4 - 1.5, math.ceil(max(tops) * 4 + 0.6) / 4)
    return StripScene(
        extent.widened_to(point.x for point in scene.strip),
        tuple(dict.fromkeys(point.kernel for point in scene.strip)),
        scene.strip,
        ceilings,
    )
