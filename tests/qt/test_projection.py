"""View > Project onto: the dialog with another GPU's bounds."""

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from roofscope.app.window.commands import CommandId
from roofscope.app.window.shell.projection_dialog import ProjectionDialog
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.recorded import GELU, kept


def dialog_of(application) -> ProjectionDialog:
    application.window.actions_of[CommandId.PROJECT].trigger()
    return application.window.findChildren(ProjectionDialog)[-1]


def test_the_dialog_bounds_the_points_by_the_chosen_gpu(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(GELU)
    dialog = dialog_of(application)
    assert dialog.table.rowCount() == 12
    there = [dialog.table.headerData(at, Qt.Orientation.Horizontal) for at in range(9)].index("Bound there")
    dialog.choice.setCurrentIndex(dialog.choice.findText("RTX 4090"))
    assert dialog.table.index(0, there).data() == "≥ 533 µs"
    dialog.choice.setCurrentIndex(dialog.choice.findText("T4"))
    assert dialog.table.index(0, there).data() == "≥ 1.68 ms"
    dialog.view.clicked.emit(dialog.table.index(3, 0))
    assert application.selection.number == dialog.table.point_number(3)
    dialog.view.sortByColumn(there - 3, Qt.SortOrder.DescendingOrder)
    assert dialog.table.index(0, 2).data() == "CUDA textbook"
    dialog.close()


def test_it_follows_a_session_that_was_on_its_way_when_it_was_asked_for(
    open_window: OpenWindow, qtbot: QtBot
):
    application = open_window(kept("h200-tour"))
    application.commands.sessions.open(GELU)
    dialog = dialog_of(application)
    qtbot.waitUntil(lambda: application.model.session.path == GELU)
    assert dialog.isVisible()
    assert dialog.table.rowCount() == 12
    assert dialog_of(application) is dialog  # asked for again it comes to the front
    application.controller.new_session(None)
    assert dialog.table.rowCount() == 0
    dialog.close()
