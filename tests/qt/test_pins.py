"""Pins, notes and tags in the window: several of them, kept in the session."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.shell.mark_dialog import MarkDialog
from roofscope.app.window.tables.column_choice import TITLES
from roofscope.profiling.results.marks import MOST_NOTE, Mark, pins_of
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow, write_session


def trigger(application: Application, point: Point, command: CommandId) -> None:
    application.selection.select(point.number)
    application.window.actions_of[command].trigger()


def two_of_a_workload(application: Application) -> tuple[Point, Point]:
    measured = [point for point in application.model.session.points if point.measured]
    first = measured[0]
    return first, next(p for p in measured[1:] if p.job.workload == first.job.workload)


def test_several_pins_are_kept_in_the_session_and_the_first_is_the_baseline(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    first, second = two_of_a_workload(application)
    elsewhere = next(
        p
        for p in application.model.session.points
        if p.measured and p.implementation.kernel != first.implementation.kernel
    )
    for point in (first, second, elsewhere):
        trigger(application, point, CommandId.PIN)
    assert pins_of(load(session_file).marks) == (first.number, second.number, elsewhere.number)
    speed_up = application.table.speed_up_of(second.number)
    assert speed_up is not None
    assert speed_up.baseline.number == first.number
    own = application.table.speed_up_of(elsewhere.number)
    assert own is not None
    assert own.is_baseline  # the first pin of its own workload
    trigger(application, first, CommandId.PIN)
    assert pins_of(load(session_file).marks) == (second.number, elsewhere.number)
    application.controller.open(session_file)
    assert application.table.pinned == second.number


def test_a_point_without_a_time_is_not_pinned_as_on_the_command_line(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    point = next(point for point in application.model.session.points if not point.measured)
    trigger(application, point, CommandId.PIN)
    assert not application.window.actions_of[CommandId.PIN].isEnabled()
    assert "has no time to compare others with" in application.commands.why_not(CommandId.PIN)
    assert not application.controller.mark(point.number, Mark(pinned_at="2026-01-02T03:04:05+00:00"))
    assert load(session_file).marks == {}
    assert application.controller.mark(point.number, Mark(note="why?"))


def test_a_note_and_tags_are_written_found_and_kept(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    point = application.model.session.points[0]
    trigger(application, point, CommandId.NOTE)
    dialog = application.window.findChild(MarkDialog)
    assert dialog is not None
    qtbot.keyClicks(dialog.note, "zebra stripes")
    qtbot.keyClicks(dialog.tags, "release, , beat me")
    qtbot.keyClick(dialog.note, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert load(session_file).marks == {point.number: Mark(note="zebra stripes", tags=("release", "beat me"))}
    application.panes.results._filter.setText("beat zebra")
    assert application.shown.numbers == {point.number}
    assert application.controller.mark(point.number, Mark())  # what undoes it
    assert application.shown.numbers == frozenset()
    assert load(session_file).marks == {}


def test_the_pins_of_the_example_go_with_its_copy(open_window: OpenWindow, tmp_path: Path) -> None:
    application = open_window()
    example = application.controller.keeper
    application.controller.open(write_example(application))
    assert example.is_example
    point = application.model.session.points[0]
    trigger(application, point, CommandId.PIN)
    assert any("viewing only" in text for text in application.panes.cards.notice_texts)
    assert load(application.model.session.path).marks == {}
    application.controller.save_as(tmp_path / "mine.roofscope")
    assert pins_of(load(tmp_path / "mine.roofscope").marks) == (point.number,)
    trigger(application, point, CommandId.PIN)
    assert load(tmp_path / "mine.roofscope").marks == {}


def write_example(application: Application) -> Path:
    path = application._paths.assets / "sessions" / "example.roofscope"
    write_session(path)
    return path


@pytest.mark.parametrize("command", [CommandId.PIN, CommandId.NOTE])
def test_nothing_is_pinned_where_nothing_is_selected(open_window: OpenWindow, command: CommandId) -> None:
    assert not open_window().window.actions_of[command].isEnabled()


def test_too_long_a_note_is_refused_in_a_sentence(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    assert not application.controller.mark(1, Mark(note="x" * (MOST_NOTE + 1)))
    assert "A note has at most" in application.panes.cards.notice_texts[-1]
    assert application.model.mark(1) == Mark()


def test_details_and_table_show_pin_tags_and_note_as_they_change(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    application.window.show()
    point = application.model.session.points[0]
    application.selection.select(point.number)
    shown = application.panes.details.findChild(QLabel, "mark")
    assert shown is not None
    assert not shown.isVisible()
    note = "<b>slow</b>\nsince the driver"
    application.controller.mark(point.number, Mark("2026-01-02T03:04:05.678+00:00", note, ("retry", "a b")))
    assert shown.isVisible()
    assert shown.textFormat() is Qt.TextFormat.PlainText
    assert shown.text() == f"Pinned: the baseline of its workload\nTags: retry, a b\n{note}"
    column = TITLES.index("Mark")
    row = application.table.row_of(point.number)
    assert row is not None
    text = "pinned · retry · a b · <b>slow</b> since the driver"
    assert application.table.index(row, column).data() == text
    application.table.sort(column)
    assert application.table.row_of(point.number) == 0  # what is empty stands last
    application.controller.mark(point.number, Mark())
    assert not shown.isVisible()
    again = application.table.row_for(point.number)
    assert again is not None
    assert again.mark == Mark()
    other = application.model.session.points[7]
    application.controller.mark(other.number, Mark(tags=("z",)))
    assert application.table.row_of(other.number) == 0
