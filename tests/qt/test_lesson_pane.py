"""The lesson in the window: its steps are points, its lines are pointed at, its exercise can be checked."""

from pathlib import Path

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.source.sheet import Ground
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.panes.lesson import LessonPane
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session import Point
from roofscope.tests.qt.conftest import OpenWindow

GELU = ASSETS / "sessions" / "h200-gelu.roofscope"
TOUR = ASSETS / "sessions" / "h200-tour.roofscope"


def opened(open_window: OpenWindow, qtbot: QtBot, file: Path = GELU) -> tuple[Application, LessonPane]:
    application = open_window(file)
    qtbot.waitUntil(lambda: bool(application.model.session.points))
    pane = application.panes.lesson
    assert pane.shown is None  # nothing is read behind another tab
    application.window.actions_of[CommandId.LESSON].trigger()
    qtbot.waitUntil(lambda: pane.shown is not None)
    return application, pane


def point_of(application: Application, stem: str, dtype: str = "bfloat16") -> Point:
    return next(
        point
        for point in application.model.session.points
        if point.implementation.stem == stem and point.job.workload.dtype == dtype
    )


def choose(pane: LessonPane, row: int) -> None:
    """As a click does."""
    item = pane.steps.topLevelItem(row)
    assert item is not None
    pane.steps.setCurrentItem(item)
    pane.steps.itemClicked.emit(item, 0)


def test_it_shows_the_lesson_of_the_session_and_a_step_selects_its_point(
    open_window: OpenWindow, qtbot: QtBot
) -> None:
    application, pane = opened(open_window, qtbot)
    assert pane.shown is not None
    assert pane.shown.story.kernel == "gelu"
    titles = [pane.steps.topLevelItem(row).text(0) for row in range(pane.steps.topLevelItemCount())]
    assert titles == [
        *(f"{step.number}. {step.step.title}" for step in pane.shown.steps),
        "Exercise",
    ]
    assert application.selection.number is None
    qtbot.waitUntil(lambda: not pane.is_reading)
    assert pane.code.view.toPlainText()  # the gallery takes no picture before the lines are there
    choose(pane, 3)
    assert pane.is_reading
    assert application.selection.number == point_of(application, "cuda_sigmoid").number
    assert pane.shown.story.steps[3].lesson in pane.text.texts


def test_a_selected_point_turns_to_its_step(open_window: OpenWindow, qtbot: QtBot) -> None:
    application, pane = opened(open_window, qtbot)
    application.selection.select(point_of(application, "eager", "float32").number)
    qtbot.waitUntil(lambda: pane.shown is not None and pane.shown.workload.dtype == "float32")
    qtbot.waitUntil(lambda: pane.steps.indexOfTopLevelItem(pane.steps.currentItem()) == 2)
    assert any("of the roof" in text for text in pane.text.texts)


def test_a_step_has_one_time_in_the_list_and_beside_it(open_window: OpenWindow, qtbot: QtBot) -> None:
    _, pane = opened(open_window, qtbot)
    assert pane.shown is not None
    for at, step in enumerate(pane.shown.steps):
        item = pane.steps.topLevelItem(at)
        assert item is not None
        if step.point and step.point.measured:
            assert step.text("Time").startswith(item.text(1))


def test_the_lines_that_did_it_are_pointed_at(open_window: OpenWindow, qtbot: QtBot) -> None:
    _, pane = opened(open_window, qtbot)
    qtbot.waitUntil(lambda: pane.code.sheet is not None)
    assert pane.shown is not None
    assert pane.code.sheet is not None
    [line] = [line for line in pane.code.sheet.lines if line.ground is Ground.POINTED_AT]
    assert "0.5 * v * (1.0 + tanh(" in line.text
    assert pane.shown.steps[0].excerpt
    assert line.number == pane.shown.steps[0].excerpt.first


def test_the_exercise_is_checked_against_the_points_of_the_session(
    open_window: OpenWindow, qtbot: QtBot
) -> None:
    application, pane = opened(open_window, qtbot)
    choose(pane, 4)
    assert pane.text.check_button.isVisible()
    pane.text.check_button.click()
    assert pane.text.result.text().startswith("Not tried. This session has no version of yours")
    known = point_of(application, "triton_sigmoid")
    own = msgspec.structs.replace(known.implementation, variant="mine")
    application.model.add_point(msgspec.structs.replace(known, implementation=own, number=900))
    qtbot.waitUntil(pane.text.check_button.isVisible)
    pane.text.check_button.click()
    assert pane.text.result.text().startswith("Done. gelu / Triton mine is at ")
    assert application.selection.number == 900
    choose(pane, 0)
    assert not pane.text.check_button.isVisible()


def test_the_exercise_stays_when_a_point_arrives(open_window: OpenWindow, qtbot: QtBot) -> None:
    application, pane = opened(open_window, qtbot)
    choose(pane, 0)  # its point is selected from now on
    qtbot.waitUntil(lambda: application.selection.number is not None)
    choose(pane, 4)
    before = pane.shown
    known = point_of(application, "eager")
    application.model.add_point(msgspec.structs.replace(known, number=901))
    qtbot.waitUntil(lambda: pane.shown is not before)
    assert pane.text.check_button.isVisible()


def test_a_step_that_the_session_lacks_says_what_to_run(open_window: OpenWindow, qtbot: QtBot) -> None:
    _, pane = opened(open_window, qtbot, TOUR)
    pane.show_lesson("slow_loop")
    qtbot.waitUntil(lambda: pane.shown is not None and pane.shown.story.kernel == "slow_loop")
    assert any(text.startswith("roofscope run slow_loop --implementation eager ") for text in pane.text.texts)
    assert "eager PyTorch: not in this session" in pane.text.texts


def test_keys_go_from_step_to_step_and_from_lesson_to_lesson(open_window: OpenWindow, qtbot: QtBot) -> None:
    application, pane = opened(open_window, qtbot)
    pane.steps.setFocus()
    QTest.keyClick(pane.steps, Qt.Key.Key_Down)
    assert pane.steps.indexOfTopLevelItem(pane.steps.currentItem()) == 1
    QTest.keyClick(pane.steps, Qt.Key.Key_Down)
    QTest.keyClick(pane.steps, Qt.Key.Key_Return)
    assert application.selection.number == point_of(application, "eager").number
    before = pane.choice.currentIndex()
    pane.next.click()
    qtbot.waitUntil(lambda: pane.choice.currentIndex() == before + 1)
    pane.before.click()
    qtbot.waitUntil(lambda: pane.choice.currentIndex() == before)


def test_an_empty_session_begins_with_the_first_lesson(open_window: OpenWindow, qtbot: QtBot) -> None:
    application, pane = opened(open_window, qtbot)
    application.controller.new_session(None)
    pane.show_lesson("vector_add")
    qtbot.waitUntil(lambda: pane.shown is not None and pane.shown.story.order == 1)
    assert pane.shown is not None
    assert pane.shown.workload is None
    assert not pane.before.isEnabled()


def test_without_a_story_it_says_where_one_would_be(open_window: OpenWindow, qtbot: QtBot) -> None:
    application, pane = opened(open_window, qtbot)
    catalog = application.controller.catalog
    pane.set_catalog(msgspec.structs.replace(catalog, kernels=()))
    qtbot.waitUntil(lambda: pane.shown is None)
    assert not pane.steps.isVisible()
