"""The pane of parameters: the heat map that it draws, and the variants that it measures."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.grid.layout import tip_of
from roofscope.app.window.application import Application
from roofscope.app.window.grid.view import GridView
from roofscope.profiling.planning.grid import MOST_VARIANTS
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.tests.grids import TOO_LARGE, add_variants, grid_session
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.qt.test_live_edit import Live, opened
from roofscope.tests.qt.test_runs import until_idle
from roofscope.tests.sessions import implementations, write_session
from roofscope.tests.worker.toys import REFERENCE, add_toy

DECLARED = "from roofscope import Choice\n\nBLOCK = Choice(64, 128, 256)\nWARPS = Choice(4, 8)\n"
VERSION = f"{DECLARED}\n\ndef run(x):\n    return x * 2\n# 4e-3 s\n"


@pytest.fixture
def grid_file(tmp_path: Path) -> Path:
    return write_session(grid_session(), tmp_path / "grid.roofscope")


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = add_toy(tmp_path / "mine", "toy", REFERENCE)
    (folder / "triton_a.py").write_text(VERSION)
    (folder / "triton_b.py").write_text("def run(x):\n    return x * 2\n# 4e-3 s\n")
    return folder


def view_of(application: Application, qtbot: QtBot) -> GridView:
    dock = application.window.docks["Parameters"]
    application.window.resize(1280, 900)
    dock.show()
    dock.raise_()
    qtbot.waitUntil(lambda: application.panes.parameters.view is not None)
    view = application.panes.parameters.show_view()
    qtbot.waitUntil(lambda: view.scene is not None)
    return view


def click(view: GridView, column: int, row: int) -> None:
    cell = view.scene.at(column, row) if view.scene else None
    assert cell
    place = view.map.place_of(cell)
    QTest.mouseClick(view.map, Qt.MouseButton.LeftButton, pos=QPoint(int(place.x()), int(place.y())))


def test_a_recorded_grid_is_a_heat_map_whose_cells_are_points(
    open_window: OpenWindow, grid_file: Path, qtbot: QtBot, tmp_path: Path
) -> None:
    application = open_window(grid_file)
    view = view_of(application, qtbot)
    qtbot.waitUntil(lambda: bool(view.scene and not view.scene.is_empty))
    assert view.scene
    assert (view.scene.x, view.scene.y) == ("BLOCK_M", "num_warps")
    click(view, 1, 0)
    selected = application.selection.number
    assert selected is not None
    point = application.model.point(selected)
    assert point
    assert point.implementation.values == "BLOCK_M=64 num_warps=4"
    for key, values in (
        (Qt.Key.Key_Right, "num_warps=4"),
        (Qt.Key.Key_Right, "BLOCK_M=256 num_warps=4"),
        (Qt.Key.Key_Down, "BLOCK_M=256"),
        (Qt.Key.Key_Left, ""),  # the default
    ):
        QTest.keyClick(view, key)
        found = application.model.point(application.selection.number or 0)
        assert found
        assert found.implementation.values == values
    failed = view.scene.at(3, 0)
    assert failed
    assert TOO_LARGE in tip_of(failed, view.scene.quantity)
    view.export(tmp_path / "grid.png")
    qtbot.waitUntil(lambda: "grid.png" in application.window.said)
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")
    view.export(tmp_path / "grid.svg")
    qtbot.waitUntil(lambda: "grid.svg" in application.window.said)
    assert "480.0 µs" in (tmp_path / "grid.svg").read_text()


def test_bars_and_other_axes_are_chosen_in_the_bar(
    open_window: OpenWindow, grid_file: Path, qtbot: QtBot
) -> None:
    view = view_of(open_window(grid_file), qtbot)
    qtbot.waitUntil(lambda: bool(view.scene and not view.scene.is_empty))
    view.bar.ys.setCurrentIndex(view.bar.ys.findText("bars"))
    view.bar.ys.activated.emit(view.bar.ys.currentIndex())
    assert view.scene
    assert (view.scene.is_bars, view.scene.x, view.scene.fixed) == (True, "BLOCK_M", "num_warps=8")
    view.bar.xs.setCurrentIndex(view.bar.xs.findText("x: num_warps"))
    view.bar.xs.activated.emit(view.bar.xs.currentIndex())
    assert view.scene.x == "num_warps"
    view.bar.quantities.setCurrentIndex(1)
    view.bar.quantities.activated.emit(1)
    assert view.scene.quantity.axis_title == "Fraction of roof"


def test_a_point_without_parameters_says_so_beside_another_ones_grid(
    open_window: OpenWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    session = grid_session()
    add_variants(session, (implementations("matmul")[2],))
    application = open_window(write_session(session, tmp_path / "beside.roofscope"))
    view = view_of(application, qtbot)
    qtbot.waitUntil(lambda: bool(view.scene and not view.scene.is_empty))
    note = view.bar.note
    assert note.whole_text.startswith("Best: ")
    application.selection.select(application.model.session.points[-1].number)
    qtbot.waitUntil(lambda: note.whole_text.startswith("matmul / eager PyTorch declares no parameters. "))
    application.selection.select(application.model.session.points[0].number)
    qtbot.waitUntil(lambda: "declares" not in note.whole_text)


def on_version_a(open_window: OpenWindow, qtbot: QtBot, toy: Path) -> tuple[Live, Point, GridView]:
    """The window, its point that is selected, and the view that offers the parameters of its file."""
    live = opened(open_window, qtbot, toy, "reads")
    first = next(point for point in live.points if point.implementation.stem == "triton_a")
    live.application.selection.select(first.number)
    view = view_of(live.application, qtbot)
    qtbot.waitUntil(lambda: set(view.form.boxes) == {"BLOCK", "WARPS"})
    return live, first, view


def test_a_value_that_is_changed_is_measured_and_the_point_moves(
    open_window: OpenWindow, qtbot: QtBot, toy: Path
) -> None:
    live, first, view = on_version_a(open_window, qtbot, toy)
    application = live.application
    assert view.scene
    assert "has one variant here. It declares BLOCK=64, 128 or 256; WARPS=4 or 8." in (view.scene.why_empty)
    block = view.form.boxes["BLOCK"]
    assert [block.itemText(place) for place in range(block.count())] == [
        "64 (default)",
        "128",
        "256",
        "all 3",
    ]
    block.setCurrentIndex(1)
    count = len(live.points)
    qtbot.mouseClick(view.form.measure, Qt.MouseButton.LeftButton)
    moved = until_point(application, qtbot, count + 1)
    assert moved.implementation.key == "toy/triton_a BLOCK=128"
    assert moved.job.workload == first.job.workload
    assert application.selection.number == moved.number
    assert "BLOCK=128 WARPS=4: " in application.window.said
    qtbot.waitUntil(lambda: bool(view.scene and view.scene.is_bars and len(view.scene.cells) == 2))
    stored = load(application.model.session.path)
    assert [one.text for one in stored.points[-1].implementation.parameters] == ["BLOCK=128", "WARPS=4"]


def test_a_point_from_before_its_file_declared_parameters_offers_those_of_now(
    open_window: OpenWindow, qtbot: QtBot, toy: Path
) -> None:
    live = opened(open_window, qtbot, toy, "reads")
    application = live.application
    before = next(point for point in live.points if point.implementation.stem == "triton_b")
    application.selection.select(before.number)
    view = view_of(application, qtbot)
    assert view.scene
    assert view.scene.subject
    assert view.scene.subject.key == "toy/triton_a"  # the selected version has no parameters
    count = len(live.points)
    (toy / "triton_b.py").write_text(VERSION)
    live.until_points(count + 1)
    application.selection.select(before.number)
    qtbot.waitUntil(lambda: set(view.form.boxes) == {"BLOCK", "WARPS"})
    assert view.scene.subject.key == "toy/triton_b"
    view.form.boxes["BLOCK"].setCurrentIndex(2)
    qtbot.mouseClick(view.form.measure, Qt.MouseButton.LeftButton)
    last = until_point(application, qtbot, count + 2)
    assert last.implementation.key == "toy/triton_b BLOCK=256"


def until_point(application: Application, qtbot: QtBot, count: int) -> Point:
    """The newest of so many, when the run that brought it is over."""
    qtbot.waitUntil(lambda: len(application.model.session.points) >= count)
    until_idle(application, qtbot)
    assert len(application.model.session.points) == count
    return application.model.session.points[-1]


def test_all_values_of_parameters_are_one_job_and_too_many_are_not_offered(
    open_window: OpenWindow, qtbot: QtBot, toy: Path
) -> None:
    live, _, view = on_version_a(open_window, qtbot, toy)
    application = live.application
    for box in view.form.boxes.values():
        box.setCurrentIndex(box.count() - 1)
    assert view.form.measure.text() == "Measure 6 variants"
    count = len(live.points)
    qtbot.mouseClick(view.form.measure, Qt.MouseButton.LeftButton)
    last = until_point(application, qtbot, count + 6)
    assert {point.job.id for point in application.model.session.points[count:]} == {last.job.id}
    qtbot.waitUntil(lambda: bool(view.scene and len(view.scene.cells) == 6 and not view.scene.is_bars))
    many = (64, 128, 256, *range(MOST_VARIANTS - 3))
    (toy / "triton_a.py").write_text(VERSION.replace("Choice(64, 128, 256)", f"Choice{many}"))
    live.until_points(count + 12)  # the variants that were measured are measured again
    qtbot.waitUntil(lambda: view.form.boxes["BLOCK"].count() == MOST_VARIANTS + 1)
    for box in view.form.boxes.values():
        box.setCurrentIndex(box.count() - 1)
    assert not view.form.measure.isEnabled()
    assert f"{MOST_VARIANTS} are the most" in view.form.measure.toolTip()
