"""The chart says of every ceiling which line is its own, and draws every point at its value."""

import math
import os
import random
from collections.abc import Iterator
from functools import cache, partial
from itertools import chain, combinations, pairwise

import msgspec
import pytest

from roofscope.app.presentation.roofline.ceiling_names import CeilingName
from roofscope.app.presentation.roofline.geometry import Box, Font, View
from roofscope.app.presentation.roofline.layout import ChartLayout, lay_out, plot_box
from roofscope.app.presentation.roofline.point_labels import place_labels
from roofscope.app.presentation.roofline.points import ChartPoint, StripPoint, all_points
from roofscope.app.presentation.roofline.ranges import Range
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, build_scene
from roofscope.app.presentation.roofline.strip import LANE, lay_out_strip, strip_of
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Source
from roofscope.tests.label_boxes import label_box
from roofscope.tests.recorded import kept

SESSIONS = ("h200", "h200-tour", "h200-gelu")
SIZES = ((640, 360), (739, 420), (1180, 620), (2400, 1300))
FONT = Font(11, partial(text_width, size=11))
_HALF = 0.5  # pixels
_SAMPLE = 60  # combinations of the default run
_MOST = 10_000  # checks of a session, which take two minutes
_PARTS = 4  # of the exhaustive run, which may run side by side
_SHARE = (
    1 if os.environ.get("ROOFSCOPE_EVERY_COMBINATION") else 3
)  # of those of the largest session, one in so many

Choice = tuple[str, frozenset[Source], frozenset[Bound], tuple[int, int]]


@cache
def opened(name: str) -> tuple[Session, list[ChartPoint | StripPoint]]:
    session = load(kept(name))
    return session, all_points(session)


def some_of(values: list[Source] | list[Bound]) -> Iterator[tuple[object, ...]]:
    return chain.from_iterable(combinations(values, count) for count in range(1, len(values) + 1))


def choices() -> list[Choice]:
    """Every source with every pipe, of each session and at each size."""
    found: list[Choice] = []
    for name in SESSIONS:
        ceilings = opened(name)[0].ceilings
        sources = [source for source in Source if any(c.source is source for c in ceilings)]
        pipes = [b for b in Bound if not b.is_memory and any(c.bound is b for c in ceilings)]
        found += [
            (name, frozenset(some), frozenset(bounds), size)  # type: ignore[misc]
            for some in some_of(sources)
            for bounds in some_of(pipes)
            for size in SIZES
        ]
    return found


def check(choice: Choice, ranges: tuple[Range, Range] | None = None, selected: int | None = None) -> None:
    name, sources, bounds, size = choice
    session, points = opened(name)
    scene = build_scene(session, points, ChartOptions(sources=sources, bounds=bounds, selected=selected))
    whole = Box(62, 0, size[0] - 62, size[1])
    box, gutter = plot_box(scene, whole, FONT)
    view = View(*(ranges or (scene.x_range, scene.y_range)), box)
    layout = lay_out(scene, view, FONT, gutter)
    drawn = {shape.line.ceiling for shape in layout.lines}
    assert {ceiling for name in layout.names for ceiling in name.ceilings} == drawn
    for each in layout.names:
        check_its_ties(each, drawn, view)
    check_values(layout)
    at_right = [each for each in layout.names if each.ties[0][0][0] == box.right]
    for block in blocks_of(at_right):
        check_nearest(block, [at_edge(ceiling, view)[1] for ceiling in drawn if leaves_right(ceiling, view)])
    for each in layout.names:
        if each not in at_right:
            check_nearest_above(each, {c for c in drawn if not leaves_right(c, view)}, view)
    check_texts(scene, layout, view, Box(0, 0, *size))


def at_edge(ceiling: Ceiling, view: View) -> tuple[float, float]:
    """Where the ceiling is at the plot's edge, by its value alone; in pixels."""
    box, level = view.box, math.log10(ceiling.value)
    across, up = box.width / view.x.span, box.height / view.y.span
    if ceiling.bound.is_memory and not leaves_right(ceiling, view):
        return box.left + (view.y.high - level - view.x.low) * across, box.top
    y = level + view.x.high if ceiling.bound.is_memory else level
    return box.right, box.bottom - (y - view.y.low) * up


