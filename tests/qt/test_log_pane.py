"""The log's pane: it follows its end, and the text of a long run is set as a whole now and then."""

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QTextBlock, QTextCursor
from pytestqt.qtbot import QtBot

from roofscope.app.window.activity_log import MOST_ENTRIES, ActivityLog, LogKind
from roofscope.app.window.panes.log import LogPane

FIRST, MORE = 50, MOST_ENTRIES // 2  # more than is appended before the text is set again


@pytest.fixture
def log() -> ActivityLog:
    return ActivityLog()


@pytest.fixture
def pane(log: ActivityLog, qtbot: QtBot) -> LogPane:
    pane = LogPane(log)
    qtbot.addWidget(pane)
    pane.resize(600, 200)
    pane.show()
    return pane


def add(log: ActivityLog, count: int) -> None:
    for number in range(count):
        log.add(LogKind.RESULT, f"result {number}")


def blocks(pane: LogPane) -> Iterator[QTextBlock]:
    block = pane.text.document().begin()
    while block.isValid():
        yield block
        block = block.next()


def is_laid_out(block: QTextBlock) -> bool:
    return block.layout().lineCount() > 0


@pytest.mark.parametrize("hidden", [False, True])
def test_a_long_log_shows_each_entry_once_and_its_end(log: ActivityLog, pane: LogPane, hidden: bool) -> None:
    pane.setVisible(not hidden)
    add(log, MORE)
    assert pane.text.toPlainText() == "\n".join(entry.line for entry in log.entries)
    assert sum(map(is_laid_out, blocks(pane))) < MORE // 2  # which is what costs memory
    bar = pane.text.verticalScrollBar()
    assert hidden or bar.value() == bar.maximum() > 0
    add(log, MOST_ENTRIES)
    assert pane.text.blockCount() == len(log.entries) == MOST_ENTRIES
    assert pane.text.toPlainText().endswith(f"result {MOST_ENTRIES - 1}")


def test_a_log_that_is_scrolled_back_stays_there(log: ActivityLog, pane: LogPane) -> None:
    add(log, FIRST)
    bar = pane.text.verticalScrollBar()
    bar.setValue(3)
    add(log, MORE // 2)
    pane.hide()
    add(log, MORE // 2)
    assert bar.value() == 3
    assert pane.text.blockCount() == FIRST + MORE


def test_what_is_selected_in_a_log_stays_selected(log: ActivityLog, pane: LogPane) -> None:
    add(log, FIRST)
    pane.text.moveCursor(QTextCursor.MoveOperation.Start)
    pane.text.moveCursor(QTextCursor.MoveOperation.EndOfLine, QTextCursor.MoveMode.KeepAnchor)
    pane.text.verticalScrollBar().setValue(pane.text.verticalScrollBar().maximum())
    add(log, MORE)
    assert pane.text.textCursor().selectedText().endswith("result 0")
