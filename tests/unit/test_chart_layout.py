"""Where things stand in pixels: inside the plot, on their line, and never on each other."""

import math
from functools import partial
from pathlib import Path

import pytest

from roofscope.app.presentation.roofline.ceiling_names import gutter_for
from roofscope.app.presentation.roofline.geometry import Box, Font, View, boxes_along
from roofscope.app.presentation.roofline.layout import MARKER, ChartLayout, lay_out, plot_box
from roofscope.app.presentation.roofline.point_labels import PointLabel, place_labels
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, ChartY, Range, build_scene
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.roofline import Bound, Mix, Source
from roofscope.tests.label_boxes import label_box
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import CEILINGS, ceiling, empty_session, make_session

FONT = Font(11, partial(text_width, size=11))
SESSION = make_session(full=True)
POINTS = all_points(SESSION)


def view_of(scene: ChartScene, width: float, height: float) -> View:
    return View(scene.x_range, scene.y_range, Box(70, 60, width, height))


def test_a_view_maps_corners_to_corners() -> None:
    view = View(Range(-1, 3), Range(9, 15), Box(70, 60, 400, 300))
    assert (view.px(-1), view.py(9)) == (70, 360)
    assert (view.px(3), view.py(15)) == (470, 60)


def test_clipping_keeps_the_visible_piece() -> None:
    view = View(Range(0, 10), Range(0, 10), Box(0, 0, 100, 100))
    assert view.clip((-5, 5), (20, 5)) == ((0, 50), (100, 50))
    assert view.clip((-5, -5), (5, 5)) == ((0, 100), (50, 50))
    assert view.clip((11, 0), (12, 9)) is None
    assert view.clip((0, 11), (9, 11)) is None


def placed(
    scene: ChartScene, width: float, height: float
) -> tuple[View, ChartLayout, tuple[PointLabel, ...]]:
    """A chart with room for the plot, its names and what is above them, of this size in pixels."""
    box, gutter = plot_box(scene, Box(70, 60, width, height), FONT)
    view = View(scene.x_range, scene.y_range, box)
    layout = lay_out(scene, view, FONT, gutter)
    return view, layout, place_labels(scene, view, FONT, layout)


@pytest.mark.parametrize("size", [(1178, 620), (700, 380), (2400, 1300)])
@pytest.mark.parametrize(
    "options",
    [
        ChartOptions(),
        ChartOptions(sources=frozenset(Source)),
        ChartOptions(selected=3),
        ChartOptions(y=ChartY.ROOF),
    ],
)
def test_labels_overlap_neither_each_other_nor_markers_and_stay_in_the_plot(
    size: tuple[float, float], options: ChartOptions
) -> None:
    scene = build_scene(SESSION, POINTS, options)
    view, layout, labels = placed(scene, *size)
    boxes = [label_box(label, view, FONT) for label in labels]
    half = scene.marker / 2
    markers = [Box(view.px(p.x) - half, view.py(p.y) - half, 2 * half, 2 * half) for p in scene.points]
    assert len(labels) >= 4
    for index, box in enumerate(boxes):
        assert view.box.holds(box)
        assert not any(box.meets(other) for other in boxes[index + 1 :])
        assert not any(box.meets(marker) for marker in markers)
        assert not (layout.pill and box.meets(layout.pill))


def test_labels_keep_off_the_ceilings() -> None:
    scene = build_scene(SESSION, POINTS)
    view, layout, labels = placed(scene, 1178, 620)
    flat = [shape for shape in layout.lines if not shape.line.ceiling.bound.is_memory]
    for label in labels:
        box = label_box(label, view, FONT)
        for shape in flat:
            beside = box.right < shape.start[0] or box.left > shape.end[0]
            assert beside or not box.top < shape.start[1] < box.bottom


def test_the_selected_point_is_named_with_its_implementation_and_first() -> None:
    for number in (3, 40, 77):
        scene = build_scene(SESSION, POINTS, ChartOptions(selected=number))
        labels = placed(scene, 700, 380)[2]
        assert scene.target is not None
        point = scene.target.point
        assert (labels[0].text, labels[0].number) == (f"{point.kernel} {point.name}", number)