def leaves_right(ceiling: Ceiling, view: View) -> bool:
    return not ceiling.bound.is_memory or view.y.high - math.log10(ceiling.value) > view.x.high


def check_its_ties(name: CeilingName, drawn: set[Ceiling], view: View) -> None:
    """Each begins at the line of its own ceiling, nearer than at any other's, and ends at the name."""
    for ceiling, (start, end) in zip(name.ceilings, name.ties, strict=True):
        own = math.dist(start, at_edge(ceiling, view))
        assert own <= _HALF, name.text
        assert own <= min(math.dist(start, at_edge(other, view)) for other in drawn) + 1e-6, name.text
        box = Box(name.box.left - 4, name.box.top - 4, name.box.width + 8, name.box.height + 8)
        assert box.holds(Box(*end, 0, 0)), name.text


def check_values(layout: ChartLayout) -> None:
    """What a name says of a ceiling is true of it: its unit's name, its value, or the ends of several."""
    for name in layout.names:
        values = sorted({f"{_mantissa(ceiling.value)}" for ceiling in name.ceilings})
        said = name.text.replace(" ", " ")
        if " to " in said:
            ends = [min(c.value for c in name.ceilings), max(c.value for c in name.ceilings)]
            assert all(_mantissa(value) in said for value in ends), said
        else:
            assert all(value in said for value in values), said
            assert all(ceiling.bound.label in said for ceiling in name.ceilings), said


def _mantissa(value: float) -> str:
    rounded = float(f"{value:.2e}")
    scaled = rounded / 1000 ** math.floor(math.log10(rounded) / 3 + 1e-12)
    return f"{scaled:.{2 - math.floor(math.log10(scaled) + 1e-12)}f}"


def blocks_of(names: list[CeilingName]) -> list[list[CeilingName]]:
    """Rows that touch, in the order of their lines."""
    blocks: list[list[CeilingName]] = []
    for name in sorted(names, key=lambda name: name.box.top):
        if blocks and name.box.top - blocks[-1][-1].box.bottom < 0.5:
            blocks[-1].append(name)
        else:
            blocks.append([name])
    return blocks


def check_nearest(block: list[CeilingName], lines: list[float]) -> None:
    """Of all lines one of the block's own is the nearest to its middle; its rows are in their order."""
    middle = (block[0].box.top + block[-1].box.bottom) / 2
    own = [tie[0][1] for name in block for tie in name.ties]
    assert min(abs(y - middle) for y in own) <= min(abs(y - middle) for y in lines) + _HALF
    for above, below in pairwise(block):
        assert max(t[0][1] for t in above.ties) <= min(t[0][1] for t in below.ties) + 1e-6


def check_nearest_above(name: CeilingName, drawn: set[Ceiling], view: View) -> None:
    """Of the lines that leave at the top its own are the nearest."""

    def away(ceiling: Ceiling) -> float:
        x = at_edge(ceiling, view)[0]
        return max(name.box.left - x, x - name.box.right, 0.0)

    own = min(away(ceiling) for ceiling in name.ceilings)
    others = drawn - set(name.ceilings)
    assert own <= min(map(away, others), default=math.inf), name.text
    foreign = [c for c in others if c.bound is not name.ceilings[0].bound]
    # Where lines leave at the plot's left corner, a text of one memory may reach over those of the other.
    if all(at_edge(ceiling, view)[0] > view.box.left + 60 for ceiling in drawn):
        assert all(map(away, foreign)), name.text


def check_texts(scene: ChartScene, layout: ChartLayout, view: View, whole: Box) -> None:
    """None overlaps another, those of ceilings are outside the plot, and none is cut off."""
    outside = [*layout.outside]
    outside += [
        Box(note.x, note.baseline - FONT.ascent, FONT.width(note.text), FONT.height) for note in layout.notes
    ]
    inside = [label_box(label, view, FONT) for label in place_labels(scene, view, FONT, layout)]
    inside += [layout.pill] if layout.pill else []
    for boxes, room in ((outside, whole), (inside, view.box)):
        for index, box in enumerate(boxes):
            # Rows stand on each other; a hundredth of a pixel is what is left of that by rounding.
            least = Box(box.left + 0.01, box.top + 0.01, box.width - 0.02, box.height - 0.02)
            assert not any(least.meets(other) for other in boxes[index + 1 :])
            assert room.left <= least.left
            assert least.right <= room.right
            assert room.top <= least.top
            assert least.bottom <= room.bottom
    assert not any(box.meets(view.box) for box in outside if box.bottom > view.box.top + 0.01)


