"""The sweep pane: what it draws, follows and writes."""

import csv
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.sweep.scene import SweepOptions
from roofscope.app.presentation.tokens import DARK, LIGHT
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.sweep.view import SweepView
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.sessions import ENVIRONMENT, write_session
from roofscope.tests.sweeps import ODD, add_size, sweep_session


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    session = sweep_session(range(10, 16), kernels=("vector_add", "gelu"))
    return write_session(session, tmp_path / "sweep.roofscope")


@pytest.fixture
def shown(open_window: OpenWindow, sweep_file: Path, qtbot: QtBot) -> Application:
    application = open_window(sweep_file)
    dock = application.window.docks["Sweep"]
    application.window.resize(1280, 900)
    dock.show()
    dock.raise_()
    qtbot.waitUntil(lambda: application.panes.sweep.view is not None)
    qtbot.waitUntil(lambda: pane_of(application).scene is not None)
    qtbot.waitUntil(lambda: pane_of(application).plot.view.box.width > 100)
    return application


def pane_of(application: Application) -> SweepView:
    return application.panes.sweep.show_view()


def move(widget: QWidget, at: QPointF) -> None:
    none = Qt.MouseButton.NoButton
    event = QMouseEvent(
        QEvent.Type.MouseMove, at, widget.mapToGlobal(at), none, none, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(widget, event)


def double_click(qtbot: QtBot, widget: QWidget) -> None:
    """With the release that Qt's own leaves out: the button would stay down for the tests to come."""
    qtbot.mouseDClick(widget, Qt.MouseButton.LeftButton)
    qtbot.mouseRelease(widget, Qt.MouseButton.LeftButton)


def test_it_draws_a_kernel_with_several_sizes(shown: Application) -> None:
    scene = pane_of(shown).scene
    assert scene
    assert scene.kernel == "vector_add"
    assert [line.label for line in scene.lines] == [
        entry.text() for entry in pane_of(shown).legend.entries.values()
    ]


def test_a_click_selects_everywhere_and_the_selection_is_ringed(shown: Application, qtbot: QtBot) -> None:
    pane = pane_of(shown)
    assert pane.scene
    dot = pane.scene.lines[1].dots[2]
    at = pane.plot.viewport_place(dot.number).toPoint()
    found = pane.plot.spot_at(QPointF(at))
    assert found
    qtbot.mouseClick(pane.plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert shown.selection.number == found[0].number
    assert pane.scene.selected == found[0].number


def test_it_follows_the_selection_to_its_kernel(shown: Application) -> None:
    point = next(p for p in shown.model.session.points if p.implementation.kernel == "gelu" and p.measured)
    shown.selection.select(point.number)
    scene = pane_of(shown).scene
    assert scene
    assert (scene.kernel, scene.selected) == ("gelu", point.number)
    assert pane_of(shown).bar.kernels.currentText() == "gelu"


def test_it_begins_with_what_was_selected_before_it_was_seen(
    open_window: OpenWindow, sweep_file: Path, qtbot: QtBot
) -> None:
    application = open_window(sweep_file)
    points = application.model.session.points
    point = next(one for one in points if one.implementation.kernel == "gelu" and one.measured)
    application.selection.select(point.number)
    dock = application.window.docks["Sweep"]
    dock.show()
    dock.raise_()
    qtbot.waitUntil(lambda: application.panes.sweep.view is not None)
    qtbot.waitUntil(lambda: pane_of(application).scene is not None)
    scene = pane_of(application).scene
    assert scene
    assert scene.kernel == "gelu"


def test_it_follows_what_was_selected_while_it_was_out_of_sight(shown: Application, qtbot: QtBot) -> None:
    docks, points = shown.window.docks, shown.model.session.points
    first = pane_of(shown).scene
    assert first
    other = next(one for one in points if one.implementation.kernel == "gelu" and one.measured)
    same = next(one for one in points if one.implementation.kernel == first.kernel and one.measured)
    docks["Results"].raise_()
    qtbot.waitUntil(lambda: pane_of(shown).visibleRegion().isEmpty())
    for point in (other, same):
        shown.selection.select(point.number)
    docks["Sweep"].raise_()
    qtbot.waitUntil(lambda: getattr(pane_of(shown).scene, "selected", None) == same.number)
    scene = pane_of(shown).scene
    assert scene
    assert scene.kernel == first.kernel


def test_hovering_a_dot_shows_its_card_and_a_gap_its_reason(shown: Application) -> None:
    pane = pane_of(shown)
    assert pane.scene
    dot = pane.scene.lines[0].dots[-1]
    move(pane.plot.viewport(), pane.plot.viewport_place(dot.number))
    assert pane.card.isVisible()
    assert "vector_add" in pane.card.html
    move(pane.plot.viewport(), QPointF(3, 3))
    assert not pane.card.isVisible()
    gap = pane.scene.lines[0].gaps[0]
    assert gap.x == ODD
    found = pane.plot.spot_at(pane.plot.viewport_place(gap.number))
    assert found
    assert found[0] is gap


def test_the_boxes_choose(shown: Application) -> None:
    pane = pane_of(shown)
    pane.bar.quantities.setCurrentIndex(list(Quantity).index(Quantity.SPEED_UP))
    pane.bar.quantities.activated.emit(pane.bar.quantities.currentIndex())
    assert pane.scene
    assert pane.scene.quantity is Quantity.SPEED_UP
    assert pane.bar.baselines.isVisibleTo(pane)
    pane.bar.baselines.setCurrentIndex(pane.bar.baselines.findData("cuda_vectorised"))
    pane.bar.baselines.activated.emit(0)
    assert pane.scene.baseline == "cuda_vectorised"
    cuda = pane.scene.lines[0]
    assert all(dot.y == 1.0 for dot in cuda.dots)
    pane.bar.kernels.setCurrentIndex(pane.bar.kernels.findData("gelu"))
    pane.bar.kernels.activated.emit(0)
    assert pane.scene.kernel == "gelu"


def test_the_legend_switches_lines(shown: Application, qtbot: QtBot) -> None:
    pane = pane_of(shown)
    entry = pane.legend.entries["eager"]
    qtbot.mouseClick(entry, Qt.MouseButton.LeftButton)
    assert pane.scene
    assert "eager" not in [line.key for line in pane.scene.lines]
    assert "eager" in pane.legend.entries
    double_click(qtbot, entry)
    assert [line.key for line in pane.scene.lines] == ["eager"]
    double_click(qtbot, entry)
    assert len(pane.scene.lines) == len(pane.scene.legend)


def test_the_keyboard_walks_the_dots(shown: Application, qtbot: QtBot) -> None:
    pane = pane_of(shown)
    pane.setFocus()
    assert pane.scene
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right):
        qtbot.keyClick(pane, key)
    line = pane.scene.lines[0]
    assert shown.selection.number == line.dots[1].number
    qtbot.keyClick(pane, Qt.Key.Key_Down)
    found = pane.scene.dot(shown.selection.number)
    assert found
    assert found[0] is not line
    assert found[1].sizes == line.dots[1].sizes
    qtbot.keyClick(pane, Qt.Key.Key_Escape)
    assert shown.selection.number is None


def test_f_shows_all_again_after_a_zoom(shown: Application, qtbot: QtBot) -> None:
    pane = pane_of(shown)
    assert pane.scene
    whole = pane.plot.view
    box = pane.plot.getPlotItem().getViewBox()
    box.scaleBy((0.5, 0.5))
    box.sigRangeChangedManually.emit(box.state["mouseEnabled"])
    assert pane.plot.view.x.span < whole.x.span
    assert pane.picture().ranges
    qtbot.keyClick(pane, Qt.Key.Key_F)
    assert pane.plot.view.x.span == pytest.approx(whole.x.span)
    assert pane.picture().ranges is None


def test_arriving_points_are_drawn_together(shown: Application, qtbot: QtBot) -> None:
    pane = pane_of(shown)
    other = sweep_session(range(10, 16))
    before = len(other.points)
    add_size(other, "vector_add", 2**20)
    drawn: list[int] = []
    original = pane.plot.show_scene

    def count(*args: object, **options: object) -> None:
        drawn.append(1)
        original(*args, **options)  # type: ignore[arg-type]

    pane.plot.show_scene = count  # type: ignore[method-assign]
    number = max(point.number for point in shown.model.session.points)
    for point in other.points[before:]:
        number += 1
        shown.model.add_point(replace(point, number=number))
    qtbot.waitUntil(
        lambda: pane.scene is not None and any(dot.x == 2**20 for dot in pane.scene.lines[0].dots)
    )
    assert len(drawn) == 1


def test_nothing_is_built_out_of_sight(open_window: OpenWindow, sweep_file: Path) -> None:
    application = open_window(sweep_file)
    application.selection.select(3)
    assert application.panes.sweep.view is None
    view = pane_of(application)
    application.selection.select(4)
    assert view.scene is None


def test_a_range_in_the_plan_bar_is_a_sweep(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = open_window()
    application.controller.new_session(application.panes.plan_bar.device())
    application.window.docks["Sweep"].raise_()
    qtbot.waitUntil(lambda: application.panes.sweep.view is not None)
    pane = pane_of(application)
    qtbot.waitUntil(lambda: pane.scene is not None)
    assert pane.scene
    assert "n=2^10..2^24" in pane.scene.why_empty
    library = application.library
    library.set_all(False)
    [row] = [row for row in range(library.rowCount()) if library.data(library.index(row, 0)) == "vector_add"]
    check = Qt.ItemDataRole.CheckStateRole
    library.setData(library.index(row, 0), Qt.CheckState.Checked.value, check)
    application.panes.plan_bar.own_sizes.setText("n=2^10..2^12")
    application.window.actions_of[CommandId.RUN].trigger()
    qtbot.waitUntil(
        lambda: pane.scene is not None and bool(pane.scene.lines) and len(pane.scene.lines[-1].dots) == 3
    )
    qtbot.waitUntil(lambda: not application.controller.is_running)
    assert [dot.x for dot in pane.scene.lines[0].dots] == [1024, 2048, 4096]


def test_one_size_says_how_to_get_a_sweep(open_window: OpenWindow, session_file: Path, qtbot: QtBot) -> None:
    application = open_window(session_file)
    application.window.docks["Sweep"].raise_()
    qtbot.waitUntil(lambda: application.panes.sweep.view is not None)
    pane = pane_of(application)
    qtbot.waitUntil(lambda: pane.scene is not None)
    pane.show_options(SweepOptions("vector_add"))
    assert "n=2^10..2^24" in pane._empty.text()
    assert pane._empty.isVisibleTo(pane)


def test_it_is_written_in_the_background(shown: Application, qtbot: QtBot, tmp_path: Path) -> None:
    pane = pane_of(shown)
    for name in ("a.svg", "a.png", "a.csv"):
        with qtbot.waitSignal(pane.said):
            pane.export(tmp_path / name)
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    head, *rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert head[:3] == ["sizes", "cuda_vectorised B/s", "cuda_vectorised B/s low"]
    assert [row[0] for row in rows][:2] == ["n=1024", "n=2048"]
    with qtbot.waitSignal(pane.noticed) as noticed:
        pane.export(tmp_path / "no" / "a.svg")
    assert "there is no folder" in noticed.args[0]
    with qtbot.waitSignal(pane.noticed) as noticed:
        pane.export(tmp_path / "a.roofscope")
    assert "does not end in .svg, .png or .csv" in noticed.args[0]


def test_a_picture_is_drawn_off_the_windows_thread(
    shown: Application, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    from roofscope.app.window.sweep import files

    threads: list[object] = []
    original = files.svg_image
    monkeypatch.setattr(
        files, "svg_image", lambda *args: (threads.append(threading.current_thread()), original(*args))[1]
    )
    pane = pane_of(shown)
    with qtbot.waitSignal(pane.said):
        pane.copy_image()
    assert threads
    assert threading.main_thread() not in threads
    content = QGuiApplication.clipboard().mimeData()
    assert content.hasImage()
    assert content.text().startswith("n\t")


def test_names_from_a_file_stay_text(open_window: OpenWindow, tmp_path: Path, qtbot: QtBot) -> None:
    """pyqtgraph would take them for HTML, and load what it names."""
    path = tmp_path / "hostile.roofscope"
    axis = "<img src='file:///dev/null'>"
    session = sweep_session(range(10, 13))
    with SessionStore.create(path) as store:
        store.add_environment(ENVIRONMENT, ENVIRONMENT.devices[0].id)
        spec = session.specs["vector_add"]
        store.add_kernel(replace(spec, axes=(replace(spec.axes[0], name=axis),)))
        for point in session.points:
            sizes = {axis: point.job.workload.sizes["n"]}
            job = replace(point.job, workload=replace(point.job.workload, sizes=sizes))
            store.add_outcome(job, point.implementation, point.outcome)
    application = open_window(path)
    application.window.resize(1280, 1200)
    application.window.resizeDocks([application.window.docks["Sweep"]], [500], Qt.Orientation.Vertical)
    application.window.docks["Sweep"].raise_()
    qtbot.waitUntil(lambda: application.panes.sweep.view is not None)
    pane = pane_of(application)
    qtbot.waitUntil(lambda: pane.scene is not None and bool(pane.scene.lines))
    pane.plot.resize(600, 400)
    label = pane.plot.getPlotItem().getAxis("bottom").label
    assert axis in label.toPlainText()
    assert "\ufffc" not in label.toPlainText()  # what stands for a picture


def test_every_part_has_a_name(shown: Application) -> None:
    pane = pane_of(shown)
    pane.set_theme(DARK)
    pane.set_theme(LIGHT)
    for part in (
        *(
            pane,
            pane.plot,
            pane.legend,
            pane.bar.kernels,
            pane.bar.dtypes,
            pane.bar.quantities,
            pane.bar.axes,
            pane.bar.baselines,
        ),
        *pane.legend.entries.values(),
    ):
        assert part.accessibleName()
    assert "vector_add fp32 on NVIDIA H200" in pane.accessibleDescription()


def test_the_sweep_shows_what_the_windows_filter_keeps(shown: Application) -> None:
    pane, filtered = pane_of(shown), shown.shown
    scene = pane.scene
    assert scene is not None
    all_lines, kernel = {line.key for line in scene.legend}, scene.kernel
    hidden = scene.legend[0]
    filtered.show(filtered.filter.toggled(hidden.provider))
    assert pane.scene is not None
    assert {line.key for line in pane.scene.legend} == {
        line.key for line in scene.legend if line.provider is not hidden.provider
    }
    assert hidden.key not in pane.legend.entries
    filtered.show_all()
    assert {line.key for line in pane.scene.legend} == all_lines
    other = next(name for name in ("vector_add", "gelu") if name != kernel)
    filtered.show(filtered.filter.isolating(other))
    assert pane.scene.kernel == other
    assert [pane.bar.kernels.itemText(place) for place in range(pane.bar.kernels.count())] == [other]
    filtered.show_all()
    number = pane.scene.lines[0].dots[1].number
    filtered.show(filtered.filter.without([number]))
    assert pane.scene.dot(number) is None
    filtered.show(replace(filtered.filter, text="nothing has this"))
    assert "filter" in pane.scene.why_empty
    empty = pane.findChild(QLabel, "whyEmpty")
    assert empty is not None
    assert empty.isVisible()


def test_a_low_pane_has_its_boxes_beside_the_plot_and_its_legend_whole(
    shown: Application, qtbot: QtBot
) -> None:
    shown.window.resize(1280, 800)
    pane = pane_of(shown)
    qtbot.waitUntil(lambda: pane.bar.is_beside)
    qtbot.waitUntil(lambda: pane.plot.view.box.height > 0.6 * pane.height())
    assert pane.plot.height() >= pane.height() - 12
    assert not pane.bar.geometry().intersects(pane.plot.geometry())
    boxes = [pane.bar.kernels, pane.bar.dtypes, pane.bar.quantities]
    assert all(box.height() >= box.minimumSizeHint().height() for box in boxes)
    assert pane.legend.verticalScrollBar().maximum() == 0
    shown.window.resize(1280, 1600)
    qtbot.waitUntil(lambda: not pane.bar.is_beside)
    qtbot.waitUntil(lambda: pane.bar.geometry().bottom() < 60)
