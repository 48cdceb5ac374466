"""Where things stand in pixels: inside the plot, on their line, and never on each other."""

from functools import partial
from pathlib import Path

import pytest

from roofscope.app.presentation.roofline.geometry import Box, Font, View, boxes_along, free
from roofscope.app.presentation.roofline.layout import MARKER, lay_out
from roofscope.app.presentation.roofline.point_labels import place_labels
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, Range, build_scene
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.roofline import Bound, Mix, Source
from roofscope.tests.label_boxes import label_box
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


@pytest.mark.parametrize("size", [(1178, 620), (560, 330), (2400, 1300)])
@pytest.mark.parametrize(
    "options", [ChartOptions(), ChartOptions(sources=frozenset(Source)), ChartOptions(selected=3)]
)
def test_no_two_texts_overlap_and_none_leaves_the_plot(
    size: tuple[float, float], options: ChartOptions
) -> None:
    scene = build_scene(SESSION, POINTS, options)
    view = view_of(scene, *size)
    layout = lay_out(scene, view, FONT)
    labels = [
        label_box(label, view, FONT)
        for label in place_labels(scene, view, FONT, layout.taken, layout.written)
    ]
    markers = [Box(view.px(p.x) - 4, view.py(p.y) - 4, 8, 8) for p in scene.points]
    texts = [
        Box(text.x, text.baseline - FONT.ascent, FONT.width(text.text), FONT.height)
        for text in layout.texts
        if not text.angle
    ]
    if layout.pill:
        texts.append(layout.pill)
    boxes = labels + texts
    assert len(labels) >= 5
    for index, box in enumerate(boxes):
        assert view.box.holds(box)
        assert not any(box.meets(other) for other in boxes[index + 1 :])
    for box in labels:
        assert not any(box.meets(marker) for marker in markers)


def test_labels_keep_off_the_ceilings() -> None:
    scene = build_scene(SESSION, POINTS)
    view = view_of(scene, 1178, 620)
    layout = lay_out(scene, view, FONT)
    flat = [shape for shape in layout.lines if not shape.line.ceiling.bound.is_memory]
    for label in place_labels(scene, view, FONT, layout.taken, layout.written):
        box = label_box(label, view, FONT)
        for shape in flat:
            beside = box.right < shape.start[0] or box.left > shape.end[0]
            assert beside or not box.top < shape.start[1] < box.bottom


@pytest.mark.parametrize("size", [(1178, 620), (960, 540)])
def test_no_slope_goes_through_the_name_of_a_compute_ceiling(size: tuple[float, float]) -> None:
    session = load(Path("assets/sessions/h200.roofscope"))
    scene = build_scene(session, all_points(session))
    layout = lay_out(scene, view_of(scene, *size), FONT)
    slopes = [shape for shape in layout.lines if shape.line.ceiling.bound.is_memory]
    named = [text for text in layout.texts if "FLOP/s" in text.text]
    assert len(named) >= 4
    for text in named:
        box = Box(text.x, text.baseline - FONT.ascent, FONT.width(text.text), FONT.height)
        for (x1, y1), (x2, y2) in ((shape.start, shape.end) for shape in slopes):
            inside = [x for x in range(round(box.left), round(box.right)) if x1 <= x <= x2]
            heights = [y1 + (y2 - y1) * (x - x1) / (x2 - x1) for x in inside]
            assert not any(box.top < y < box.bottom for y in heights), text.text


def test_the_selected_points_label_is_placed_first() -> None:
    for number in (3, 40, 77):
        scene = build_scene(SESSION, POINTS, ChartOptions(selected=number))
        view = view_of(scene, 560, 330)
        labels = place_labels(scene, view, FONT, lay_out(scene, view, FONT).taken)
        assert scene.target is not None
        own = next(group for group in scene.groups if scene.target.point in group.points)
        assert labels[0].text == own.label