def test_every_ceiling_is_named_at_its_own_line() -> None:
    every = choices()
    for name in SESSIONS:  # those with the most lines are always looked at
        check(max((c for c in every if c[0] == name), key=lambda c: (len(c[1]) + len(c[2]), -c[3][0])))
    for choice in random.Random(18).sample(every, _SAMPLE):
        check(choice)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize("name", SESSIONS)
def test_every_combination_of_ceilings_is_named_at_its_own_lines(name: str, part: int) -> None:
    """At every size; of a session with eleven pipes, which has 30,705 combinations, at one each, in turn.

    Of these one in three, because all take four minutes of two cores; CONTRIBUTING.md says how to check each.
    """
    every = [choice for choice in choices() if choice[0] == name]
    if len(every) > _MOST:
        every = [
            every[at + at // len(SIZES) % len(SIZES)] for at in range(0, len(every), len(SIZES) * _SHARE)
        ]
    for choice in every[part::_PARTS]:
        check(choice)


@pytest.mark.parametrize("name", SESSIONS)
def test_ceilings_are_named_at_their_lines_in_every_view(name: str) -> None:
    dice = random.Random(name)
    every = [choice for choice in choices() if choice[0] == name]
    for _ in range(_SAMPLE):
        x, y, span = dice.uniform(-1.5, 3), dice.uniform(10, 15), dice.uniform(0.1, 4)
        view = (Range(x, x + span), Range(y, y + span * dice.uniform(0.5, 2)))
        check(dice.choice(every), view)


def test_the_roof_of_the_selected_point_is_named_as_such() -> None:
    """The case that was seen: softmax, Triton online, with L2 and DRAM write drawn."""
    session, _ = opened("h200-tour")
    wanted = ("softmax", "Triton online", "bfloat16")
    for point in session.points:
        workload = point.job.workload
        if point.measured and (workload.kernel, point.implementation.label, workload.dtype) == wanted:
            every = [c for c in choices() if c[0] == "h200-tour" and Source.MEASURED_BURST in c[1]]
            check(random.Random(point.number).choice(every), selected=point.number)


def test_a_crowd_hides_no_ceilings_name() -> None:
    session, points = opened("h200")
    scene = build_scene(session, points)
    crowd = msgspec.structs.replace(scene, points=scene.points * 36)
    assert len(crowd.points) > 10_000
    box, gutter = plot_box(crowd, Box(62, 0, 1118, 620), FONT)
    layout = lay_out(crowd, View(crowd.x_range, crowd.y_range, box), FONT, gutter)
    drawn = {line.ceiling for line in crowd.lines}
    assert {ceiling for name in layout.names for ceiling in name.ceilings} == drawn


@pytest.mark.parametrize("width", [360, 600, 1100, 2300])
def test_a_ceiling_of_the_strip_is_named_over_its_line(width: int) -> None:
    session, points = opened("h200")
    strip = strip_of(build_scene(session, points))
    assert strip is not None
    view = View(strip.x_range, strip.x_range, Box(62, 24, width, LANE * len(strip.kernels)))
    layout = lay_out_strip(strip, view, FONT, 60)
    assert {ceiling for name in layout.names for ceiling in name.ceilings} == set(strip.ceilings)
    for name in layout.names:
        for ceiling, (start, _) in zip(name.ceilings, name.ties, strict=True):
            assert start[0] == pytest.approx(view.px(math.log10(ceiling.value)))
            assert name.box.left <= start[0] <= name.box.right
        assert name.box.right <= view.box.right + 60


def test_the_strip_says_a_source_that_the_plot_does_not() -> None:
    session, points = opened("h200")
    view = View(Range(11, 13), Range(11, 13), Box(62, 24, 900, 32))
    for source, says in ((Source.MEASURED_BURST, False), (Source.NAMEPLATE, True)):
        strip = strip_of(build_scene(session, points, ChartOptions(sources=frozenset({source}))))
        assert strip is not None
        for name in lay_out_strip(strip, view, FONT, 60).names:
            assert name.text.endswith("burst") is says
