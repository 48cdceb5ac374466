"""What an autotuner tried, in the window: by the keyboard, from the details, sorted, and empty."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.panes.tuning import TuningPane
from roofscope.app.window.tables.tuning_table import NOTE, OVER, TIME, TuningModel
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.tunings import tuned_session, write_tuned


@pytest.fixture
def application(open_window: OpenWindow, tmp_path: Path) -> Application:
    return open_window(write_tuned(tmp_path / "tuned.roofscope"))


def number_of(kernel: str) -> int:
    return next(
        point.number
        for point in tuned_session().points
        if point.measured and point.measured.tunings and point.job.workload.kernel == kernel
    )


def shown(application: Application, qtbot: QtBot, number: int) -> TuningPane:
    pane = application.panes.tuning
    application.selection.select(number)
    application.window.actions_of[CommandId.TUNING].trigger()
    qtbot.waitUntil(lambda: not pane.said)
    return pane


def texts(model: TuningModel, column: int) -> list[str]:
    return [str(model.data(model.index(row, column))) for row in range(model.rowCount())]


def test_the_command_shows_every_configuration_of_the_selected_point(
    application: Application, qtbot: QtBot
) -> None:
    pane = application.panes.tuning
    assert pane.table.rowCount() == 0  # nothing is computed behind another tab
    shown(application, qtbot, number_of("matmul"))
    assert pane.table.rowCount() == 10
    assert "no difference seen." in pane.verdict.text()
    assert texts(pane.table, OVER)[:3] == ["best", "+0.4 %", "+4.1 %"]
    assert texts(pane.table, NOTE)[0] == "winner"
    qtbot.waitUntil(pane.view.hasFocus)


def test_its_keys_are_in_the_list_of_commands(application: Application, qtbot: QtBot) -> None:
    application.selection.select(number_of("gelu"))
    application.window.activateWindow()
    QTest.keyClick(application.window, Qt.Key.Key_U, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "it is the true winner" in application.panes.tuning.verdict.text())


def test_it_follows_the_selection_and_says_where_nothing_was_tuned(
    application: Application, qtbot: QtBot
) -> None:
    pane = shown(application, qtbot, number_of("softmax"))
    assert "the choice holds." in pane.verdict.text()
    application.selection.select(1)
    qtbot.waitUntil(lambda: "was not tuned" in pane.said)
    application.selection.select(None)
    qtbot.waitUntil(lambda: pane.said.startswith("Select a point"))


def test_a_click_on_a_head_sorts_and_what_has_no_time_stays_below(
    application: Application, qtbot: QtBot
) -> None:
    pane = shown(application, qtbot, number_of("matmul"))
    first = texts(pane.table, TIME)
    pane.view.sortByColumn(TIME, Qt.SortOrder.DescendingOrder)
    assert texts(pane.table, TIME) == [*reversed(first[:5]), *["–"] * 5]
    pane.view.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
    assert texts(pane.table, TIME) == first


def test_the_details_lead_there(application: Application, qtbot: QtBot) -> None:
    application.panes.details.set_open(("Tuning",))
    application.selection.select(number_of("matmul"))
    button = next(
        found
        for found in application.panes.details.findChildren(QPushButton)
        if found.text() == "What tuning tried" and found.isVisibleTo(application.panes.details)
    )
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: application.panes.tuning.table.rowCount() == 10)


def test_bars_are_drawn_to_the_slowest(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, number_of("matmul"))
    assert pane.table.most == pytest.approx(2.21)
    pane.grab()  # paints every row, with and without a time