def test_every_lit_ceiling_says_its_value_and_provenance() -> None:
    measured = frozenset({Source.MEASURED_BURST, Source.MEASURED_SUSTAINED})
    scene = build_scene(SESSION, POINTS, ChartOptions(sources=measured))
    texts = [text.text for text in lay_out(scene, view_of(scene, 1178, 620), FONT).texts]
    for wanted in (
        "BF16 796 TFLOP/s · FP16 790 TFLOP/s, measured burst",
        "BF16 642 TFLOP/s, measured sustained",
        "FP32 51.0 TFLOP/s, measured burst",
        "DRAM write 4.69 TB/s, measured burst",
        "FP32 ridge 10.9 FLOP/B",
    ):
        assert wanted in texts


def test_a_cache_ceiling_is_named_beside_the_memorys() -> None:
    session = make_session(ceilings=(*CEILINGS, ceiling(Bound.L2, 7.9e12, mix=Mix.READ)))
    scene = build_scene(session, all_points(session))
    for width, height in ((650, 300), (1178, 620)):
        texts = " ".join(text.text for text in lay_out(scene, view_of(scene, width, height), FONT).texts)
        assert "L2 read 7.90 TB/s" in texts
        assert "DRAM write 4.69 TB/s" in texts


def test_nothing_is_written_on_what_is_reserved() -> None:
    scene = build_scene(SESSION, POINTS)
    corner = Box(0, 0, 200, 150)
    layout = lay_out(scene, view_of(scene, 650, 300), FONT, (corner,))
    assert corner in layout.taken
    flat = [text for text in layout.texts if not text.angle]
    assert flat
    assert not any(Box(text.x, text.baseline - 9, 60, 10).meets(corner) for text in flat)


def test_the_area_under_the_roof_ends_at_the_roof() -> None:
    scene = build_scene(SESSION, POINTS)
    view = view_of(scene, 1000, 600)
    outline = lay_out(scene, view, FONT).attainable
    top = min(y for _, y in outline)
    bf16 = max(line.start[1] for line in scene.lines if line.lit and line.ceiling.bound.value == "bf16")
    assert top == pytest.approx(view.py(bf16))
    assert all(
        view.box.left <= x <= view.box.right and view.box.top <= y <= view.box.bottom for x, y in outline
    )


def test_an_empty_session_lays_out_nothing() -> None:
    scene = build_scene(empty_session(), [])
    layout = lay_out(scene, view_of(scene, 600, 400), FONT)
    assert layout.lines == layout.texts == layout.attainable == ()
    assert place_labels(scene, view_of(scene, 600, 400), FONT) == ()


def test_a_far_zoom_still_lays_out() -> None:
    scene = build_scene(SESSION, POINTS)
    for x, y in ((Range(-10, -9), Range(20, 21)), (Range(0.1, 0.15), Range(12.5, 12.55))):
        view = View(x, y, Box(0, 0, 800, 500))
        layout = lay_out(scene, view, FONT)
        labels = place_labels(scene, view, FONT, layout.taken, layout.written)
        assert all(view.box.holds(label_box(label, view, FONT)) for label in labels)


def test_width_of_text_grows_with_text_and_size() -> None:
    assert text_width("", 12) == 0
    assert text_width("iiii", 12) < text_width("MMMM", 12)
    assert text_width("matmul ³µ×", 24) == pytest.approx(2 * text_width("matmul ³µ×", 12))
    assert text_width("gelu", 11) * 2 > MARKER


@pytest.mark.parametrize("name", ["h200", "h200-tour"])
def test_no_leader_goes_through_a_text(name: str) -> None:
    session = load(Path(f"assets/sessions/{name}.roofscope"))
    scene = build_scene(session, all_points(session))
    view = view_of(scene, 960, 480)
    layout = lay_out(scene, view, FONT)
    labels = place_labels(scene, view, FONT, layout.taken, layout.written)
    assert sum(label.has_leader for label in labels) > 4
    for label in labels:
        if not label.has_leader:
            continue
        x, y = view.px(label.x), view.py(label.y)
        dx, dy = label.leader_end(FONT.size)
        others = [label_box(other, view, FONT) for other in labels if other is not label]
        for piece in boxes_along((x, y), (x + dx, y + dy), 0.5, 1.0):
            assert free(piece, [*others, *layout.written]), label.text
