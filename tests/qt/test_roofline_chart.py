"""The chart as a user meets it: hover, click, filter, zoom, live points, themes and pictures."""

import msgspec
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartY
from roofscope.app.presentation.tokens import DARK, LIGHT
from roofscope.app.window.chart.roofline_chart import RooflineChart
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.roofline import Bound, Source
from roofscope.tests.label_boxes import label_box
from roofscope.tests.sessions import CEILINGS, ceiling, empty_session, make_session
from roofscope.tests.unit.test_chart_scene import make_unstable, session_with_copy


def open_chart(qtbot: QtBot, session: Session) -> tuple[RooflineChart, SessionModel, Selection]:
    model, selection = SessionModel(session), Selection()
    chart = RooflineChart(model, selection, LIGHT)
    qtbot.addWidget(chart)
    chart.resize(1100, 700)
    chart.show()
    qtbot.waitExposed(chart)
    qtbot.waitUntil(lambda: chart.plot.view.box.width > 800)
    qtbot.waitUntil(lambda: bool(chart.plot.labels) or not chart.scene.points)
    return chart, model, selection


def pixel_of(chart: RooflineChart, number: int) -> QPoint:
    return chart.plot.viewport_place(number).toPoint()


def lonely(chart: RooflineChart) -> int:
    """A point with no other within reach: the slowest float32 matmul."""
    matmuls = [point for point in chart.scene.points if point.kernel == "matmul" and point.dtype == "float32"]
    return min(matmuls, key=lambda point: point.y).number


def test_hovering_a_point_shows_its_card_at_once(qtbot: QtBot) -> None:
    chart, model, _ = open_chart(qtbot, make_session())
    number = lonely(chart)
    qtbot.mouseMove(chart.plot.viewport(), pixel_of(chart, number))
    assert chart.card.isVisible()
    point = model.point(number)
    assert point is not None
    assert point.implementation.label in chart.card.html
    assert "Compute-bound" in chart.card.html
    assert chart.plot.viewport().rect().contains(chart.card.geometry())
    assert not chart.card.geometry().contains(pixel_of(chart, number))
    qtbot.mouseMove(chart.plot.viewport(), QPoint(90, 40))
    assert not chart.card.isVisible()


def test_hovering_a_ceiling_tells_its_provenance(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, empty_session(ceilings=CEILINGS))
    view = chart.plot.view
    fp32 = next(line for line in chart.scene.lines if line.ceiling.value == 51e12)
    at = chart.plot.mapFromScene(
        chart.plot.getPlotItem().vb.mapToScene(view.px(view.x.high) - 30, view.py(fp32.start[1]))
    )
    qtbot.mouseMove(chart.plot.viewport(), QPoint(90, 40))
    qtbot.mouseMove(chart.plot.viewport(), at)
    assert chart.card.isVisible()
    assert "FP32" in chart.card.html
    assert "measured burst" in chart.card.html


def test_a_click_selects_for_every_pane_and_lights_the_roof(qtbot: QtBot) -> None:
    chart, _, selection = open_chart(qtbot, make_session())
    number = lonely(chart)
    qtbot.mouseClick(chart.plot.viewport(), Qt.MouseButton.LeftButton, pos=pixel_of(chart, number))
    assert selection.number == number
    assert chart.scene.target is not None
    assert chart.scene.target.ceiling.bound.value == "fp32"
    assert "Selected: matmul" in chart.accessibleDescription()
    qtbot.mouseClick(chart.plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(90, 40))
    assert selection.number is None
    assert chart.scene.target is None


def test_a_selection_from_elsewhere_is_marked(qtbot: QtBot) -> None:
    chart, _, selection = open_chart(qtbot, make_session())
    before = chart.grab().toImage()
    selection.select(lonely(chart))
    assert chart.scene.target is not None
    assert chart.grab().toImage() != before
    selection.select(8)  # whatever it is: a failed point has no place but must not break the chart
    selection.select(10**6)
    assert chart.scene.target is None


