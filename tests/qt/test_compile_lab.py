"""The torch.compile laboratory in the window: it follows the selection, and computes nothing while hidden."""

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.compile_lab import WORTH_COMPILING
from roofscope.app.window.panes.mode_bars import ModeBar, scale_end
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Provider
from roofscope.tests.qt.conftest import OpenWindow

H200 = ASSETS / "sessions" / "h200.roofscope"


def texts(widget) -> list[str]:
    return [text.text() for text in widget.findChildren(QLabel)]


def test_it_shows_the_workload_of_the_selected_point(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(H200)
    lab, dock = application.panes.compile_lab, application.window.docks["Compile"]
    assert lab.list.topLevelItemCount() == 0  # nothing is computed behind another tab
    dock.raise_()
    qtbot.waitUntil(lambda: lab.list.topLevelItemCount() == 56)
    application.selection.select(83)
    qtbot.waitUntil(lambda: any("0.861× as fast as eager" in text for text in texts(lab)))
    assert lab.shown is not None
    assert (lab.shown.kernel, lab.shown.workload) == ("softmax", "bf16 8Ki × 16Ki")
    assert "default" in texts(lab)
    assert len(lab.findChildren(ModeBar)) >= 2  # the head and a mode


def test_a_click_on_a_workload_selects_its_best_mode(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(H200)
    lab = application.panes.compile_lab
    application.window.docks["Compile"].raise_()
    qtbot.waitUntil(lambda: lab.list.topLevelItemCount() == 56)
    item = lab.list.topLevelItem(2)
    assert item is not None
    lab.list.setCurrentItem(item)
    lab.list.itemClicked.emit(item, 0)
    point = application.model.point(application.selection.number or 0)
    assert point is not None
    assert point.implementation.provider is Provider.COMPILE
    assert lab.shown is not None
    assert point.job.workload.kernel == lab.shown.kernel


def test_without_a_compiled_point_it_says_what_to_do(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(H200)
    lab = application.panes.compile_lab
    application.window.docks["Compile"].raise_()
    qtbot.waitUntil(lab.list.isVisible)
    application.controller.new_session(None)
    qtbot.waitUntil(lambda: not lab.list.isVisible())
    assert any("Nothing of this session was compiled" in text for text in texts(lab))


def test_the_line_of_worth_is_always_in_the_scale(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(H200)
    lab = application.panes.compile_lab
    application.window.docks["Compile"].raise_()
    qtbot.waitUntil(lambda: lab.list.topLevelItemCount() == 56)
    assert lab.shown is not None
    bar = ModeBar(lab.shown.modes[0], scale_end(()), "#ff0000")
    assert bar._end > WORTH_COMPILING
    bar.deleteLater()
