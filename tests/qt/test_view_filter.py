"""The bar over the chart, its legend, and the filter that chart, table and library share."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.tokens import LIGHT
from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.window.application import Application
from roofscope.app.window.chart.filter_bar import ChartBar
from roofscope.app.window.chart.legend import LegendEntry
from roofscope.app.window.panes.library import LibraryPane
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.roofline.roofline import Source
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import make_session

LEFT = Qt.MouseButton.LeftButton
ALT, CTRL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


def drawn(application: Application) -> set[Provider]:
    return {point.provider for point in application.panes.chart.scene.points}


def in_table(application: Application) -> set[Provider]:
    table = application.table
    return {table.point_at(row).implementation.provider for row in range(table.rowCount())}


def entry(application: Application, provider: Provider) -> LegendEntry:
    QApplication.processEvents()  # until it lies where it will be clicked
    return application.panes.chart.bar.legend.entries[provider]


def test_a_click_on_the_legend_hides_in_every_pane(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    everything = drawn(application)
    ticked = application.library.checked()
    triton = entry(application, Provider.TRITON)
    before = triton.grab().toImage()
    qtbot.mouseClick(triton, LEFT)
    assert drawn(application) == in_table(application) == everything - {Provider.TRITON}
    assert entry(application, Provider.TRITON) is triton  # it stays, to be switched on again
    assert triton.accessibleName() == "Triton: hidden"
    assert triton.grab().toImage() != before  # struck through
    assert application.library.checked() == ticked
    total = len(application.model.session.points)
    assert application.panes.chart.bar.count.whole_text == f"{application.table.rowCount()} of {total} points"
    assert application.panes.results._count.whole_text.startswith(
        f"{application.table.rowCount()} of {total}"
    )
    qtbot.keyClick(triton, Qt.Key.Key_Space)
    assert drawn(application) == in_table(application) == everything
    assert triton.accessibleName() == "Triton: shown"


@pytest.mark.parametrize("gesture", ["double click", "Alt and click", "Enter"])
def test_one_provider_is_isolated_in_one_step(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot, gesture: str
) -> None:
    application = open_window(session_file)
    everything = drawn(application)
    cuda = entry(application, Provider.CUDA)

    def isolate() -> None:
        if gesture == "double click":
            qtbot.mouseClick(cuda, LEFT)
            qtbot.mouseDClick(cuda, LEFT)
        elif gesture == "Enter":
            qtbot.keyClick(cuda, Qt.Key.Key_Return)
        else:
            qtbot.mouseClick(cuda, LEFT, ALT)

    isolate()
    assert drawn(application) == in_table(application) == {Provider.CUDA}
    qtbot.keyClick(application.panes.chart, Qt.Key.Key_Escape)
    assert drawn(application) == everything
    isolate()
    isolate()
    assert drawn(application) == everything


def test_the_tables_search_filters_the_chart(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    application.panes.results._filter.setText("softmax triton")
    assert drawn(application) == {Provider.TRITON}
    assert {point.kernel for point in application.panes.chart.scene.points} == {"softmax"}
    assert not application.shown.filter.is_open
    assert application.shown.step_back()  # all that was typed is one step
    assert application.panes.results._filter.text() == ""
    assert application.table.rowCount() == application.table.total_count


def test_the_charts_boxes_filter_the_table(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    bar = application.panes.chart.bar
    bar.kernels.setCurrentIndex(bar.kernels.findText("softmax"))
    bar.kernels.activated.emit(bar.kernels.currentIndex())
    bar.dtypes.setCurrentIndex(bar.dtypes.findText("bf16"))
    bar.dtypes.activated.emit(bar.dtypes.currentIndex())
    assert application.shown.filter == ViewFilter(kernels=frozenset({"softmax"}), dtype=Dtype.BFLOAT16)
    rows = [application.table.point_at(row).job.workload for row in range(application.table.rowCount())]
    assert {(workload.kernel, workload.dtype) for workload in rows} == {("softmax", Dtype.BFLOAT16)}
    assert application.shown.step_back()
    assert bar.dtypes.currentIndex() == 0
    assert bar.kernels.currentText() == "softmax"


def test_ctrl_and_a_double_click_add_a_kernel_and_esc_undoes_a_step(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    chart = application.panes.chart
    for kernel in ("matmul", "softmax", "gelu"):
        application.shown.show(application.shown.filter.with_kernel(kernel))
    assert chart.bar.kernels.currentText() == "3 kernels"
    qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert chart.bar.kernels.currentText() == "2 kernels"
    assert {point.kernel for point in chart.scene.points} == {"matmul", "softmax"}
    chosen = min(
        (point for point in chart.scene.points if point.kernel == "matmul"), key=lambda point: point.y
    )
    qtbot.waitUntil(lambda: chart.plot.point_at(chart.plot.viewport_place(chosen.number)) is not None)
    at = chart.plot.viewport_place(chosen.number).toPoint()
    qtbot.mouseDClick(chart.plot.viewport(), LEFT, CTRL, at)  # one of them leaves
    assert {point.kernel for point in chart.scene.points} == {"softmax"}
    for _ in range(3):
        qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert application.shown.filter.is_open
    assert chart.bar.kernels.currentIndex() == 0


def test_a_step_back_to_everything_is_no_way_into_the_filter_again(qtbot: QtBot) -> None:
    shown = ShownPoints(SessionModel(make_session()))
    shown.show(ViewFilter().isolating("softmax"))
    shown.show(ViewFilter())
    assert not shown.step_back()
    assert shown.numbers is None


def test_a_point_that_arrives_is_filtered_too(qtbot: QtBot) -> None:
    source = make_session()
    model = SessionModel(make_session())
    model.session.points = ()
    shown = ShownPoints(model)
    shown.show(ViewFilter().isolating("softmax"))
    for point in source.points:
        model.add_point(point)
    assert shown.numbers == {p.number for p in source.points if p.job.workload.kernel == "softmax"}


def test_the_library_mutes_what_the_filter_hides(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    pane = application.panes.library
    before = darkest(pane, "matmul")
    ticked = application.library.checked()
    application.shown.show(ViewFilter().isolating("softmax"))
    assert darkest(pane, "matmul") > before + 20
    assert darkest(pane, "softmax") < before + 5
    assert application.library.checked() == ticked


def darkest(pane: LibraryPane, kernel: str) -> int:
    """The least lightness in the row of a kernel in the tree, which is dark on light."""
    pane.set_theme(LIGHT)
    model = pane.tree.model()
    row = next(row for row in range(model.rowCount()) if model.index(row, 0).data() == kernel)
    pane.tree.scrollTo(model.index(row, 0))
    QApplication.processEvents()
    image = pane.tree.viewport().grab(pane.tree.visualRect(model.index(row, 0))).toImage()
    return min(image.pixelColor(x, y).value() for x in range(image.width()) for y in range(image.height()))


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_ceilings_menu_stays_open_while_one_ticks(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    bar = application.panes.chart.bar
    menu = bar.ceilings.menu()
    menu.popup(QPoint(10, 10))
    qtbot.waitUntil(menu.isVisible)
    nameplate = bar.source_actions()[Source.NAMEPLATE]
    qtbot.mouseClick(menu, LEFT, pos=menu.actionGeometry(nameplate).center())
    assert nameplate.isChecked()
    assert Source.NAMEPLATE in application.panes.chart.scene.sources
    assert menu.isVisible()
    menu.setActiveAction(nameplate)
    qtbot.keyClick(menu, Qt.Key.Key_Space)
    assert not nameplate.isChecked()
    assert menu.isVisible()
    qtbot.keyClick(menu, Qt.Key.Key_Escape)
    assert not menu.isVisible()


def rows_of(bar: ChartBar) -> int:
    tops = {widget.y() for widget in (bar.heading, bar.kernels) if widget.isVisible()}
    return 1 if max(tops) - min(tops) < bar.kernels.height() else 2


@pytest.mark.parametrize("width", [1024, 1280, 1920, 2560])
def test_the_bar_takes_one_row_where_it_can_and_cuts_nothing(
    open_window: OpenWindow, qtbot: QtBot, width: int
) -> None:
    application = open_window(kept("h200-tour"))
    application.window.resize(width, 800)
    QApplication.processEvents()
    bar = application.panes.chart.bar
    assert rows_of(bar) == 1 or width < 1280
    parts = [
        *(bar.heading, bar.kernels, bar.dtypes, bar.ceilings, *bar.legend.entries.values()),
        *(bar.count, bar.fit, bar.copy),
    ]

    def is_tidy() -> bool:
        places = [part.rect().translated(part.mapTo(bar, QPoint())) for part in parts if part.isVisible()]
        return all(bar.rect().contains(place) for place in places) and not any(
            one.intersects(other) for i, one in enumerate(places) for other in places[i + 1 :]
        )

    qtbot.waitUntil(is_tidy)
    assert bar.count.text() == bar.count.whole_text == "168 points"
    assert all(part.accessibleName() for part in bar.legend.entries.values())


def test_the_heads_note_is_a_sign_where_there_is_no_room_for_words(open_window: OpenWindow) -> None:
    application = open_window(kept("h200-tour"))
    heading, shown = application.panes.chart.bar.heading, dict[int, bool]()
    for width in (*range(1000, 1500, 20), 2560):
        application.window.resize(width, 900)
        QApplication.processEvents()
        assert heading.texts[1].startswith("but Run uses")
        assert heading._note.isVisible() is not heading._sign.isVisible()
        shown[width] = heading._note.isVisible()
    assert shown[2560]
    assert not all(shown.values())


def test_the_height_is_chosen_in_the_bar(open_window: OpenWindow) -> None:
    chart = open_window(kept("h200-tour")).panes.chart
    assert not chart.scene.is_of_roof
    chart.bar.y_choice.button(1).click()
    assert chart.scene.is_of_roof
    chart.bar.y_choice.button(0).click()
    assert not chart.scene.is_of_roof


def test_a_tag_is_found_in_chart_and_table_alike_as_soon_as_it_is_given(open_window: OpenWindow) -> None:
    application = open_window(kept("h200-tour"))
    application.panes.results._filter.setText("urgentxx")
    assert application.table.rowCount() == 0
    application.model.set_mark(3, Mark().tagged("urgentxx"))
    assert application.table.rowCount() == 1
    assert application.shown.numbers == {3}
    application.model.set_mark(3, Mark())
    assert application.table.rowCount() == 0
    assert application.shown.numbers == frozenset()
