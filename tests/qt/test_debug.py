"""The Debug pane: a run that is played, its stages, mistakes and map, and the way to the line."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.profiling.results.debugging import (
    Compared,
    DebugReport,
    DebugStage,
    ErrorMap,
    Finding,
    Line,
    Mistake,
    Pattern,
    PatternKind,
    Said,
    StageEnd,
    StageName,
)
from roofscope.profiling.supervision.debug_run import DebugRequest

Heard = Callable[[Said], None]
STAGE = DebugStage(StageName.INTERPRETER, StageEnd.FOUND, "1 launch of k: not all are right.", 0.25)
MAP = ErrorMap(
    2, 2, (0.0, 3.0, -1.0, -3.0), ((0,), (1,), (2,), ()), (1.0, 1.5, 0.0, None), (1.0, 1.0, 1.0, None)
)
OUTPUT = Compared(
    StageName.INTERPRETED, "y", (3,), "float32", (3,), "float32", 3, wrong=2, unwritten=1,
    pattern=Pattern(PatternKind.FROM, 0, 1, 2), map=MAP,
)  # fmt: skip


def finding(file: str, line: int) -> Finding:
    where = Line(file, line, "tl.store(y + i, <b>v</b>)")
    return Finding(
        Mistake.NO_MASK, where, "It writes 24 elements past the end of y.", "Mask it.", StageName.INTERPRETER
    )


def play(application: Application, *findings: Finding) -> list[DebugRequest]:
    """What a debug run of this window is from now on; gives the requests that come."""
    asked: list[DebugRequest] = []

    def run(request: DebugRequest, hear: Heard, _is_stopped: Callable[[], bool]) -> DebugReport:
        asked.append(request)
        hear(Said(begun=StageName.INTERPRETER))
        hear(Said(stage=STAGE))
        key = request.implementation.key
        return DebugReport(key, request.workload.label, (STAGE,), findings, (OUTPUT,))

    application.debugging.run = run
    return asked


def debugged_point(application: Application, qtbot: QtBot, name: str = "triton_online") -> Any:
    qtbot.waitUntil(lambda: bool(application.controller.catalog.kernels))
    point = next(one for one in application.model.session.points if one.implementation.stem == name)
    application.selection.select(point.number)
    return point


def trigger(application: Application, qtbot: QtBot) -> None:
    action = application.window.actions_of[CommandId.DEBUG]
    qtbot.waitUntil(action.isEnabled)
    action.trigger()
    qtbot.waitUntil(lambda: not application.debugging.is_running)


def test_the_command_waits_for_something_to_debug(open_window: Any, session_file: Path, qtbot: QtBot) -> None:
    application = open_window(session_file)
    action = application.window.actions_of[CommandId.DEBUG]
    application.selection.select(None)

    assert not action.isEnabled()
    assert "first" in action.toolTip()

    qtbot.waitUntil(lambda: bool(application.controller.catalog.kernels))
    tree = application.panes.library.tree
    kernel = application.library.index(0, 0)
    tree.setCurrentIndex(application.library.index(0, 0, kernel))
    qtbot.waitUntil(action.isEnabled)


def test_a_mistake_is_shown_with_its_line_evidence_and_cure(
    open_window: Any, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    asked = play(application, finding("/u/add.py", 14))
    point = debugged_point(application, qtbot)
    trigger(application, qtbot)
    pane = application.panes.debug

    assert asked[0].implementation.key == point.implementation.key
    assert asked[0].workload.dtype == point.job.workload.dtype
    (card,) = pane.cards
    texts = [each.text() for each in card.findChildren(QLabel)]
    assert texts == [
        "No mask, line 14 of add.py",
        "tl.store(y + i, <b>v</b>)",
        "It writes 24 elements past the end of y.",
        "Cure: Mask it.",
    ]
    assert all(each.textFormat() is Qt.TextFormat.PlainText for each in card.findChildren(QLabel))
    assert pane.summary.startswith("1 mistake in softmax/triton_online")
    row = pane.stages.topLevelItem(0)
    assert (row.text(0), row.text(1)) == ("interpreter", "found")
    assert pane.stages.topLevelItemCount() == 1
    assert not application.window.docks["Debug"].visibleRegion().isEmpty()


def test_the_map_begins_at_its_worst_cell_and_follows_pointer_and_keys(
    open_window: Any, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    play(application)
    debugged_point(application, qtbot)
    trigger(application, qtbot)
    pane = application.panes.debug

    assert pane.cell_words == "y[2] was never written; 1 is expected."
    pane.map.resize(100, 28)
    at, none = QPointF(20, 3), Qt.MouseButton.NoButton
    keys = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(pane.map, QMouseEvent(QEvent.Type.MouseMove, at, at, none, none, keys))
    assert pane.map.cell == 1
    assert pane.cell_words == "y[1] is 1.5, and 1 is expected; 3.0 times what is allowed."
    QTest.keyClick(pane.map, Qt.Key.Key_Left)
    assert pane.map.cell == 0
    QTest.keyClick(pane.map, Qt.Key.Key_Up)
    assert pane.map.cell == 0
    assert pane.map.cell_at(QPoint(99, 3)) is None


def test_enter_on_a_mistake_goes_to_its_line_in_the_source(
    open_window: Any, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    point = debugged_point(application, qtbot)
    sources = application.controller.catalog.kernel("softmax").sources(point.implementation)
    application.model.session.sources[point.implementation.source_hash] = sources
    play(application, finding(f"/u/{sources[0].name}", 9))
    trigger(application, qtbot)
    (card,) = application.panes.debug.cards

    card.setFocus()
    QTest.keyClick(card, Qt.Key.Key_Return)

    source = application.panes.source
    qtbot.waitUntil(lambda: source.left.sheet is not None)
    qtbot.waitUntil(lambda: source.left.view.textCursor().blockNumber() == 8)
    assert source.left.sheet.lines[8].number == 9


def test_a_file_that_is_not_here_is_said_not_to_be(
    open_window: Any, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    play(application, finding("/nonexistent/add.py", 14))
    debugged_point(application, qtbot)
    trigger(application, qtbot)
    (card,) = application.panes.debug.cards

    QTest.mouseClick(card, Qt.MouseButton.LeftButton)

    assert application.window.said == "add.py is not on this machine."


def test_stop_ends_a_run_and_another_may_begin(open_window: Any, session_file: Path, qtbot: QtBot) -> None:
    application = open_window(session_file)
    begun = threading.Event()

    def run(request: DebugRequest, hear: Heard, is_stopped: Callable[[], bool]) -> DebugReport:
        hear(Said(begun=StageName.INTERPRETER))
        begun.set()
        while not is_stopped():
            threading.Event().wait(0.01)
        return DebugReport(request.implementation.key, "", (), (), (), is_stopped=True)

    application.debugging.run = run
    debugged_point(application, qtbot)
    action = application.window.actions_of[CommandId.DEBUG]
    qtbot.waitUntil(action.isEnabled)
    action.trigger()
    pane = application.panes.debug
    qtbot.waitUntil(begun.is_set)
    qtbot.waitUntil(lambda: pane.stages.topLevelItemCount() == 1)
    assert not action.isEnabled()
    assert not pane.stop_button.isHidden()

    pane.stop_button.click()

    qtbot.waitUntil(lambda: not application.debugging.is_running)
    assert pane.summary == "The debug run of softmax/triton_online was stopped."
    assert pane.stop_button.isHidden()
    qtbot.waitUntil(action.isEnabled)


def test_closing_the_window_ends_a_debug_run(open_window: Any, session_file: Path, qtbot: QtBot) -> None:
    application = open_window(session_file)
    ended = threading.Event()

    def run(request: DebugRequest, _hear: Heard, is_stopped: Callable[[], bool]) -> DebugReport:
        while not is_stopped():
            threading.Event().wait(0.01)
        ended.set()
        return DebugReport(request.implementation.key, "", (), (), (), is_stopped=True)

    application.debugging.run = run
    debugged_point(application, qtbot)
    action = application.window.actions_of[CommandId.DEBUG]
    qtbot.waitUntil(action.isEnabled)
    action.trigger()

    application.window.close()

    assert ended.is_set()


def test_it_names_what_is_selected_until_something_was_run(
    open_window: Any, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    point = debugged_point(application, qtbot)
    words = application.panes.debug._empty.text()
    assert words.startswith(f"{point.implementation.title}: press Debug")
    assert "Select" not in words