def test_a_label_stands_at_its_kernels_best_point() -> None:
    scene = build_scene(SESSION, POINTS)
    best = {group.label: group.points[0] for group in scene.groups}
    labels = placed(scene, 1178, 620)[2]
    assert labels
    for label in labels:
        point = best[label.text]
        assert (label.number, label.x, label.y) == (point.number, point.x, point.y)


def test_where_the_values_come_from_is_said_once() -> None:
    for sources, notes in (
        (frozenset({Source.MEASURED_BURST}), ["measured burst"]),
        (frozenset({Source.MEASURED_BURST, Source.MEASURED_SUSTAINED}), []),
    ):
        scene = build_scene(SESSION, POINTS, ChartOptions(sources=sources))
        layout = placed(scene, 1178, 620)[1]
        assert [note.text for note in layout.notes] == notes
        for name in layout.names:
            says = any(word in name.text for word in ("burst", "sustained"))
            assert says is (not notes), name.text


def test_a_cache_ceiling_is_named_beside_the_memorys() -> None:
    session = make_session(ceilings=(*CEILINGS, ceiling(Bound.L2, 7.9e12, mix=Mix.READ)))
    scene = build_scene(session, all_points(session))
    for width, height in ((650, 300), (1178, 620)):
        texts = " | ".join(name.text for name in placed(scene, width, height)[1].names)
        assert "L2 read 7.90 TB/s" in texts
        assert "write 4.69" in texts


def test_ridge_points_are_ticks_that_say_their_intensity() -> None:
    scene = build_scene(SESSION, POINTS)
    view, layout, _ = placed(scene, 1178, 620)
    assert "FP32 ridge 10.9" in {tick.text for tick in layout.ridges}
    assert len(layout.ridges) == len(scene.ridges)
    for tick, ridge in zip(layout.ridges, sorted(scene.ridges, key=lambda r: (not r.lit, -r.x)), strict=True):
        assert tick.x == pytest.approx(view.px(ridge.x))
        assert tick.box is None or tick.box.bottom < view.box.top


def test_the_pill_keeps_off_what_is_reserved() -> None:
    for number in (3, 40, 77):
        scene = build_scene(SESSION, POINTS, ChartOptions(selected=number))
        box, gutter = plot_box(scene, Box(0, 0, 1178, 620), FONT)
        view = View(scene.x_range, scene.y_range, box)
        free = lay_out(scene, view, FONT, gutter).pill
        assert free is not None
        moved = lay_out(scene, view, FONT, gutter, (free,)).pill
        assert moved is not None
        assert not moved.meets(free)


def test_the_area_under_the_roof_ends_at_the_roof() -> None:
    scene = build_scene(SESSION, POINTS)
    view = view_of(scene, 1000, 600)
    outline = lay_out(scene, view, FONT, gutter_for(scene, FONT, 1000)).attainable
    top = min(y for _, y in outline)
    bf16 = max(line.start[1] for line in scene.lines if line.lit and line.ceiling.bound.value == "bf16")
    assert top == pytest.approx(view.py(bf16))
    assert all(
        view.box.left <= x <= view.box.right and view.box.top <= y <= view.box.bottom for x, y in outline
    )


def test_an_empty_session_lays_out_nothing() -> None:
    scene = build_scene(empty_session(), [])
    _, layout, labels = placed(scene, 600, 400)
    assert layout.lines == layout.names == layout.ridges == layout.attainable == labels == ()


def test_a_far_zoom_still_lays_out() -> None:
    scene = build_scene(SESSION, POINTS)
    for x, y in ((Range(-10, -9), Range(20, 21)), (Range(0.1, 0.15), Range(12.5, 12.55))):
        view = View(x, y, Box(0, 0, 800, 500))
        layout = lay_out(scene, view, FONT, gutter_for(scene, FONT, 800))
        labels = place_labels(scene, view, FONT, layout)
        assert all(view.box.holds(label_box(label, view, FONT)) for label in labels)


