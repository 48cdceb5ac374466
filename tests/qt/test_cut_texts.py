"""What a window of 1280 by 800 pixels says whole: no figure and no name that tells rows apart is cut."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QScrollArea, QTableView
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.compile_lab import COLUMNS as FACTS
from roofscope.app.presentation.tokens import LIGHT
from roofscope.app.window.application import Application
from roofscope.app.window.tables.tuning_table import NAME
from roofscope.app.window.timeline.painting import TimelinePainter
from roofscope.app.window.widgets.choice_box import ChoiceBox
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.marks import Mark
from roofscope.tests.qt.conftest import FakeDevices, OpenWindow

SESSIONS = ASSETS / "sessions"


def opened(open_window: OpenWindow, name: str, point: int) -> Application:
    application = open_window(SESSIONS / f"{name}.roofscope", devices=FakeDevices((cpu_device(),)))
    application.selection.select(point)
    return application


def is_whole(box: QComboBox) -> bool:
    assert isinstance(box, ChoiceBox)
    return box.shown_text == box.currentText()


def test_the_plan_bar_and_the_chart_say_their_choices_whole(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = opened(open_window, "h200", 73)
    bar, chart = application.panes.plan_bar, application.panes.chart.bar
    qtbot.waitUntil(lambda: bool(application.watch.sentence) and application.window.details.is_open)
    message = bar._message
    qtbot.waitUntil(lambda: message.text().startswith(("Run measures 13 points", "13 points")))
    assert "…" not in message.text()
    assert message.whole_text == application.watch.sentence  # the tip has it all
    bar.choose_architecture("sm_100")
    assert bar.architecture_box.currentText() == "GPU code sm_100"  # the words of every sentence about it
    for box in (bar.architecture_box, chart.kernels, chart.dtypes):
        qtbot.waitUntil(lambda box=box: is_whole(box))
    reasons = application.panes.library._reasons
    assert reasons.height() <= 4 * reasons.fontMetrics().lineSpacing()


def test_the_group_of_the_rows_in_sight_is_named_above_them(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = opened(open_window, "h200", 73)
    results = application.panes.results
    view, rows, heading = results.view, results.rows, results.view.heading
    qtbot.waitUntil(lambda: heading.text.startswith("softmax"))
    row = rows.row_of(73)
    assert row is not None
    line = rows.line_of(row)
    for other in range(line + 1, row + 1):  # none can be chosen and stay below the heading
        view.setCurrentIndex(rows.index(other, view.leftmost))
        assert view.rowAt(heading.height()) <= other
    QTest.mouseClick(heading, Qt.MouseButton.LeftButton, pos=heading.rect().center())
    assert view.currentIndex().row() == line
    assert not heading.isVisible()
    view.scrollTo(rows.index(row, view.leftmost), QTableView.ScrollHint.PositionAtTop)
    assert heading.text.startswith("softmax")
    shown = rows.rowCount()
    QTest.mouseClick(heading, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert rows.rowCount() < shown
    assert not rows.is_open(line)
    results.set_grouped(False)
    assert not heading.isVisible()


def test_the_facts_of_a_mode_stand_below_each_other_where_they_do_not_fit(
    open_window: OpenWindow, qtbot: QtBot
) -> None:
    application = opened(open_window, "h200", 73)
    lab, scroll = application.panes.compile_lab, application.panes.compile_lab._scroll
    application.window.show_pane("Compile")
    qtbot.waitUntil(lambda: lab.shown is not None and scroll.widget() is not None)
    qtbot.waitUntil(lambda: len(lab._blocks) == 2 and scroll.horizontalScrollBar().maximum() == 0)
    assert [at for block in lab._blocks for at in block] == list(range(len(FACTS)))
    application.window.resize(2560, 1000)
    qtbot.waitUntil(lambda: len(lab._blocks) == 1)
    items = [lab.list.topLevelItem(row) for row in range(lab.list.topLevelItemCount())]
    longest = max(lab.list.fontMetrics().horizontalAdvance(item.text(0)) for item in items if item)
    lab._suit_list()
    qtbot.waitUntil(lambda: lab.list.columnWidth(0) > longest)


def test_steps_of_a_lesson_and_what_a_sweep_lacks_are_said_whole(
    open_window: OpenWindow, qtbot: QtBot
) -> None:
    application = opened(open_window, "h200", 73)
    lesson = application.panes.lesson
    application.window.show_pane("Lesson")
    qtbot.waitUntil(lambda: lesson.steps.isVisible() and lesson.steps.topLevelItemCount() > 3)
    qtbot.waitUntil(lambda: lesson.steps.columnWidth(0) >= lesson.steps.sizeHintForColumn(0))
    application.window.show_pane("Sweep")
    qtbot.waitUntil(lambda: application.panes.sweep.view is not None)
    note = next(
        one for one in application.panes.sweep.findChildren(ElidedLabel) if "Notes" in one.accessibleName()
    )
    qtbot.waitUntil(lambda: note.text() == "1 size without a time.")
    assert "rings at the axis" in note.toolTip()


def test_compared_shares_of_a_roof_are_in_sight(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = opened(open_window, "h200", 73)
    for number, at in ((73, "2026-01-01T00:00:00Z"), (74, "2026-01-01T00:01:00Z")):
        application.model.set_mark(number, Mark(pinned_at=at))
    application.window.show_pane("Compare")
    view = application.panes.compare.view
    qtbot.waitUntil(lambda: view.isVisible() and application.panes.compare.table.rowCount() == 1)
    qtbot.waitUntil(lambda: view.horizontalScrollBar().maximum() == 0)
    assert all(view.columnWidth(at) >= view.sizeHintForColumn(at) for at in range(2, 8))


def test_a_configuration_is_named_whole(open_window: OpenWindow, qtbot: QtBot) -> None:
    pane = (application := opened(open_window, "h200-autotune", 3)).panes.tuning
    application.window.show_pane("Tuning")
    qtbot.waitUntil(lambda: pane.table.rowCount() > 0)
    assert pane.view.columnWidth(NAME) >= pane.view.sizeHintForColumn(NAME)
    assert pane.view.horizontalScrollBar().maximum() == 0


def test_a_value_of_a_parameter_is_shown_whole(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = opened(open_window, "h200-parameters", 10)
    application.window.show_pane("Parameters")
    qtbot.waitUntil(lambda: application.panes.parameters.view is not None)
    form = application.panes.parameters.show_view().form
    qtbot.waitUntil(lambda: bool(form.boxes) and all(box.isVisible() for box in form.boxes.values()))
    qtbot.waitUntil(lambda: all(map(is_whole, form.boxes.values())))


def test_the_name_of_a_slice_ends_within_it(qtbot: QtBot) -> None:
    metrics = QFontMetricsF(QFont())
    painter = TimelinePainter(LIGHT, metrics)
    name = "MMMM_WWWW_MMMM"  # far wider than its letters are on average
    for room in range(10, int(metrics.horizontalAdvance(name)) + 20, 7):
        assert metrics.horizontalAdvance(painter.fitted(name, room)) <= room
    assert painter.fitted(name, 1e3) == name


def test_no_word_of_the_details_is_cut_off_in_the_smallest_window(open_window: OpenWindow) -> None:
    """A reason with the path of a source file was wider than the pane, which does not scroll sideways."""
    application = open_window(ASSETS / "sessions" / "h100-modes.roofscope")
    application.window.resize(1280, 800)
    for number in (15, 16):
        application.selection.select(number)
        QTest.qWait(50)
        area = application.panes.details.findChildren(QScrollArea)[0]
        content = area.widget()
        assert content
        assert content.width() <= area.viewport().width()
