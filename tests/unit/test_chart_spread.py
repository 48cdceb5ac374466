"""Points that would hide each other stand side by side and keep their distance to the roof."""

import math

import pytest

from roofscope.app.presentation.roofline.geometry import Box, View
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, Range, build_scene
from roofscope.app.presentation.roofline.spread import spread
from roofscope.tests.sessions import make_session

MARKER = 11.0
SESSION = make_session()
POINTS = all_points(SESSION)
SCENE = build_scene(SESSION, POINTS)
VIEW = View(SCENE.x_range, SCENE.y_range, Box(70, 60, 1178, 620))
BEFORE = {point.number: point for point in SCENE.points}


def test_versions_of_one_workload_do_not_hide_each_other() -> None:
    for group in spread(SCENE, VIEW, MARKER).groups:
        places = [(VIEW.px(point.x), VIEW.py(point.y)) for point in group.points]
        for index, place in enumerate(places):
            assert all(math.dist(place, other) > MARKER * 0.7 for other in places[index + 1 :])


def test_a_moved_point_keeps_its_distance_to_its_roof() -> None:
    moved = [point for point in spread(SCENE, VIEW, MARKER).points if point != BEFORE[point.number]]
    assert moved
    for point in moved:
        before = BEFORE[point.number]
        height_over_slope = (point.y - point.x) - (before.y - before.x)
        assert (height_over_slope if point.on_slope else point.y - before.y) == pytest.approx(0, abs=1e-9)
        assert point.y_high - point.y_low == pytest.approx(before.y_high - before.y_low)


def test_the_middle_of_a_row_is_the_true_place() -> None:
    after = {point.number: point for point in spread(SCENE, VIEW, MARKER).points}
    for group in SCENE.groups:
        middle = sum(after[point.number].x for point in group.points) / len(group.points)
        assert middle == pytest.approx(group.points[0].x)


def test_a_row_at_the_edge_stays_on_the_axes() -> None:
    narrow = View(SCENE.x_range, SCENE.y_range, Box(40, 20, 130, 600))
    rows = [point for point in spread(SCENE, narrow, MARKER).points if point != BEFORE[point.number]]
    centred = [
        point for point in SCENE.points if narrow.px(SCENE.x_range.high) - narrow.px(point.x) < MARKER * 2
    ]
    assert centred  # else no row is near the edge
    for point in rows:
        assert 40 + MARKER / 2 <= narrow.px(point.x) <= 170 - MARKER / 2
        before = BEFORE[point.number]
        assert (point.y - before.y) == pytest.approx(point.x - before.x if point.on_slope else 0, abs=1e-9)


def test_a_close_view_moves_nothing() -> None:
    softmax = next(group for group in SCENE.groups if group.label.startswith("softmax fp32"))
    fastest = softmax.points[0]
    close = View(
        Range(fastest.x - 0.02, fastest.x + 0.02),
        Range(fastest.y - 0.02, fastest.y + 0.02),
        Box(0, 0, 4000, 9000),
    )
    assert spread(SCENE, close, MARKER) is SCENE


def test_the_arrow_of_a_moved_point_ends_on_the_same_ceiling() -> None:
    for number in BEFORE:
        scene = build_scene(SESSION, POINTS, ChartOptions(selected=number))
        target = spread(scene, VIEW, MARKER).target
        assert target is not None
        level = math.log10(target.ceiling.value)
        roof = level + target.point.x if target.ceiling.bound.is_memory else level
        assert target.roof_y == pytest.approx(roof)
