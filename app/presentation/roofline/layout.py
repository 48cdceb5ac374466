"""Where everything but the points' own labels stands in one view; made again for every frame."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.caption import target_text
from roofscope.app.presentation.roofline.ceiling_lines import RoofLine
from roofscope.app.presentation.roofline.ceiling_names import (
    OWN_ROOF,
    TIE,
    CeilingName,
    Gutter,
    LineShape,
    NamePart,
    gutter_for,
    leaving,
    names_above,
    names_at_right,
    source_note,
)
from roofscope.app.presentation.roofline.crowd import Columns
from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, Text, View
from roofscope.app.presentation.roofline.level_marks import PlacedLevels, place_levels
from roofscope.app.presentation.roofline.ridge_ticks import RidgeTick, ridge_ticks
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.tokens import Tone
from roofscope.profiling.roofline.roofline import Bound, Source

MARKER = 11.0  # pixels across, in a legend; in a chart it is the scene's
_OVER_AXIS = 56.0  # a name above the plot may begin so far left of it: there only the axis is


class ChartLayout(Struct, frozen=True):
    """Everything in pixels. ``gutter`` is the room outside the plot; names and ticks stand there."""

    lines: tuple[LineShape, ...]
    attainable: tuple[Pair, ...]  # polygon under the lit roof
    names: tuple[CeilingName, ...]
    leads: tuple[tuple[Pair, Pair], ...]  # faint, from a slope's end to where its name is
    ridges: tuple[RidgeTick, ...]
    notes: tuple[Text, ...]  # muted, outside the plot: whence the values, and what the ticks are
    full: float | None  # the line of all of the roof, where heights are shares of it
    pill: Box | None  # where the factor left is written, beside the selected point's arrow
    gutter: Gutter
    levels: PlacedLevels | None = None  # of the selected point, where its memories were counted

    @property
    def outside(self) -> tuple[Box, ...]:
        """Boxes of all that is written outside the plot."""
        return tuple(name.box for name in self.names) + tuple(
            tick.box for tick in self.ridges if tick.box is not None
        )


def places_of(scene: ChartScene) -> NDArray[np.float64]:
    """Places of the scene's points and then its ghosts in the plane, a row each."""
    return Columns.of((*scene.points, *scene.ghosts)).places


def lay_out(
    scene: ChartScene,
    view: View,
    font: Font,
    gutter: Gutter,
    reserved: Sequence[Box] = (),
    places: NDArray[np.float64] | None = None,
) -> ChartLayout:
    """Clip the ceilings to the view and name them outside it. ``reserved`` keeps the pill off."""
    lines = [shape for line in scene.drawn_lines if (shape := _shape(line, scene, view))]
    left = leaving(view, lines)
    top = view.box.top - gutter.top
    end = view.box.right + gutter.right - 4
    names = names_at_right(left, view, gutter, font)
    names += names_above(left, gutter.words, font, (view.box.left - _OVER_AXIS, end), top, view.box.top)
    full = view.py(1.0) if scene.is_of_roof and view.y.low <= 1.0 <= view.y.high else None
    if full is not None:
        names.append(_own_roof(view, full, font))
    ridges = ridge_ticks(scene, view, font, [tie for name in names for tie in name.ties])
    places = places_of(scene) if places is None and scene.target else places
    pill = _pill(scene, view, font, places, reserved)
    return ChartLayout(
        lines=tuple(sorted(lines, key=lambda shape: (shape.is_target, shape.line.lit))),
        attainable=_attainable(scene, view),
        names=tuple(names),
        leads=tuple((leave.inner_end, leave.at) for leave in left if leave.inner_end),
        ridges=ridges,
        notes=_notes(scene, view, font),
        full=full,
        pill=pill,
        gutter=gutter,
        levels=_levels(scene, view, font, places, [*reserved, *([pill] if pill else [])]),
    )


def plot_box(scene: ChartScene, whole: Box, font: Font) -> tuple[Box, Gutter]:
    """The plot inside the room for it and its names."""
    gutter = gutter_for(scene, font, whole.width)
    return Box(
        whole.left, whole.top + gutter.top, whole.width - gutter.right, whole.height - gutter.top
    ), gutter


def preferred_source(sources: frozenset[Source]) -> Source | None:
    """The roof that is filled and whose ridges are named: measured before nameplate."""
    return min(sources, key=lambda source: source.rank, default=None)


def _shape(line: RoofLine, scene: ChartScene, view: View) -> LineShape | None:
    clipped = view.clip(line.start, line.end)
    if clipped is None:
        return None
    is_target = scene.target is not None and scene.target.ceiling == line.ceiling
    return LineShape(line, *clipped, is_target)


def _own_roof(view: View, y: float, font: Font) -> CeilingName:
    x = view.box.right + TIE
    box = Box(x, y - font.height / 2, font.width(OWN_ROOF), font.height)
    return CeilingName((NamePart(OWN_ROOF, x, Tone.LIT),), box, (), (((view.box.right, y), (x - 3, y)),))


def _notes(scene: ChartScene, view: View, font: Font) -> tuple[Text, ...]:
    """Whence the ceilings' values, said once where they share it."""
    note = source_note([line.ceiling for line in scene.drawn_lines])
    if not note:
        return ()
    return (Text(note, view.box.right + TIE, view.box.top - 4 - font.height + font.ascent),)


def _pill(
    scene: ChartScene,
    view: View,
    font: Font,
    places: NDArray[np.float64] | None,
    reserved: Sequence[Box],
) -> Box | None:
    """Beside the arrow where there is room, else over the roof or under the point."""
    target = scene.target
    if target is None or places is None or not view.shows(target.point.x, target.point.y):
        return None
    x, y = view.px(target.point.x), view.py(target.point.y)
    roof = view.py(target.roof_y)
    width, height = font.width(target_text(target)) + 14, font.height + 5
    middle = (y - MARKER + roof) / 2 - height / 2
    lefts = (x - width - 14, x + 14)
    tops = (middle, roof - height - 8, roof - 2 * height - 8, y + MARKER, y + MARKER + height)
    boxes = [Box(left, top, width, height) for top in tops for left in lefts]
    fits = [box for box in boxes if view.box.holds(box) and not any(map(box.meets, reserved))]
    pixels = view.pixels(places)
    half = scene.marker / 2 + 1
    return min(fits, key=lambda box: box.count_near(pixels, half), default=None)  # the first of those alike


def _levels(
    scene: ChartScene, view: View, font: Font, places: NDArray[np.float64] | None, taken: Sequence[Box]
) -> PlacedLevels | None:
    if scene.target is None or places is None or not scene.levels:
        return None
    pixels = view.pixels(places)
    return place_levels(scene.levels, scene.target.point, view, font, pixels, scene.marker, taken)


def _attainable(scene: ChartScene, view: View) -> tuple[Pair, ...]:
    """The area under the lit memory roof and its highest lit compute ceiling."""
    if scene.is_of_roof:
        top = min(max(view.py(1.0), view.box.top), view.box.bottom)
        sides = (view.box.left, view.box.right)
        return (*((x, top) for x in sides), *((x, view.box.bottom) for x in sides[::-1]))
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
