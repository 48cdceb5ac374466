"""The details' four sentences, and facts that are folded as the user left them."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QScrollArea
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.why import WhyTexts
from roofscope.app.window.panes.detail import DetailPane
from roofscope.app.window.panes.fold import Fold
from roofscope.app.window.settings import Settings
from roofscope.profiling.paths import UserPaths
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.recorded import GELU


def fold(details: DetailPane, title: str) -> Fold:
    """The newest: those of the point before are gone when Qt gets to it."""
    return [each for each in details.findChildren(Fold) if each.button.text() == title][-1]


def test_the_details_begin_with_the_sentences_that_the_command_line_prints(open_window: OpenWindow):
    application = open_window(GELU)
    application.selection.select(6)
    session = application.model.session
    why = WhyTexts(session).of(next(point for point in session.points if point.number == 6))
    assert why is not None
    assert application.panes.details.why.texts == tuple(sentence for _, sentence in why.titled)


def test_facts_are_folded_until_they_are_wanted_and_stay_as_they_were_left(
    open_window: OpenWindow, paths: UserPaths, qtbot: QtBot
):
    application = open_window(GELU)
    details = application.panes.details
    application.selection.select(6)
    qtbot.waitUntil(lambda: details.isVisible() and fold(details, "Build").button.height() > 0)
    assert fold(details, "Time").button.isChecked()
    assert not fold(details, "Build").button.isChecked()
    qtbot.mouseClick(fold(details, "Build").button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(fold(details, "Time").button, Qt.MouseButton.LeftButton)
    application.selection.select(7)
    assert fold(details, "Build").button.isChecked()
    assert not fold(details, "Time").button.isChecked()
    assert Settings(paths.settings).open_facts == ("Build",)  # also at the next start
    fold(details, "Time").button.setFocus()
    qtbot.keyClick(fold(details, "Time").button, Qt.Key.Key_Space)
    assert Settings(paths.settings).open_facts == ("Build", "Time")


def test_what_is_folded_is_not_built(open_window: OpenWindow):
    application = open_window(GELU)
    application.selection.select(6)
    details = application.panes.details
    assert len(fold(details, "Build").findChildren(QLabel)) == 0
    assert len(fold(details, "Time").findChildren(QLabel)) > 4


def test_facts_opened_at_the_lower_edge_come_into_view(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = open_window(GELU)
    application.window.show()
    application.selection.select(6)
    details = application.panes.details
    scroll = details.findChild(QScrollArea)
    assert scroll is not None
    facts = fold(details, "Work and roof")
    qtbot.waitUntil(lambda: scroll.verticalScrollBar().maximum() > 0)
    scroll.ensureWidgetVisible(facts, 0, 0)
    qtbot.mouseClick(facts.button, Qt.MouseButton.LeftButton)

    def is_in_view() -> bool:
        top = facts.mapTo(scroll.viewport(), QPoint()).y()
        return top >= 0 and (top + facts.height() <= scroll.viewport().height() or top == 0)

    qtbot.waitUntil(lambda: facts.height() > 3 * facts.button.height() and is_in_view())
