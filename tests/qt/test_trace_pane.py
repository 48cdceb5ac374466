"""The trace pane in the window: traces of files by a drop, stacked, broken; the way to Perfetto."""

import gzip
import http.client
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.traces.exported import exported_json_gz
from roofscope.app.window.commands import CommandId
from roofscope.profiling.results.marks import Mark, Moment
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.traces import source
from roofscope.profiling.traces.reading import open_trace
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.qt.test_window import drop, notices
from roofscope.tests.recorded import kept
from roofscope.tests.trace_events import RECORDED, write_no_traces
from roofscope.tests.traces import Planted, write_trace

TOUR = kept("h200-tour")


@pytest.mark.listens
def test_a_button_opens_a_page_that_gives_the_trace_of_the_point(
    open_window: OpenWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    application = open_window(TOUR)
    pane = application.panes.trace
    button = pane.files.perfetto_button
    traced = application.model.session.traces[0]
    point, other = (
        next(
            point.number
            for point in application.model.session.points
            if (application.model.trace_of(point) == traced) is wanted and point.measured
        )
        for wanted in (True, False)
    )
    application.selection.select(other)
    unknown = application.model.point(other)
    assert unknown is not None
    if application.model.trace_of(unknown) is None:
        assert not button.isEnabled()
    application.selection.select(point)
    qtbot.waitUntil(button.isEnabled)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    [url] = opened
    connection = http.client.HTTPConnection(url.host(), url.port(), timeout=60)
    connection.request("POST", f"{url.path()}trace")
    content = connection.getresponse().read()
    connection.close()
    assert content == exported_json_gz(TOUR, traced.number)
    assert b"traceEvents" in gzip.decompress(content)


def row_of(tree: QTreeWidget, place: int) -> QTreeWidgetItem:
    item = tree.topLevelItem(place)
    assert item is not None
    return item


def test_dropped_traces_are_shown_stacked_and_saved_repaired(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One window, because each costs a second."""
    application = open_window()
    pane = application.panes.trace
    timeline = pane.panel.canvas

    def shown() -> list[str]:
        return [track.title for track in timeline.timeline.tracks]

    application.window.resize(1280, 800)
    eager, compiled = (RECORDED / f"block-{name}.json.gz" for name in ("eager", "compiled"))
    drop(application, eager)
    qtbot.waitUntil(lambda: shown() == [eager.name])
    first = row_of(pane.panel.side.operators, 0)
    cells = [first.text(column) for column in range(6)]
    assert cells[:2] == ["aten::mm", "24"]
    assert cells[4] == cells[5] == "1.638 ms"
    view = pane.roofline
    qtbot.mouseClick(pane.views.button(1), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: view.point_count == 33)
    qtbot.waitUntil(lambda: view.height() > 200)  # lanes do with less; a chart of 36 pixels said nothing
    assert view.operators.topLevelItemCount() == 33
    assert row_of(view.unknown, 0).text(0) == "aten::cat"
    row = row_of(view.operators, 2)
    view.operators.setCurrentItem(row)
    assert view.selected == 2
    assert view.scene is not None
    point = view.scene.points[0]
    view.plot.clicked.emit((point,))
    assert view.selected == point.number
    view.operators.itemActivated.emit(row, 0)
    assert pane.views.index == 0
    assert pane.panel.search.text() == "addmm"
    assert timeline.timeline.chosen is not None

    drop(application, compiled)
    qtbot.waitUntil(lambda: shown() == [compiled.name])
    assert not pane.files.repair_button.isVisibleTo(pane)
    [action] = [action for action in pane.stack_button.menu().actions() if action.text() == eager.name]
    action.trigger()
    qtbot.waitUntil(lambda: shown() == [compiled.name, eager.name])
    assert pane.panel.side.sentences.text().startswith(f"{eager.name} takes")
    action.trigger()
    qtbot.waitUntil(lambda: shown() == [compiled.name])

    broken, saved = tmp_path / "broken.json", tmp_path / "saved.json"
    write_trace(broken, 3000, planted=Planted(quotes=3, controls=2, is_cut=True))
    drop(application, broken)
    qtbot.waitUntil(lambda: shown() == [broken.name])
    assert "had to be mended, the file is cut off in the middle." in pane.line.whole_text
    assert pane.line.property("role") == "warning"
    assert pane.files.repair_button.isVisibleTo(pane)
    before = broken.read_bytes()
    pane.files.save_repaired(broken)
    assert broken.read_bytes() == before
    assert "itself" in notices(application)[-1]
    pane.files.save_repaired(saved)
    drop(application, saved)
    qtbot.waitUntil(lambda: shown() == [saved.name])
    assert pane.line.property("role") == "muted"
    assert len(timeline.timeline.tracks[0].trace.slices) == len(open_trace(broken).slices)

    monkeypatch.setattr(source, "_FREE_OF_RATIO", 1 << 20)
    for path, said in write_no_traces(tmp_path).items():
        drop(application, path)
        qtbot.waitUntil(lambda said=said: said in pane.empty_text)
        assert path.name in pane.empty_text
        assert pane.empty_text.count(". ") == 0
        assert not pane.files.perfetto_button.isEnabled()
        assert not pane.files.repair_button.isVisibleTo(pane)


def test_a_mark_is_kept_in_the_session_and_undone(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "tour.roofscope"
    shutil.copy(TOUR, path)
    path.chmod(0o644)
    application = open_window(path)
    pane, model = application.panes.trace, application.model
    canvas = pane.panel.canvas
    number = next(one.number for one in model.session.points if one.measured and model.trace_of(one))
    application.selection.select(number)
    qtbot.waitUntil(lambda: bool(canvas.timeline.tracks))
    asked: list[float] = []
    canvas.mark_wanted.disconnect()  # the question of the note waits for an answer
    canvas.mark_wanted.connect(asked.append)
    canvas.timeline.choose(canvas.timeline.neighbour(0))
    QTest.keyClick(canvas, Qt.Key.Key_M)
    chosen = canvas.timeline.chosen
    assert chosen is not None
    assert asked == [canvas.timeline.span_of(chosen)[0]]
    pane.marking.set_mark(asked[0], " the first one ")

    def kept() -> tuple[Moment, ...]:
        mark = load(path).marks.get(number, Mark())
        return mark.moments

    assert [one.note for one in kept()] == ["the first one"]
    assert [one.time for one in canvas.timeline.moments] == asked
    line = QRect(round(canvas.plot.left()), 0, round(canvas.plot.width()), 12)
    x = round(canvas.timeline.view.x_of(asked[0], canvas.plot.width())) + 2
    flag = canvas.grab(line).toImage().pixelColor(x, 3).name()
    application.window.actions_of[CommandId.UNDO].trigger()
    assert kept() == canvas.timeline.moments == ()
    assert canvas.grab(line).toImage().pixelColor(x, 3).name() != flag
    application.window.actions_of[CommandId.REDO].trigger()
    [moment] = kept()
    canvas.mark_dropped.emit(moment)
    assert kept() == ()
    pane.open_file(RECORDED / "block-eager.json.gz")
    qtbot.waitUntil(lambda: canvas.timeline.tracks[0].title == "block-eager.json.gz")
    pane.marking.set_mark(0.0, "of a file")
    assert canvas.timeline.moments == ()
