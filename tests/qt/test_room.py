"""Which device is which, room for the chart, and what Qt needs before it starts."""

import os
import tempfile
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.runtime_folder import give_qt_a_runtime_folder
from roofscope.profiling.paths import ASSETS
from roofscope.tests.qt.conftest import OpenWindow


def test_the_chart_names_its_device_and_the_one_that_run_uses(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    assert application.panes.chart.bar.heading.texts == ("NVIDIA H200", "")
    application.panes.plan_bar.device_box.setCurrentIndex(1)
    assert application.panes.chart.bar.heading.texts[1] == "but Run uses this machine's CPU"
    assert "into a new session" in application.panes.plan_bar._message.whole_text


def test_many_notices_take_the_room_of_one(open_window: OpenWindow):
    application = open_window()
    cards = application.panes.cards
    cards.notice("The first.")
    QApplication.processEvents()
    height = cards.sizeHint().height()
    cards.notice("The second.")
    QApplication.processEvents()
    assert cards.sizeHint().height() == height
    assert cards.notice_texts == ["The first.", "The second."]


def test_the_svg_is_what_the_user_sees(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path, tmp_path: Path
):
    application = open_window(session_file)
    application.panes.chart.isolate("softmax")
    application.commands.export(tmp_path / "out.svg")
    qtbot.waitUntil(lambda: "Written" in application.window.said)
    text = (tmp_path / "out.svg").read_text()
    assert "softmax" in text
    assert ">matmul" not in text


@pytest.mark.parametrize("scheme", [CommandId.THEME_LIGHT, CommandId.THEME_DARK])
def test_the_window_fits_a_small_screen(open_window: OpenWindow, scheme: CommandId):
    application = open_window(ASSETS / "sessions" / "h200.roofscope")  # it has kernels of long names
    window, points = application.window, application.table
    window.resize(1024, 700)
    points.pin(points.point_at(points.rowCount() - 1).number)
    try:
        window.actions_of[scheme].trigger()  # boxes then ask again for the width of their entries
        QApplication.processEvents()
        assert (window.width(), window.height()) == (1024, 700)
    finally:
        window.actions_of[CommandId.THEME_SYSTEM].trigger()


def test_the_details_are_never_cut_off_at_the_right(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    window, pane = application.window, application.panes.details
    window.resize(1024, 700)
    window.resizeDocks([window.docks["Details"]], [50], Qt.Orientation.Horizontal)
    application.selection.select(application.table.point_at(0).number)
    QApplication.processEvents()
    content = pane._scroll.widget()
    assert content is not None
    assert content.width() <= pane._scroll.viewport().width()


def test_the_first_window_shows_the_results_that_matter_and_a_chart_to_read(open_window: OpenWindow):
    application = open_window(ASSETS / "sessions" / "h200.roofscope")
    QApplication.processEvents()
    view = application.panes.results.view
    last = [column.title for column in COLUMNS].index("Speed-up")
    assert view.columnViewportPosition(last) + view.columnWidth(last) <= view.viewport().width()
    assert application.panes.chart.plot.view.box.height > 220


def test_names_give_way_to_figures_where_there_is_little_room(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(ASSETS / "sessions" / "h200.roofscope")
    window, view, table = application.window, application.panes.results.view, application.table
    titles = [column.title for column in COLUMNS]
    kernel, roof = titles.index("Kernel"), titles.index("Of roof")
    application.panes.results.set_grouped(False)
    application.selection.select(1)  # opens the details, which take some of the room
    window.resize(2560, 900)
    QApplication.processEvents()
    wide = view.columnWidth(kernel)
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: view.columnWidth(kernel) < wide)
    assert view.columnViewportPosition(roof) + view.columnWidth(roof) <= view.viewport().width()
    name = table.index(0, kernel)
    assert name.data(Qt.ItemDataRole.ToolTipRole).startswith(name.data() + "\n")
    view.setColumnWidth(kernel, 217)  # as a user does who drags its edge
    window.resize(1920, 900)
    QApplication.processEvents()
    assert view.columnWidth(kernel) == 217


def test_sizes_are_short_in_the_table_and_whole_when_copied(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    table, column = application.table, [column.title for column in COLUMNS].index("Size")
    table.set_filter("rows=32768")
    index = table.index(0, column)
    assert index.data() == "32Ki × 4Ki"
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "rows=32768, cols=4096"
    assert table.texts([0])[1][column] == "rows=32768, cols=4096"


def test_qt_is_given_a_runtime_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    give_qt_a_runtime_folder()
    folder = Path(os.environ["XDG_RUNTIME_DIR"])
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    give_qt_a_runtime_folder()
    assert "XDG_RUNTIME_DIR" not in os.environ


def drag_up(window: QMainWindow, upper: QWidget) -> None:
    """Drag the edge below ``upper`` by 100 pixels."""
    below = upper.mapTo(window, upper.rect().bottomLeft()) + QPoint(200, 1)
    edge = next(below + QPoint(0, y) for y in range(20) if window.isSeparator(below + QPoint(0, y)))
    left, no_key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(window, left, no_key, edge)
    for distance in range(0, 101, 20):
        QTest.mouseMove(window, edge - QPoint(0, distance))
        QTest.qWait(20)  # a window moves its panes a little later
    QTest.mouseRelease(window, left, no_key, edge - QPoint(0, 100))


def test_panes_suit_the_window_until_the_user_arranges_them(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    window, results = application.window, application.panes.results
    window.resize(1280, 800)
    QApplication.processEvents()
    small = results.height()
    window.resize(2560, 1440)
    QApplication.processEvents()
    assert results.height() > small * 3 // 2
    drag_up(window, application.panes.chart)
    dragged = results.height()
    window.resize(2560, 1300)
    QApplication.processEvents()
    assert results.height() == dragged
    assert not window.arrangement.isEmpty()
    window.reset_layout()
    QApplication.processEvents()
    assert results.height() != dragged
    assert window.arrangement.isEmpty()


def test_a_closed_pane_stays_closed(open_window: OpenWindow, session_file: Path):
    first = open_window(session_file)
    assert first.window.arrangement.isEmpty()
    first.window.docks["Details"].close()
    first.window.close()
    second = open_window(session_file)
    assert second.window.docks["Details"].isHidden()
    assert not second.window.docks["Library"].isHidden()


def settled_chart(application: Application, qtbot: QtBot) -> QRect:
    """Where the chart stands once the details have opened and nothing moves it any more."""
    chart = application.window.centralWidget()
    places = [QRect(), chart.geometry()]
    while places[-1] != places[-2]:
        qtbot.wait(400)
        places.append(chart.geometry())
    return places[-1]


def test_the_chart_stays_where_it_is_while_tabs_are_changed(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(ASSETS / "sessions" / "h200.roofscope")
    window = application.window
    window.resize(1280, 800)
    application.selection.select(73)  # a version with parameters to choose, whose form is high
    qtbot.waitUntil(lambda: window.centralWidget().height() > 300)
    before = settled_chart(application, qtbot)
    for title in ("Sweep", "Parameters", "Source", "Debug", "Compare", "Trace", "Results"):
        window.show_pane(title)
        qtbot.wait(150)  # late panes are made once they are seen
        assert window.centralWidget().geometry() == before, title
