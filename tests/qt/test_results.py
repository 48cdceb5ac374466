"""The results as the window shows them: groups, columns, marks, keys and copies."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.window.application import Application
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.column_choice import HIDDEN_AT_FIRST, TITLES, ColumnChoice
from roofscope.app.window.tables.grouped_table import GroupedTable, LineRole
from roofscope.app.window.tables.point_table import PointTable
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point, TraceInfo
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.sessions import make_session

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
NAME, TIME, ROOF, SPEED_UP = map(TITLES.index, ("Implementation", "Time", "Of roof", "Speed-up"))


@pytest.fixture
def rows(qtbot: QtBot) -> Iterator[GroupedTable]:
    model = SessionModel(make_session(full=True))
    table = PointTable(model)
    grouped = GroupedTable(table)
    tester = QAbstractItemModelTester(grouped, FATAL)
    yield grouped
    assert tester.model() is grouped


def groups(rows: GroupedTable) -> list[list[Point]]:
    """The points below each line, as they stand."""
    found: list[list[Point]] = []
    for row in range(rows.rowCount()):
        if rows.is_line(row):
            found.append([])
        else:
            found[-1].append(rows._table.rows.points[int(rows._codes[row])])
    return found


def lines(rows: GroupedTable) -> list[int]:
    return [row for row in range(rows.rowCount()) if rows.is_line(row)]


def median(point: Point) -> float:
    return point.measured.time.median_s if point.measured else float("inf")


def test_each_workload_has_one_line_and_its_fastest_first(rows: GroupedTable):
    found = groups(rows)
    assert len(found) == 30
    assert sum(map(len, found)) == 120
    for members in found:
        assert len({point.job.id for point in members}) == 1
        assert members == sorted(members, key=median)
    line = rows.index(0, NAME).data(LineRole.LINE)
    assert (line.name, line.sizes) == ("gelu", "fp32, 1Mi")
    assert line.summary.startswith(f"4 implementations, fastest {found[0][0].implementation.label} in ")
    assert rows.index(1, NAME).data(LineRole.LINE) is None


def test_sorting_orders_rows_in_their_group_and_groups_by_their_first(rows: GroupedTable):
    rows.sort(ROOF, Qt.SortOrder.DescendingOrder)
    found = groups(rows)

    def share(point: Point) -> float:
        row = rows._table.row_for(point.number)
        return (row and row.verdict.fraction_of_roof) or 0.0

    assert len(found) == 30
    for members in found:
        assert [share(point) for point in members] == sorted(map(share, members), reverse=True)
    firsts = [share(members[0]) for members in found]
    assert firsts == sorted(firsts, reverse=True)
    rows.sort(TITLES.index("Kernel"), Qt.SortOrder.DescendingOrder)
    found = groups(rows)
    assert found[0][0].implementation.kernel == "weighted_sum"
    assert all(members == sorted(members, key=median) for members in found)


def test_a_closed_group_keeps_its_line_and_the_current_row_its_point(rows: GroupedTable):
    number = rows.number_at(9)
    kept = QPersistentModelIndex(rows.index(9, NAME))
    rows.set_open(0, False)
    assert rows.rowCount() == 146
    assert rows.number_at(kept.row()) == number
    rows.set_all_open(False)
    assert rows.rowCount() == 30
    assert not kept.isValid()
    rows.reveal(number)
    assert rows.number_at(rows.row_of(number)) == number
    rows._table.set_filter("softmax")
    rows.set_grouped(False)
    rows.set_grouped(True)
    rows._table.set_filter("")
    assert rows.rowCount() == 34


@pytest.mark.parametrize("is_grouped", [True, False])
@pytest.mark.parametrize("title", ["", "Time", "Speed-up", "Kernel"])
def test_points_that_arrive_stand_as_if_they_had_been_there(qtbot: QtBot, title: str, is_grouped: bool):
    session = make_session()  # the tester looks at all rows for each
    model = SessionModel(msgspec.structs.replace(session, points=()))
    grouped, whole = (GroupedTable(PointTable(each)) for each in (model, SessionModel(session)))
    tester = QAbstractItemModelTester(grouped, FATAL)
    for each in (grouped, whole):
        each.set_grouped(is_grouped)
        if title:
            each.sort(TITLES.index(title))
    grouped_resets: list[int] = []
    grouped.modelReset.connect(lambda: grouped_resets.append(1))
    for point in session.points:
        model.add_point(point)
    assert grouped._codes.tolist() == whole._codes.tolist()
    assert not grouped_resets
    assert tester.model() is grouped


def test_a_line_stands_for_its_whole_group_where_rows_are_copied(rows: GroupedTable):
    table = rows._table
    rows.set_open(0, False)
    copied = [table.point_at(row) for row in rows.table_rows([0, 2])]
    assert copied == [*groups_of_all(rows)[0], groups_of_all(rows)[1][0]]


def groups_of_all(rows: GroupedTable) -> list[list[Point]]:
    rows.set_all_open(True)
    return groups(rows)


# In the window


@pytest.fixture
def application(open_window: OpenWindow, session_file: Path) -> Application:
    return open_window(session_file)


def press(application: Application, key: Qt.Key) -> None:
    QTest.keyClick(application.panes.results.view, key)


def test_groups_answer_the_keyboard(application: Application):
    results = application.panes.results
    view, rows = results.view, results.rows
    view.setFocus()
    view.setCurrentIndex(rows.index(0, NAME))
    whole = rows.rowCount()
    press(application, Qt.Key.Key_Left)
    assert (rows.is_open(0), rows.rowCount()) == (False, whole - 4)
    press(application, Qt.Key.Key_Right)
    assert rows.rowCount() == whole
    press(application, Qt.Key.Key_Return)
    assert not rows.is_open(0)
    press(application, Qt.Key.Key_Space)
    assert rows.is_open(0)
    press(application, Qt.Key.Key_Down)
    assert application.selection.number == rows.number_at(1)
    press(application, Qt.Key.Key_Left)
    assert view.currentIndex().row() == 0
    assert application.selection.number == rows.number_at(1)  # a line is no point


def test_a_click_on_the_arrow_opens_and_closes(application: Application):
    view, rows = application.panes.results.view, application.panes.results.rows
    place = QPoint(8, view.rowViewportPosition(0) + 6)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert not rows.is_open(0)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert rows.is_open(0)


def test_a_point_that_is_chosen_elsewhere_opens_its_group(application: Application):
    results = application.panes.results
    results.rows.set_all_open(False)
    application.selection.select(7)
    selected = results.view.selectionModel().selectedRows()
    assert [results.rows.number_at(index.row()) for index in selected] == [7]


def test_a_copy_has_flat_rows_those_of_closed_groups_too(application: Application):
    results = application.panes.results
    results.rows.set_all_open(False)
    results.copy()
    head, *rest = QGuiApplication.clipboard().text().splitlines()
    assert len(rest) == 44
    assert head.split("\t")[:4] == ["Kernel", "Implementation", "Dtype", "Size"]
    assert not set(head.split("\t")) & {"Max error", "Status"}
    results.view.selectRow(0)
    results.copy()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 5


def test_columns_are_chosen_moved_and_remembered(open_window: OpenWindow, session_file: Path):
    results = open_window(session_file).panes.results
    actions = {action.text(): action for action in results._chooser.menu.actions()}
    assert results.view.isColumnHidden(TITLES.index("Kernel"))
    assert not actions["Kernel (in the workload's line)"].isEnabled()
    actions["Speed-up"].trigger()
    results.view.horizontalHeader().moveSection(TITLES.index("FLOP/s"), TITLES.index("Time"))
    results.set_grouped(False)
    assert results.view.isColumnHidden(SPEED_UP)
    assert not results.view.isColumnHidden(TITLES.index("Kernel"))
    again = open_window(session_file).panes.results
    header = again.view.horizontalHeader()
    assert again.view.isColumnHidden(SPEED_UP)
    assert header.visualIndex(TITLES.index("FLOP/s")) == TIME
    assert not again.rows.is_grouped
    for action in list(actions.values())[: len(COLUMNS)]:
        if action.isChecked():
            action.trigger()
    assert not all(results.view.isColumnHidden(column) for column in range(len(COLUMNS)))
    actions["As at first"].trigger()
    assert results._chooser.choice == ColumnChoice(is_grouped=False)


def test_a_column_of_another_version_moves_no_other():
    choice = ColumnChoice(hidden=("Gone",), order=("Gone", "Time", "Implementation", "Time"))
    assert sorted(choice.columns) == list(range(len(COLUMNS)))
    assert choice.columns.index(TIME) < choice.columns.index(NAME)
    assert set(HIDDEN_AT_FIRST) <= set(TITLES)


def test_enter_on_a_row_with_a_trace_shows_it(application: Application):
    results, docks = application.panes.results, application.window.docks
    point = next(p for p in application.model.session.points if p.measured)
    shown = docks["Trace"].widget()
    results.view.setFocus()
    application.selection.select(point.number)
    press(application, Qt.Key.Key_Return)
    QApplication.processEvents()
    assert shown.visibleRegion().isEmpty()
    application.model.add_trace(TraceInfo(1, point.job, point.implementation, point.recorded_at, 9))
    press(application, Qt.Key.Key_Return)
    QApplication.processEvents()
    assert not shown.visibleRegion().isEmpty()


def test_the_bar_is_as_long_as_the_share_of_the_roof(open_window: OpenWindow):
    application = open_window(ASSETS / "sessions" / "h200.roofscope")
    results = application.panes.results
    QApplication.processEvents()
    view, theme = results.view, application.theme_switch.theme
    seen = 0
    for row in range(1, 3):
        share = application.table.row_for(results.rows.number_at(row)).verdict.fraction_of_roof
        box = view.visualRect(results.rows.index(row, ROOF))
        picture = view.viewport().grab().toImage()
        colours = [picture.pixelColor(x, box.bottom() - 1) for x in range(box.left(), box.right())]
        length = sum(colour == QColor(theme.accent) for colour in colours)
        assert length == pytest.approx(share * (box.width() - 16), abs=5)  # its ends are round
        seen += length
    assert seen


def test_rows_and_columns_follow_the_font(application: Application):
    results = application.panes.results
    view = results.view
    before, width = view.verticalHeader().defaultSectionSize(), view.columnWidth(TIME)
    font = view.font()
    font.setPointSize(2 * font.pointSize())
    view.setFont(font)
    assert view.verticalHeader().defaultSectionSize() > 1.5 * before
    assert view.columnWidth(TIME) > 1.5 * width


def test_the_choices_of_the_bar_have_names(application: Application):
    names = {button.accessibleName() for button in application.panes.results.findChildren(QToolButton)}
    assert {"Group by workload", "Columns", "Copy", "Copy Markdown"} <= names


def test_a_point_that_arrives_makes_no_other_row_again(application: Application, qtbot: QtBot):
    """The watchdog of the table: it counts what is done, which no busy machine changes."""
    model, table, results = application.model, application.table, application.panes.results
    table.rows.make_more(600.0)
    resets: list[str] = []
    for each in (table, results.rows):
        each.modelReset.connect(lambda: resets.append("reset"))
        each.layoutChanged.connect(lambda: resets.append("layout"))
    judged = table.rows.judged_count
    last = model.session.points[-1]
    job = msgspec.structs.replace(
        last.job,
        id="job-99",
        workload=msgspec.structs.replace(
            last.job.workload, sizes={axis: 2 * size for axis, size in last.job.workload.sizes.items()}
        ),
    )
    model.add_point(msgspec.structs.replace(last, number=99, job=job))
    table.rows.make_more(600.0)
    assert table.rows.judged_count - judged == 1
    assert resets == []
    assert results.rows.index(results.rows.rowCount() - 1, 0).parent() == QModelIndex()
    assert results.rows.row_of(99) == results.rows.rowCount() - 1
    assert last.implementation.provider in Provider


def test_columns_with_nothing_in_them_give_their_room_to_what_limits(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(ASSETS / "sessions" / "h200.roofscope")
    application.window.resize(1280, 800)
    application.selection.select(73)  # unfolds the details: least room
    results = application.panes.results
    view, mark, trace = results.view, TITLES.index("Mark"), TITLES.index("Trace")
    assert view.isColumnHidden(mark)
    assert view.isColumnHidden(trace)
    limited = TITLES.index("Limited by")

    def right() -> int:
        return view.columnViewportPosition(limited) + view.columnWidth(limited)

    qtbot.waitUntil(lambda: 0 < right() <= view.viewport().width())
    speed_up = view.fontMetrics().horizontalAdvance("13.0× slower ± 0.59 %")
    assert view.columnWidth(SPEED_UP) > speed_up
    actions = {action.text(): action for action in results._chooser.menu.actions()}
    actions["Trace"].trigger()  # the user may have it all the same
    assert not view.isColumnHidden(trace)
    assert open_window(ASSETS / "sessions" / "h200.roofscope").panes.results._chooser.choice.asked == (
        "Trace",
    )
    application.model.set_mark(73, Mark(tags=("slow",)))
    assert not view.isColumnHidden(mark)
