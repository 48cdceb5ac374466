"""Points that would hide each other, set side by side along their roof.

Four good versions of one kernel differ by a few per cent: less than a marker on axes of six decades.
They slide along the ceiling that limits them, so that each keeps its distance to it; the middle of a
row is the true place, but where the row would leave the axes. Zoomed in far enough nothing is moved.
"""

import math
from collections.abc import Sequence

import msgspec

from roofscope.app.presentation.roofline.geometry import Pair, View
from roofscope.app.presentation.roofline.points import ChartPoint, PointGroup
from roofscope.app.presentation.roofline.scene import ChartScene, Range
from roofscope.profiling.planning.spec import Provider

_ORDER = {provider: index for index, provider in enumerate(Provider)}


def spread(scene: ChartScene, view: View, marker: float) -> ChartScene:
    """The scene with its crowded points moved; depends on the view's scale, not on its place."""
    moved: dict[int, ChartPoint] = {}
    rows: list[tuple[Pair, Pair]] = []
    for group in scene.groups:
        for crowd in _crowds(group.points, view, marker * 0.75):
            line = _side_by_side(crowd, view, marker, scene.x_range)
            moved.update((point.number, point) for point in line)
            rows.append(((line[0].x, line[0].y), (line[-1].x, line[-1].y)))
    if not moved:
        return scene
    groups = tuple(
        PointGroup(group.label, tuple(moved.get(point.number, point) for point in group.points))
        for group in scene.groups
    )
    target = scene.target
    if target and target.point.number in moved:
        point = moved[target.point.number]
        roof_y = target.roof_y + (point.x - target.point.x if target.ceiling.bound.is_memory else 0.0)
        target = msgspec.structs.replace(target, point=point, roof_y=roof_y)
    points = tuple(moved.get(point.number, point) for point in scene.points)
    return msgspec.structs.replace(scene, points=points, groups=groups, target=target, rows=tuple(rows))


def _crowds(points: Sequence[ChartPoint], view: View, reach: float) -> list[list[ChartPoint]]:
    """Runs of a workload's points, fastest first, each within reach (pixels) of the next."""
    crowds: list[list[ChartPoint]] = []
    for point in points:
        if crowds and view.py(point.y) - view.py(crowds[-1][-1].y) < reach:
            crowds[-1].append(point)
        else:
            crowds.append([point])
    return [crowd for crowd in crowds if len(crowd) > 1]


def _side_by_side(crowd: Sequence[ChartPoint], view: View, marker: float, axis: Range) -> list[ChartPoint]:
    """In the legend's order, nearly a marker (pixels) apart, centred on their common intensity."""
    across, up = view.box.width / view.x.span, view.box.height / view.y.span
    placed: list[ChartPoint] = []
    # A memory roof rises one decade a decade, a compute roof is level.
    decade = math.hypot(across, up) if crowd[0].on_slope else across
    gap, room, x = marker * 0.9 / decade, marker / across, crowd[0].x
    reach = (len(crowd) - 1) / 2 * gap
    shift = max(0.0, axis.low + room - (x - reach)) - max(0.0, x + reach - (axis.high - room))
    for index, point in enumerate(sorted(crowd, key=lambda point: _ORDER[point.provider])):
        step = shift - reach + index * gap
        rise = step if point.on_slope else 0.0
        placed.append(
            msgspec.structs.replace(
                point,
                x=point.x + step,
                y=point.y + rise,
                y_low=point.y_low + rise,
                y_high=point.y_high + rise,
            )
        )
    return placed
