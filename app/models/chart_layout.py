"""Where everything but the points' own labels stands in one view; made anew for every frame."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from app.formatting import intensity_text
from app.models.chart_caption import target_text
from app.models.chart_scene import ChartScene, RidgePoint, RoofLine
from app.models.chart_view import Box, Font, Pair, Text, View, free
from app.verdict_text import ceiling_name, ceiling_value_text
from profiling.roofline import Bound, Ceiling, Source

GAP = 6.0  # pixels between a line and its text
MARKER = 11.0  # pixels across
MOST_MARKERS = 300
_SAME = 4.0  # pixels between lines that share a text
_STEP = 12.0  # pixels a text is moved along its line to find a free place


class LineShape(Struct, frozen=True):
    """The visible piece of a ceiling, in pixels."""

    line: RoofLine
    start: Pair
    end: Pair
    is_target: bool  # the ceiling that limits the selected point


class RidgeShape(Struct, frozen=True):
    """A ridge point in pixels; ``drops`` where a dotted line leads down to the axis."""

    x: float
    y: float
    lit: bool
    drops: bool


class ChartLayout(Struct, frozen=True):
    """Everything in pixels. ``taken`` is where no label of a point may stand."""

    lines: tuple[LineShape, ...]
    attainable: tuple[Pair, ...]  # polygon under the lit roof
    ridges: tuple[RidgeShape, ...]
    texts: tuple[Text, ...]
    pill: Box | None  # where the factor left is written, beside the selected point's arrow
    taken: tuple[Box, ...]


def lay_out(scene: ChartScene, view: View, font: Font, reserved: Sequence[Box] = ()) -> ChartLayout:
    """Clip the ceilings to the view and write on them, but not on what is ``reserved``."""
    lines = [shape for line in scene.lines if (shape := _shape(line, scene, view))]
    taken = _marker_boxes(scene, view)
    marker_count = len(taken)
    taken.extend(reserved)
    pill = _pill(scene, view, font, taken)
    if pill:
        taken.append(pill)  # first: what is left to the roof is what the user asked for
    texts = _memory_texts(lines, view, font, taken)
    texts += _compute_texts(lines, view, font, taken)
    ridges, ridge_texts = _ridges(scene, view, font, taken)
    for shape in lines:
        taken.extend(_boxes_along(shape.start, shape.end, 4.0, 7.0))
    return ChartLayout(
        tuple(sorted(lines, key=lambda shape: shape.line.lit)),
        _attainable(scene, view),
        tuple(ridges),
        (*texts, *ridge_texts),
        pill,
        tuple(taken[marker_count:]),
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
    order = (Source.MEASURED_BURST, Source.MEASURED_SUSTAINED, Source.NAMEPLATE_HELD, Source.NAMEPLATE)
    return next((source for source in order if source in sources), None)


def _shape(line: RoofLine, scene: ChartScene, view: View) -> LineShape | None:
    clipped = view.clip(line.start, line.end)
    if clipped is None:
        return None
    is_target = scene.target is not None and scene.target.ceiling == line.ceiling
    return LineShape(line, *clipped, is_target)


def _compute_texts(lines: list[LineShape], view: View, font: Font, taken: list[Box]) -> list[Text]:
    """On the line's right end, above it or below. Lines that all but coincide share a text."""
    flat = [shape for shape in lines if not shape.line.ceiling.bound.is_memory]
    roofs = [shape for shape in lines if shape.line.lit and shape.line.is_main]
    flat.sort(key=lambda shape: shape.start[1])
    clusters: list[list[LineShape]] = []
    for shape in flat:
        if clusters and shape.start[1] - clusters[-1][0].start[1] < _SAME:
            clusters[-1].append(shape)
        else:
            clusters.append([shape])
    texts: list[Text] = []
    for cluster in sorted(clusters, key=lambda cluster: not any(shape.line.lit for shape in cluster)):
        lit = [shape for shape in cluster if shape.line.lit]
        named = [shape.line.ceiling for shape in lit or cluster]
        wordings = (ceilings_text(named), *([_short_text(named)] if lit else []))
        # Better over a thin line than not at all, but never over a roof that can bound what is shown.
        for text, avoided in ((text, avoided) for avoided in (lines, [*flat, *roofs]) for text in wordings):
            box = _free_place(cluster[0], avoided, text, view, font, taken)
            if box:
                taken.append(box)
                texts.append(Text(text, box.left, box.top + font.ascent, bool(lit)))
                break
    return texts


def _free_place(
    shape: LineShape, lines: list[LineShape], text: str, view: View, font: Font, taken: list[Box]
) -> Box | None:
    for box in _places(shape, font.width(text), font):
        crossed = any(_crosses(other, box) for other in lines)
        if not crossed and view.box.holds(box) and free(box, taken):
            return box
    return None


def _crosses(shape: LineShape, box: Box) -> bool:
    """Whether a ceiling, flat or sloped, goes through the box."""
    (x1, y1), (x2, y2) = shape.start, shape.end
    left, right = max(box.left, x1), min(box.right, x2)
    if left >= right:
        return False
    ends = [y1 + (y2 - y1) * (x - x1) / (x2 - x1) for x in (left, right)]
    return min(ends) < box.bottom and max(ends) > box.top


