"""Where the names of the ceilings stand: on the flat ones at the right, along those of memory."""

import math
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, Text, View, boxes_along, free
from roofscope.app.presentation.roofline.scene import RoofLine
from roofscope.app.presentation.verdict_text import ceiling_text
from roofscope.profiling.roofline.roofline import Bound, Ceiling

_GAP = 6.0  # pixels between a line and its text
_SAME = 4.0  # pixels between lines that share a text
_STEP = 12.0  # pixels a text is moved along its line to find a free place


class LineShape(Struct, frozen=True):
    """The visible piece of a ceiling, in pixels."""

    line: RoofLine
    start: Pair
    end: Pair
    is_target: bool  # the ceiling that limits the selected point


def compute_texts(lines: list[LineShape], view: View, font: Font, taken: list[Box]) -> list[Text]:
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
        wordings = (_ceilings_text(named), *([_short_text(named)] if lit else []))
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
    above, below = y - _GAP - font.ascent, y + _GAP - (font.height - font.ascent) / 2
    for top in (above, above - 4, above - 8, below, below + 4):
        for index in range(int(max(0.0, end - 10 - width - start) / _STEP) + 1):
            yield Box(end - 10 - width - index * _STEP, top, width, font.height)
    for away in range(6):  # as far as behind another memory's slope
        for rise in (font.height / 2, font.height):  # the line's own slope is soon below it
            yield Box(start - 14 - width - away * _STEP, y - rise, width, font.height)


def memory_texts(lines: list[LineShape], view: View, font: Font, taken: list[Box]) -> list[Text]:
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
        lit = any(shape.line.lit for shape in near)
        wordings = (_ceilings_text(named), _ceilings_text(last), _short_text(last))
        # Beside the slope is where the compute ceilings find room: rather a shorter text along it.
        along = (_text_along(text, near[0], lit, angle, font, taken) for text in wordings)
        beside = (_text_beside(text, near[0], lit, angle, view, font, taken) for text in wordings)
        if placed := next(filter(None, chain(along, beside)), None):
            texts.append(placed)
    return texts


def _text_along(
    text: str, top: LineShape, lit: bool, angle: float, font: Font, taken: list[Box]
) -> Text | None:
    """Above the line and as steep, from its left end on where markers leave room."""
    width = font.width(text)
    length = math.dist(top.start, top.end)
    for index in range(max(0, int((length - width - 40) / _STEP))):
        along = 18 + index * _STEP
        x = top.start[0] + along * math.cos(angle) - _GAP * math.sin(angle)
        y = top.start[1] - along * math.sin(angle) - _GAP * math.cos(angle)
        # The text stands on its baseline: its middle is half a letter off it.
        rise = font.ascent * 0.4
        start = (x - rise * math.sin(angle), y - rise * math.cos(angle))
        end = (start[0] + width * math.cos(angle), start[1] - width * math.sin(angle))
        boxes = boxes_along(start, end, font.height / 2, font.height / 2)
        if all(free(box, taken) for box in boxes):
            taken.extend(boxes)
            return Text(text, x, y, lit, -math.degrees(angle))
    return None


def _text_beside(
    text: str, top: LineShape, lit: bool, angle: float, view: View, font: Font, taken: list[Box]
) -> Text | None:
    """Level and left of the line, from its right end on."""
    width = font.width(text)
    length = math.dist(top.start, top.end)
    for index in range(int(length / _STEP)):
        along = length - 40 - index * _STEP
        x = top.start[0] + along * math.cos(angle) - 2 * _GAP - width
        y = top.start[1] - along * math.sin(angle) - font.height
        box = Box(x, y, width, font.height)
        if view.box.holds(box) and free(box, taken):
            taken.append(box)
            return Text(text, x, y + font.ascent, lit)
    return None


def _ceilings_text(ceilings: list[Ceiling]) -> str:
    """Names, values and provenance, the last said once: ``BF16 796 TFLOP/s · FP16 790 TFLOP/s, measured``."""
    parts: list[str] = []
    for index, ceiling in enumerate(ceilings):
        following = ceilings[index + 1].source if index + 1 < len(ceilings) else None
        text = ceiling_text(ceiling)
        parts.append(text if following is ceiling.source else f"{text}, {ceiling.source}")
    return " · ".join(parts)


def _short_text(ceilings: list[Ceiling]) -> str:
    """Where there is no room for the provenance: the line's dash tells it, and the hover card."""
    return " · ".join(map(ceiling_text, ceilings))