def test_width_of_text_grows_with_text_and_size() -> None:
    assert text_width("", 12) == 0
    assert text_width("iiii", 12) < text_width("MMMM", 12)
    assert text_width("matmul ³µ×", 24) == pytest.approx(2 * text_width("matmul ³µ×", 12))
    assert text_width("gelu", 11) * 2 > MARKER


@pytest.mark.parametrize("name", ["h200", "h200-tour"])
def test_no_leader_goes_through_a_text(name: str) -> None:
    session = load(kept(name))
    scene = build_scene(session, all_points(session))
    view, _, labels = placed(scene, 960, 480)
    assert sum(label.has_leader for label in labels) > 2
    for label in labels:
        if not label.has_leader:
            continue
        x, y = view.px(label.x), view.py(label.y)
        dx, dy = label.leader_end(FONT.size)
        others = [label_box(other, view, FONT) for other in labels if other is not label]
        for piece in boxes_along((x, y), (x + dx, y + dy), 0.5, 1.0):
            assert not any(map(piece.meets, others)), label.text


@pytest.mark.parametrize("name", ["h200", "h200-tour", "h200-gelu"])
@pytest.mark.parametrize("size", [(1178, 620), (700, 380), (505, 280), (2400, 1300)])
def test_no_leader_goes_through_another_marker(name: str, size: tuple[float, float]) -> None:
    session = load(kept(name))
    scene = build_scene(session, all_points(session))
    view, _, labels = placed(scene, *size)
    assert labels
    near = scene.marker / 2 + 8  # what covers the point itself
    for label in labels:
        if not label.has_leader:
            continue
        start = (view.px(label.x), view.py(label.y))
        dx, dy = label.leader_end(FONT.size)
        pieces = boxes_along(start, (start[0] + dx, start[1] + dy), 0.0, 1.0)
        line = [(piece.left, piece.top) for piece in pieces]
        for point in (*scene.points, *scene.ghosts):
            place = (view.px(point.x), view.py(point.y))
            if math.dist(place, start) > near:
                distance = min(math.dist(place, spot) for spot in line)
                assert distance >= scene.marker / 2, (label.text, point.name)


def test_points_alone_far_below_their_roof_are_named() -> None:
    session = load(Path("assets/sessions/h200.roofscope"))
    scene = build_scene(session, all_points(session))
    _, _, labels = placed(scene, 1178, 620)
    best = {group.points[0].number for group in scene.groups}
    named = {label.number: label.text for label in labels if label.number not in best}
    assert len(named) > 3
    points = {point.number: point for point in scene.points}
    for number, text in named.items():
        point = points[number]
        name = f"{point.kernel} {point.name}"
        assert text in (name, f"{name} {point.sizes}")
    assert len(set(named.values())) == len(named)  # two sizes of one version are not alike
    assert all((points[number].fraction or 0) < 0.5 for number in named)


@pytest.mark.parametrize("name", ["h200", "h200-autotune", "h200-parameters", "h200-gelu"])
@pytest.mark.parametrize("size", [(700, 420), (1178, 620)])
def test_no_label_is_struck_through_and_the_selected_point_has_one(
    name: str, size: tuple[float, float]
) -> None:
    session = load(kept(name))
    points = all_points(session)
    for selected in [point.number for point in session.points if point.measured][::7]:
        scene = build_scene(session, points, ChartOptions(selected=selected))
        if scene.target is None:
            continue
        view, layout, labels = placed(scene, *size)
        assert selected in {label.number for label in labels}
        x = view.px(scene.target.point.x)
        arrow = (x, view.py(scene.target.point.y)), (x, view.py(scene.target.roof_y))
        strokes = [(shape.start, shape.end) for shape in layout.lines]
        pieces = [
            box
            for start, end in (*strokes, *layout.leads, arrow)
            for box in boxes_along(start, end, 0.5, 2.0)
        ]
        for label in labels:
            box = label_box(label, view, FONT)
            assert not any(map(box.meets, pieces)), label.text