def test_keys_walk_the_points_fit_and_step_back(qtbot: QtBot) -> None:
    chart, _, selection = open_chart(qtbot, make_session())
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    first = selection.number
    assert first == min(chart.scene.points, key=lambda point: (point.x, point.y)).number
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert selection.number not in (None, first)
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert selection.number == first
    chart.isolate("softmax")
    assert {point.kernel for point in chart.scene.points} == {"softmax"}
    qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert {point.kernel for point in chart.scene.points} > {"softmax"}
    assert selection.number == first
    qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert selection.number is None


def test_a_double_click_isolates_a_kernel(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    place = pixel_of(chart, lonely(chart))
    qtbot.mouseDClick(chart.plot.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert {point.kernel for point in chart.scene.points} == {"matmul"}
    assert chart.bar.kernels.currentText() == "matmul"


def test_the_wheel_zooms_and_f_shows_the_whole_machine_again(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    whole = chart.plot.view
    chart.plot.getPlotItem().vb.scaleBy((0.2, 0.2))
    chart.plot.moved_by_user.emit()
    assert chart.plot.view.x.span == pytest.approx(whole.x.span * 0.2)
    assert chart.picture().ranges is not None
    qtbot.keyClick(chart, Qt.Key.Key_F)
    assert chart.plot.view.x.span == pytest.approx(whole.x.span)
    assert chart.picture().ranges is None


def test_points_arrive_live_and_leave_the_users_zoom_alone(qtbot: QtBot) -> None:
    source = make_session()
    chart, model, _ = open_chart(qtbot, empty_session(ceilings=CEILINGS))
    assert chart.scene.is_empty
    for point in source.points[:8]:
        model.add_point(point)
    qtbot.waitUntil(lambda: len(chart.scene.points) == sum(p.measured is not None for p in source.points[:8]))
    chart.plot.getPlotItem().vb.scaleBy((0.5, 0.5))
    chart.plot.moved_by_user.emit()
    zoomed = chart.plot.view  # its box is the layout's: the legend may take another line
    for point in source.points[8:12]:
        model.add_point(point)
    qtbot.waitUntil(lambda: chart.scene.point(source.points[11].number) is not None)
    assert (chart.plot.view.x, chart.plot.view.y) == (zoomed.x, zoomed.y)


def test_ceilings_that_arrive_are_drawn_and_chosen_by_source(qtbot: QtBot) -> None:
    chart, model, _ = open_chart(qtbot, make_session(ceilings=()))
    assert not chart.scene.has_ceilings
    assert not chart.bar.ceilings.isEnabled()
    for known in CEILINGS:
        model.add_ceiling(known)
    qtbot.waitUntil(lambda: chart.scene.has_ceilings)
    nameplate = chart.bar.source_actions()[Source.NAMEPLATE]
    assert not nameplate.isChecked()
    nameplate.trigger()
    assert Source.NAMEPLATE in chart.scene.sources
    assert Source.MEASURED_BURST in chart.scene.sources


def test_ceilings_are_chosen_by_unit_until_they_follow_the_points_again(qtbot: QtBot) -> None:
    session = make_session(ceilings=(*CEILINGS, ceiling(Bound.HALF2, 126e12)))
    chart, _, _ = open_chart(qtbot, session)
    half2 = chart.bar.bound_actions()[Bound.HALF2]
    assert half2.isVisible()
    assert not half2.isChecked()
    assert not chart.bar.bound_actions()[Bound.INT8].isVisible()  # this session has none
    half2.trigger()
    assert chart.scene.bounds == {Bound.FP32, Bound.FP16, Bound.BF16, Bound.HALF2}
    assert half2.isChecked()
    chart.bar.follow_points_action().trigger()
    assert chart.options.bounds is None
    assert Bound.HALF2 not in chart.scene.bounds
    assert not half2.isChecked()


def test_choosing_a_dtype_filters_points_and_ceilings(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    index = chart.bar.dtypes.findText("bf16")
    chart.bar.dtypes.setCurrentIndex(index)
    chart.bar.dtypes.activated.emit(index)
    assert {point.dtype for point in chart.scene.points} == {"bfloat16"}
    lit = {line.ceiling.bound.value for line in chart.scene.lines if line.lit}
    assert lit == {"dram", "fp32", "bf16"}


def test_another_session_replaces_everything(qtbot: QtBot) -> None:
    chart, model, _ = open_chart(qtbot, make_session())
    chart.isolate("gelu")
    model.replace(empty_session())
    qtbot.waitUntil(lambda: chart.scene.is_empty)
    assert chart.options.shown is None
    assert chart.bar.kernels.currentIndex() == 0
    assert "No points yet" in chart.accessibleDescription()


def test_labels_do_not_overlap_on_the_screen(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, load(ASSETS / "sessions" / "h200.roofscope"))
    view, font = chart.plot.view, chart.plot.text_font
    boxes = [label_box(label, view, font) for label in chart.plot.labels]
    assert len(boxes) > 10
    for index, box in enumerate(boxes):
        assert not any(box.meets(other) for other in boxes[index + 1 :])


def test_the_theme_changes_live(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    light = chart.grab().toImage()
    chart.set_theme(DARK)
    dark = chart.grab().toImage()
    corner = QPoint(light.width() - 4, light.height() - 4)
    assert light.pixelColor(corner).name() == LIGHT.surface
    assert dark.pixelColor(corner).name() == DARK.surface


def test_every_marker_is_painted_in_its_colour(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    number = lonely(chart)
    point = chart.scene.point(number)
    assert point is not None
    image = chart.plot.grab().toImage()
    place = chart.plot.viewport().mapTo(chart.plot, pixel_of(chart, number))
    assert image.pixelColor(place).name() == LIGHT.provider(point.provider).lower()


def test_a_png_is_written_at_the_scale_asked_for(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    image = QImage.fromData(chart.png(scale=2))
    assert (image.width(), image.height()) == (2200, 1400)
    colours = {image.pixelColor(x, y).name() for x in range(0, 2200, 3) for y in range(0, 1400, 3)}
    assert {LIGHT.surface, "#009e73", "#fe6100"} <= colours


def test_the_copied_image_carries_picture_drawing_and_figures(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    chart.copy_image()
    content = QGuiApplication.clipboard().mimeData()
    assert content.hasImage()
    assert bytes(content.data("image/svg+xml").data()).startswith(b"<svg")
    assert bytes(content.data("text/csv").data()).startswith(b"number,")


def test_kernels_without_flops_are_on_the_strip_and_can_be_selected(qtbot: QtBot) -> None:
    chart, _, selection = open_chart(qtbot, session_with_copy())
    assert chart.strip.isVisible()
    chart.grab()
    for y in range(chart.strip.height()):
        for x in range(0, chart.strip.width(), 4):
            if chart.strip.point_at(QPoint(x, y)) is not None:
                qtbot.mouseClick(chart.strip, Qt.MouseButton.LeftButton, pos=QPoint(x, y))
                assert selection.number == chart.strip.point_at(QPoint(x, y))
                assert any(point.number == selection.number for point in chart.scene.strip)
                return
    pytest.fail("no point of the strip can be reached with the mouse")


def test_a_warning_is_seen_on_the_strip_too(qtbot: QtBot) -> None:
    session = session_with_copy()
    plain, _, _ = open_chart(qtbot, session)
    before = plain.strip.grab().toImage()
    make_unstable(session, "gelu")
    warned, _, _ = open_chart(qtbot, session)
    after = warned.strip.grab().toImage()
    assert after.size() == before.size()
    changed = [
        (x, y)
        for x in range(after.width())
        for y in range(after.height())
        if after.pixel(x, y) != before.pixel(x, y)
    ]
    assert len(changed) > 40
    assert any(after.pixelColor(x, y).name() == LIGHT.warning for x, y in changed)


def test_a_point_above_its_roof_is_drawn_there_with_a_warning(qtbot: QtBot) -> None:
    session = make_session()
    point = session.points[0]
    assert point.measured is not None
    time = point.measured.time
    fast = msgspec.structs.replace(
        point.measured,
        time=msgspec.structs.replace(
            time, median_s=time.median_s / 3, low_s=time.low_s / 3, high_s=time.high_s / 3
        ),
    )
    session.points = (msgspec.structs.replace(point, outcome=fast), *session.points[1:])
    chart, _, selection = open_chart(qtbot, session)
    drawn = chart.scene.point(point.number)
    assert drawn is not None
    assert drawn.warns
    selection.select(point.number)
    assert chart.scene.target is not None
    assert chart.scene.target.factor < 0.5
    assert drawn.y > chart.scene.target.roof_y
    assert "Above the roof" in chart.accessibleDescription()


def test_points_that_lie_on_each_other_are_listed_and_clicks_step_through_them(qtbot: QtBot) -> None:
    chart, _, selection = open_chart(qtbot, load(ASSETS / "sessions" / "h200.roofscope"))
    crowd = max(
        (chart.plot.points_at(chart.plot.viewport_place(point.number)) for point in chart.scene.points),
        key=len,
    )
    assert len(crowd) > 3
    place = pixel_of(chart, crowd[0].number)
    listed = chart.plot.points_at(QPointF(place))
    seen: list[tuple[ChartPoint, ...]] = []
    chart.plot.hovered.connect(lambda points, _ceiling, _at: seen.append(points))
    qtbot.mouseMove(chart.plot.viewport(), QPoint(90, 40))
    qtbot.mouseMove(chart.plot.viewport(), place)
    assert seen[-1] == listed
    clicked: list[int | None] = []
    for _ in listed:
        qtbot.mouseClick(chart.plot.viewport(), Qt.MouseButton.LeftButton, pos=place)
        clicked.append(selection.number)
    assert clicked == [point.number for point in listed]
    qtbot.mouseClick(chart.plot.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert selection.number == listed[0].number


def test_an_earlier_point_answers_the_pointer_and_is_ringed(qtbot: QtBot) -> None:
    session = make_session()
    slow = next(point for point in session.points if point.measured)
    assert slow.measured is not None
    time = slow.measured.time
    faster = msgspec.structs.replace(
        slow.measured,
        time=msgspec.structs.replace(
            time, median_s=time.median_s / 9, low_s=time.low_s / 9, high_s=time.high_s / 9
        ),
    )
    session.points = (*session.points, msgspec.structs.replace(slow, number=1000, outcome=faster))
    chart, _, selection = open_chart(qtbot, session)
    place = chart.plot.viewport_place(slow.number)
    assert slow.number in {point.number for point in chart.plot.points_at(place)}
    selection.select(slow.number)
    assert chart.scene.target is not None
    assert chart.scene.target.point.number == slow.number


def test_no_label_stays_where_its_point_is_gone(qtbot: QtBot) -> None:
    chart, model, _ = open_chart(qtbot, make_session())
    assert chart.plot.labels
    model.replace(empty_session(ceilings=CEILINGS))
    labels: list[int] = []
    chart.plot.view_changed.connect(lambda: labels.append(len(chart.plot.labels)))
    qtbot.waitUntil(lambda: chart.scene.is_empty)
    assert chart.plot.labels == ()  # at once, and not when the view has come to rest
    assert set(labels) == {0}


def test_labels_keep_their_places_while_the_view_moves(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    before = chart.plot.labels
    for _ in range(20):
        chart.plot.getPlotItem().vb.translateBy(x=0.01, y=0.01)
    assert chart.plot.labels is before  # nothing was laid out again; they are painted where their points are
    qtbot.waitUntil(lambda: chart.plot.labels is not before)


def test_the_height_can_be_the_share_of_the_roof(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, make_session())
    chart.set_y(ChartY.ROOF)
    assert chart.scene.is_of_roof
    assert "Fraction of roof" in chart.picture().svg()
    view = chart.plot.view
    assert view.y.low == pytest.approx(0)
    assert [name.text for name in chart.plot.layout_now.names] == ["100 %: its own roof"]  # type: ignore[union-attr]
    for point in chart.scene.points:
        assert chart.plot.point_at(chart.plot.viewport_place(point.number)) is not None
    chart.set_y(ChartY.RATE)
    assert chart.plot.view.y.high > 10


def test_the_strip_begins_and_ends_with_the_plot(qtbot: QtBot) -> None:
    chart, _, _ = open_chart(qtbot, session_with_copy())
    plot = chart.plot.plot_rect()
    lanes = chart.strip.lanes
    assert lanes is not None
    assert (lanes.left, lanes.right) == (pytest.approx(plot.left()), pytest.approx(plot.right()))
