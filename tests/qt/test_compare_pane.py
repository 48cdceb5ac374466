"""Compare in the window: pins with their arrows, another session, the history of an implementation."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.compare.arrows import PinsOnChart
from roofscope.app.presentation.compare.places import place_pins
from roofscope.app.presentation.compare.table import COLUMNS
from roofscope.app.presentation.roofline.geometry import Box
from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.panes.compare import ComparePane, Kind
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.recorded import kept

VERDICT = next(index for index, column in enumerate(COLUMNS) if column.title == "B is")
SESSIONS = ASSETS / "sessions"


@pytest.fixture
def tour(tmp_path: Path) -> Path:
    return Path(shutil.copyfile(kept("h200-tour"), tmp_path / "tour.roofscope"))


def shown(application: Application) -> ComparePane:
    application.window.docks["Compare"].show()
    application.window.docks["Compare"].raise_()
    QApplication.processEvents()
    return application.panes.compare


def pin(application: Application, *points: Point) -> None:
    for point in points:
        application.selection.select(point.number)
        application.window.actions_of[CommandId.PIN].trigger()


def matmuls(application: Application) -> list[Point]:
    found = [
        p for p in application.model.session.points if p.measured and p.implementation.kernel == "matmul"
    ]
    same = [p for p in found if p.job.workload == found[0].job.workload]
    return sorted(same, key=lambda point: point.achieved_flop_rate or 0.0)


def test_two_pins_are_a_row_and_an_arrow(open_window: OpenWindow, tour: Path) -> None:
    application = open_window(tour)
    pane, chart = shown(application), application.panes.chart
    assert pane.compared.notes[0].startswith("No point is pinned")
    first, *_, last = matmuls(application)
    before = chart.plot.grab().toImage()
    pin(application, first, last)
    application.selection.select(None)
    [row] = pane.compared.rows
    assert (row.number_a, row.number_b) == (first.number, last.number)
    assert pane.table.index(0, VERDICT).data() == "faster"
    colour = pane.table.index(0, VERDICT).data(Qt.ItemDataRole.ForegroundRole)
    assert colour.name() == application.theme_switch.theme.good
    [arrow] = chart.pins.pins.arrows
    assert arrow.text == row.cells[VERDICT - 1]
    assert chart.plot.grab().toImage() != before
    pane.view.selectRow(0)
    assert application.selection.number == last.number
    application.shown.show(ViewFilter().isolating("softmax"))
    assert chart.pins.pins == PinsOnChart()  # they follow the filter


def test_no_text_of_a_pin_lies_upon_another(open_window: OpenWindow, tour: Path) -> None:
    application = open_window(tour)
    pin(application, *matmuls(application))
    chart = application.panes.chart
    placed = place_pins(chart.pins.pins, chart.plot.view, lambda text: 7.0 * len(text), 16.0)
    assert len(placed.signs) == len(placed.arrows) + 1 > 4
    boxes = [arrow.ground for arrow in placed.arrows]
    assert not any(one.meets(other) for index, one in enumerate(boxes) for other in boxes[index + 1 :])
    area = chart.plot.view.box
    assert all(area.left <= box.left and box.right <= area.right for box in boxes)
    names = [label.box(chart.plot.view, chart.plot.text_font) for label in chart.plot.labels]
    assert names
    beside = [
        Box(box.left, box.top, 7.0, box.height) for box in boxes[:1]
    ]  # a name where the text would stand
    moved = place_pins(chart.pins.pins, chart.plot.view, lambda text: 7.0 * len(text), 16.0, beside)
    assert not any(arrow.ground.meets(beside[0]) for arrow in moved.arrows)
    middles = [sign.middle for sign in placed.signs]
    for index, (x, y) in enumerate(middles):
        assert all(max(abs(x - a), abs(y - b)) >= 12 for a, b in middles[index + 1 :])


def test_another_session_is_set_beside_this_one(open_window: OpenWindow, tour: Path, qtbot: QtBot) -> None:
    application = open_window(tour)
    application.commands.compare_with(SESSIONS / "h200.roofscope")
    pane = application.panes.compare
    qtbot.waitUntil(lambda: pane.isVisible() and pane.kinds.index == Kind.SESSION)
    assert len(pane.compared.rows) > 20
    assert pane.table.rowCount() == len(pane.compared.rows)
    assert "B is h200.roofscope" in pane._title.whole_text
    assert "Measured apart" in pane._notes.whole_text
    pane.copy.trigger()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("| Workload")
    assert "Measured apart" in copied
    application.commands.compare_with(tour.with_name("nothing.roofscope"))
    qtbot.waitUntil(lambda: any("nothing" in text for text in application.panes.cards.notice_texts))
    assert len(pane.compared.rows) > 20


@pytest.mark.parametrize("with_ctrl", [False, True])
def test_a_session_dropped_with_ctrl_is_compared(
    open_window: OpenWindow, tour: Path, qtbot: QtBot, with_ctrl: bool
) -> None:
    application = open_window(tour)
    other = Path(shutil.copyfile(SESSIONS / "h200-gelu.roofscope", tour.with_name("gelu.roofscope")))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(other))])
    keys = Qt.KeyboardModifier.ControlModifier if with_ctrl else Qt.KeyboardModifier.NoModifier
    action, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    application.window.dragEnterEvent(QDragEnterEvent(QPoint(9, 9), action, data, button, keys))
    application.window.dropEvent(QDropEvent(QPointF(9, 9), action, data, button, keys))
    if with_ctrl:
        qtbot.waitUntil(lambda: application.panes.compare.kinds.index == Kind.SESSION)
        assert application.model.session.path == tour
    else:
        qtbot.waitUntil(lambda: application.model.session.path == other)
        assert application.panes.compare.kinds.index == Kind.PINS


def test_the_history_follows_the_selection(open_window: OpenWindow, tour: Path, qtbot: QtBot) -> None:
    point = next(p for p in reversed(open_window(tour).model.session.points) if p.measured)
    with SessionStore.append(tour) as store:
        store.add_outcome(point.job, point.implementation, point.outcome)
    application = open_window(tour)
    pane = shown(application)
    qtbot.mouseClick(pane.kinds.button(Kind.HISTORY), Qt.MouseButton.LeftButton)
    assert pane.compared.rows == ()
    application.selection.select(point.number)
    assert len(pane.compared.rows) == 2
    assert pane.compared.rows[0].cells[1].startswith("edit 1 (")


def test_pins_of_an_opened_session_are_there_at_once(open_window: OpenWindow, tour: Path) -> None:
    with SessionStore.append(tour) as store:
        store.add_mark(1, Mark(pinned_at="2026-01-02T03:04:05.678+00:00"))
    application = open_window(tour)
    assert [sign.rank for sign in application.panes.chart.pins.pins.signs] == [1]
    assert application.table.pinned == 1
    assert len(shown(application).compared.rows) == 1
    application.controller.new_session(None)
    assert application.panes.compare.compared.rows == ()