def _places(shape: LineShape, width: float, font: Font) -> Iterator[Box]:
    """From the line's right end leftwards, above it or below; at last left of its ridge point."""
    (start, y), (end, _) = shape.start, shape.end
    above, below = y - GAP - font.ascent, y + GAP - (font.height - font.ascent) / 2
    for top in (above, above - 4, above - 8, below, below + 4):
        for index in range(int(max(0.0, end - 10 - width - start) / _STEP) + 1):
            yield Box(end - 10 - width - index * _STEP, top, width, font.height)
    for rise in (font.height / 2, font.height):  # the slope is soon below it
        yield Box(start - 14 - width, y - rise, width, font.height)


def _memory_texts(lines: list[LineShape], view: View, font: Font, taken: list[Box]) -> list[Text]:
    """Along the slope, above the topmost of the lines that run close together."""
    slopes = [shape for shape in lines if shape.line.ceiling.bound.is_memory and shape.line.is_main]
    lit = [shape for shape in slopes if shape.line.lit or shape.line.ceiling.bound is Bound.L2]
    slopes = lit or slopes
    slopes.sort(key=lambda shape: -shape.line.ceiling.value)
    per_decade_x, per_decade_y = view.box.width / view.x.span, view.box.height / view.y.span
    angle = math.atan2(per_decade_y, per_decade_x)
    clusters: list[list[LineShape]] = []
    while slopes:
        top = slopes[0]
        level = math.log10(top.line.ceiling.value)
        near = [
            shape
            for shape in slopes
            if (level - math.log10(shape.line.ceiling.value)) * per_decade_y * math.cos(angle) < font.height
        ]
        slopes = slopes[len(near) :]
        clusters.append(near)
    texts: list[Text] = []
    for near in sorted(clusters, key=lambda near: not any(shape.line.lit for shape in near)):
        # Where burst and sustained all but coincide, the higher one speaks for both.
        highest = list({shape.line.ceiling.bound: shape for shape in reversed(near)}.values())[::-1]
        named, last = ([shape.line.ceiling for shape in some] for some in (highest, highest[-1:]))
        for text in (ceilings_text(named), ceilings_text(last), _short_text(last)):
            lit = any(shape.line.lit for shape in near)
            if placed := _memory_text(text, near[0], lit, angle, view, font, taken):
                texts.append(placed)
                break
    return texts


def _memory_text(
    text: str, top: LineShape, lit: bool, angle: float, view: View, font: Font, taken: list[Box]
) -> Text | None:
    """Along the topmost line; where markers leave no room there, level and left of it."""
    width = font.width(text)
    length = math.dist(top.start, top.end)
    for index in range(max(0, int((length - width - 40) / _STEP))):
        along = 18 + index * _STEP
        x = top.start[0] + along * math.cos(angle) - GAP * math.sin(angle)
        y = top.start[1] - along * math.sin(angle) - GAP * math.cos(angle)
        # The text stands on its baseline: its middle is half a letter off it.
        rise = font.ascent * 0.4
        start = (x - rise * math.sin(angle), y - rise * math.cos(angle))
        end = (start[0] + width * math.cos(angle), start[1] - width * math.sin(angle))
        boxes = _boxes_along(start, end, font.height / 2, font.height / 2)
        if all(free(box, taken) for box in boxes):
            taken.extend(boxes)
            return Text(text, x, y, lit, -math.degrees(angle))
    for index in range(int(length / _STEP)):
        along = length - 40 - index * _STEP
        x = top.start[0] + along * math.cos(angle) - 2 * GAP - width
        y = top.start[1] - along * math.sin(angle) - font.height
        box = Box(x, y, width, font.height)
        if view.box.holds(box) and free(box, taken):
            taken.append(box)
            return Text(text, x, y + font.ascent, lit)
    return None


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
        box = Box(view.px(ridge.x) + 6, baseline - font.ascent, font.width(text), font.height)
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


def ceilings_text(ceilings: list[Ceiling]) -> str:
    """Names, values and provenance, the last said once: ``BF16 796 TFLOP/s · FP16 790 TFLOP/s, measured``."""
    parts: list[str] = []
    for index, ceiling in enumerate(ceilings):
        following = ceilings[index + 1].source if index + 1 < len(ceilings) else None
        text = f"{ceiling_name(ceiling)} {ceiling_value_text(ceiling)}"
        parts.append(text if following is ceiling.source else f"{text}, {ceiling.source}")
    return " · ".join(parts)


def _short_text(ceilings: list[Ceiling]) -> str:
    """Where there is no room for the provenance: the line's dash tells it, and the hover card."""
    return " · ".join(f"{ceiling_name(ceiling)} {ceiling_value_text(ceiling)}" for ceiling in ceilings)


def _boxes_along(start: Pair, end: Pair, half: float, step: float) -> list[Box]:
    """Squares along a line: enough to keep labels off it."""
    count = max(1, math.ceil(math.dist(start, end) / step))
    return [
        Box(
            start[0] + (end[0] - start[0]) * index / count - half,
            start[1] + (end[1] - start[1]) * index / count - half,
            2 * half,
            2 * half,
        )
        for index in range(count + 1)
    ]
