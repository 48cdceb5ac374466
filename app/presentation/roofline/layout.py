"""Where everything but the points' own labels stands in one view; made again for every frame."""

import math
from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.formatting import intensity_text
from roofscope.app.presentation.roofline.caption import target_text
from roofscope.app.presentation.roofline.ceiling_labels import LineShape, compute_texts, memory_texts
from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, Text, View, boxes_along, free
from roofscope.app.presentation.roofline.scene import ChartScene, RidgePoint, RoofLine
from roofscope.app.presentation.verdict_text import ceiling_name
from roofscope.profiling.roofline.roofline import Bound, Source

MARKER = 11.0  # pixels across
MOST_MARKERS = 300


class RidgeShape(Struct, frozen=True):
    """A ridge point in pixels; ``drops`` where a dotted line leads down to the axis."""

    x: float
    y: float
    lit: bool
    drops: bool


class ChartLayout(Struct, frozen=True):
    """Everything in pixels. ``taken`` is where no label of a point may stand.

    No thin line from a point to its label may cross what is ``written``, a part of that.
    """

    lines: tuple[LineShape, ...]
    attainable: tuple[Pair, ...]  # polygon under the lit roof
    ridges: tuple[RidgeShape, ...]
    texts: tuple[Text, ...]
    pill: Box | None  # where the factor left is written, beside the selected point's arrow
    taken: tuple[Box, ...]
    written: tuple[Box, ...]


def lay_out(scene: ChartScene, view: View, font: Font, reserved: Sequence[Box] = ()) -> ChartLayout:
    """Clip the ceilings to the view and write on them, but not on what is ``reserved``."""
    lines = [shape for line in scene.lines if (shape := _shape(line, scene, view))]
    taken = _marker_boxes(scene, view)
    marker_count = len(taken)
    taken.extend(reserved)
    pill = _pill(scene, view, font, taken)
    if pill:
        taken.append(pill)  # first: what is left to the roof is what the user asked for
    texts = memory_texts(lines, view, font, taken)
    texts += compute_texts(lines, view, font, taken)
    ridges, ridge_texts = _ridges(scene, view, font, taken)
    written = tuple(taken[marker_count:])
    for shape in lines:
        taken.extend(boxes_along(shape.start, shape.end, 4.0, 7.0))
    return ChartLayout(
        tuple(sorted(lines, key=lambda shape: shape.line.lit)),
        _attainable(scene, view),
        tuple(ridges),
        (*texts, *ridge_texts),
        pill,
        tuple(taken[marker_count:]),
        written,
    )


def _marker_boxes(scene: ChartScene, view: View) -> list[Box]:
    """Ceilings are not written over ridge points, nor over markers while these leave room."""
    half = MARKER / 2 + 1
    crowded = len(scene.points) > MOST_MARKERS
    places = [(ridge.x, ridge.y) for ridge in scene.ridges if ridge.lit]
    places += [] if crowded else [(point.x, point.y) for point in scene.points]
    return [Box(view.px(x) - half, view.py(y) - half, 2 * half, 2 * half) for x, y in places]


def preferred_source(sources: frozenset[Source]) -> Source | None:
    """The roof that is filled and whose ridges are named: measured before nameplate."""
    return min(sources, key=lambda source: source.rank, default=None)


def _shape(line: RoofLine, scene: ChartScene, view: View) -> LineShape | None:
    clipped = view.clip(line.start, line.end)
    if clipped is None:
        return None
    is_target = scene.target is not None and scene.target.ceiling == line.ceiling
    return LineShape(line, *clipped, is_target)


def _ridges(
    scene: ChartScene, view: View, font: Font, taken: list[Box]
) -> tuple[list[RidgeShape], list[Text]]:
    source = preferred_source(scene.sources)
    shapes: list[RidgeShape] = []
    texts: list[Text] = []
    for ridge in sorted(scene.ridges, key=lambda ridge: not ridge.lit):
        if not (view.x.low <= ridge.x <= view.x.high and view.y.low <= ridge.y <= view.y.high):
            continue
        text = _ridge_text(ridge, view, font, taken) if ridge.lit and ridge.compute.source is source else None
        if text:
            texts.append(text)
        shapes.append(RidgeShape(view.px(ridge.x), view.py(ridge.y), ridge.lit, text is not None))
    return shapes, texts


def _ridge_text(ridge: RidgePoint, view: View, font: Font, taken: list[Box]) -> Text | None:
    """Beside the foot of the dotted line; one row up for each neighbour already there."""
    text = f"{ceiling_name(ridge.compute)} ridge {intensity_text(10**ridge.x)}"
    for row in range(4):
        baseline = view.box.bottom - 8 - row * (font.height + 2)
        box = Box(view.px(ridge.x) + 6, baseline - font.ascent, font.width(text) + 10, font.height)
        if view.box.holds(box) and free(box, taken):
            taken.append(box)
            return Text(text, box.left, baseline)
    return None


def _pill(scene: ChartScene, view: View, font: Font, taken: list[Box]) -> Box | None:
    """Beside the arrow where there is room, else over the roof or under the point."""
    target = scene.target
    if target is None or not view.shows(target.point.x, target.point.y):
        return None
    x, y = view.px(target.point.x), view.py(target.point.y)
    roof = view.py(target.roof_y)
    width, height = font.width(target_text(target)) + 14, font.height + 5
    middle = (y - MARKER + roof) / 2 - height / 2
    lefts = (x - width - 14, x + 14)
    tops = (middle, roof - height - 8, roof - 2 * height - 8, y + MARKER, y + MARKER + height)
    boxes = [Box(left, top, width, height) for top in tops for left in lefts]
    fits = [box for box in boxes if view.box.holds(box)]
    return next((box for box in fits if free(box, taken)), fits[0] if fits else None)


def _attainable(scene: ChartScene, view: View) -> tuple[Pair, ...]:
    """The area under the lit memory roof and its highest lit compute ceiling."""
    source = preferred_source(scene.sources)
    lit = [line for line in scene.lines if line.lit and line.is_main and line.ceiling.source is source]
    memory = next((line for line in lit if line.ceiling.bound is Bound.DRAM), None)
    compute = [line for line in lit if not line.ceiling.bound.is_memory]
    if memory is None or not compute:
        return ()
    top = max(line.start[1] for line in compute)
    slope = math.log10(memory.ceiling.value)
    bends = (top - slope, view.y.low - slope, view.y.high - slope, view.x.low, view.x.high)
    xs = sorted({min(max(x, view.x.low), view.x.high) for x in bends})
    roof = [(x, min(max(min(x + slope, top), view.y.low), view.y.high)) for x in xs]
    corners = (*roof, (view.x.high, view.y.low), (view.x.low, view.y.low))
    return tuple((view.px(x), view.py(y)) for x, y in corners)
