"""What the window does for a crowd of points, counted: how long it takes is for benchmarks."""

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.search_text import is_found
from roofscope.app.presentation.tokens import LIGHT
from roofscope.app.presentation.view_filter import ViewFilter, search_text
from roofscope.app.window.application import Application
from roofscope.app.window.chart.roofline_chart import RooflineChart
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.tables import row_store as row_store_module
from roofscope.app.window.tables.point_table import PointTable
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results import session_writer
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.sessions import make_session
from roofscope.tests.unit.test_work_done import counted


def crowded(copies: int) -> Session:
    """The points of a full session again and again, each time as later ones."""
    session = make_session(full=True)
    count = len(session.points)
    session.points = tuple(
        msgspec.structs.replace(point, number=point.number + count * copy)
        for copy in range(copies)
        for point in session.points
    )
    return session


@pytest.fixture
def application(open_window: OpenWindow, session_file: Path) -> Application:
    return open_window(session_file)


class Panes:
    """Table and chart of one model, as the window joins them."""

    def __init__(self, qtbot: QtBot, session: Session) -> None:
        self.model, self.selection = SessionModel(session), Selection()
        self.table = PointTable(self.model)
        self.shown = ShownPoints(self.model, None, self.table.text_of, self.table.numbers_kept)
        self.chart = RooflineChart(
            self.model, self.selection, LIGHT, shown=self.shown, verdict_of=self.table.verdict_of
        )
        qtbot.addWidget(self.chart)
        self.chart.show()

    @property
    def placed_count(self) -> int:
        markers = self.chart.plot.markers
        return sum(item.placed_count for item in (markers.points, markers.ghosts, markers.grounds))


def drawn(chart: RooflineChart) -> set[int]:
    return {point.number for point in (*chart.scene.points, *chart.scene.ghosts, *chart.scene.strip)}


def timed(points: tuple[Point, ...]) -> Iterator[int]:
    return (point.number for point in points if point.measured)


def test_table_chart_and_search_judge_each_point_once(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = counted(monkeypatch, row_store_module, "verdict")
    panes = Panes(qtbot, make_session())
    session = crowded(9)
    panes.model.replace(session)
    qtbot.waitUntil(lambda: panes.table.rows.is_whole, timeout=60_000)
    panes.shown.show(ViewFilter(text="memory-bound"))
    panes.shown.forget()
    assert len(drawn(panes.chart)) == sum(1 for _ in timed(session.points))
    # Of the nine hundred none twice; those of the session before were judged by the chart as well.
    assert len(judged) <= len(session.points) + len(make_session().points)


def test_a_large_session_is_drawn_in_part_and_then_whole(qtbot: QtBot) -> None:
    panes = Panes(qtbot, make_session())
    session = crowded(12)
    wanted = set(timed(session.points))
    counts: list[int] = []
    panes.chart.gathered.connect(lambda: counts.append(len(panes.table.rows)))
    panes.model.replace(session)
    qtbot.waitUntil(lambda: drawn(panes.chart) == wanted, timeout=60_000)
    assert counts  # it took slices


def test_other_ceilings_leave_the_points_until_all_are_judged_again(qtbot: QtBot) -> None:
    session = crowded(12)
    panes = Panes(qtbot, session)
    wanted = drawn(panes.chart)
    seen: list[set[int]] = []
    panes.chart.gathered.connect(lambda: seen.append(drawn(panes.chart)))
    panes.model.add_ceiling(msgspec.structs.replace(session.ceilings[0], value=session.ceilings[0].value / 2))
    qtbot.waitUntil(lambda: len(seen) > 1, timeout=60_000)
    assert all(each == wanted for each in seen)


def test_a_selection_and_a_note_touch_no_marker(qtbot: QtBot) -> None:
    panes = Panes(qtbot, crowded(2))
    before = panes.placed_count
    for number in list(timed(panes.model.session.points))[:5]:
        panes.selection.select(number)
    panes.chart.set_heading("another", "heading")
    panes.model.marks_changed.emit()
    assert panes.chart.scene.target is not None
    assert panes.placed_count == before
    panes.shown.show(ViewFilter(hidden=frozenset((Provider.TRITON,))))
    assert panes.placed_count > before


def test_a_point_that_arrives_is_one_verdict_and_one_point_of_the_chart(qtbot: QtBot) -> None:
    session = crowded(2)
    coming, session.points = session.points[-1], session.points[:-1]
    panes = Panes(qtbot, session)
    crowd, judged = panes.chart.crowd, panes.table.rows.judged_count
    panes.model.add_point(coming)
    qtbot.waitUntil(lambda: coming.number in drawn(panes.chart), timeout=60_000)
    assert panes.chart.crowd is crowd
    assert panes.table.rows.judged_count == judged + 1


@pytest.mark.parametrize("words", ["triton", "softmax bfloat16", "memory-bound", "measured 4096", "no such"])
def test_a_search_looks_through_each_text_once_and_finds_the_same(qtbot: QtBot, words: str) -> None:
    session = crowded(9)
    table = PointTable(SessionModel(session))
    table.rows.make_more(600.0)
    table.numbers_kept(ViewFilter(text="first"))
    before = table.rows.texts.looked_count
    found = table.numbers_kept(ViewFilter(text=words))
    assert table.rows.texts.looked_count - before < len(session.points) * len(words.split())
    each = (point for point in session.points if is_found(words.split(), table.text_of(point)))
    assert found == {point.number for point in each}
    slow = (
        point
        for point in session.points
        if is_found(words.split(), search_text(point, verdict(point, session), Mark()))
    )
    assert found == {point.number for point in slow}


def test_a_sort_is_one_sort(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    sorts = counted(monkeypatch, row_store_module.RowStore, "order")
    view = application.panes.results.view
    view.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    view.sortByColumn(4, Qt.SortOrder.AscendingOrder)
    assert len(sorts) == 2


def test_the_collector_passes_over_a_session_until_the_window_closes(application: Application) -> None:
    application.model.replace(crowded(4))
    assert gc.get_freeze_count() > 480
    application.window.close()
    assert gc.get_freeze_count() == 0
    assert gc.isenabled()


def test_no_widget_dies_in_another_thread(application: Application, qtbot: QtBot) -> None:
    """Python collects in the thread that makes the next object, and Qt ends the program then."""
    ended_in: list[threading.Thread] = []

    def make_many() -> list[list[int]]:
        return [[number] for number in range(100_000)]

    class Cyclic(QWidget):
        def __del__(self) -> None:
            ended_in.append(threading.current_thread())

    widget = Cyclic()
    widget.itself = widget  # type: ignore[attr-defined]
    del widget
    made: list[list[list[int]]] = []
    application.background.ask(make_many, made.append)
    qtbot.waitUntil(lambda: bool(made), timeout=60_000)
    qtbot.waitUntil(lambda: bool(ended_in), timeout=60_000)
    assert ended_in == [threading.main_thread()]


def test_a_first_pin_does_not_read_the_file_again(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = counted(monkeypatch, session_writer, "load")
    number = next(timed(application.model.session.points))
    application.controller.mark(number, Mark(note="mine"))
    assert application.model.mark(number).note == "mine"
    assert not read


def test_a_file_that_has_changed_is_read_again_before_it_is_written(
    application: Application, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = counted(monkeypatch, session_writer, "load")
    with SessionStore.append(session_file) as store:
        store.add_mark(2, Mark(note="from elsewhere"))
    number = next(timed(application.model.session.points))
    application.controller.mark(number, Mark(note="mine"))
    assert len(read) == 2
