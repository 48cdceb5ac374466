"""Without a mouse: from the start to an export, each command by palette and key, each widget by its name."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.fuzzy import best
from roofscope.app.window.application import Application
from roofscope.app.window.commands import COMMANDS, Command, CommandId
from roofscope.app.window.palette_entries import entries
from roofscope.app.window.shell.palette import Palette
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.outcome import Measured
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.qt.keyboard import focus, press_keys, tab_until, type_into
from roofscope.tests.qt.test_runs import until_idle
from roofscope.tests.qt.test_window import _belongs_to_qt

_LETTER = re.compile("&([^&])")


def dialog_of(application: Application, kind: type[QDialog] = QDialog) -> QDialog:
    shown = [dialog for dialog in application.window.findChildren(kind) if dialog.isVisible()]
    assert shown
    return shown[-1]


def choose_by_keys(application: Application, kernel: str) -> int:
    """Tick this kernel alone; how many implementations that is."""
    press_keys(application, "Ctrl+F")  # the results
    press_keys(application, "Ctrl+F")
    tab_until("Untick what is shown")
    QTest.keyClick(focus(), Qt.Key.Key_Space)
    assert not any(application.library.checked().values())
    press_keys(application, "Ctrl+F")
    type_into(kernel)
    tab_until("Kernels and implementations")
    QTest.keyClick(focus(), Qt.Key.Key_Home)
    tree = application.panes.library.tree
    assert focus() is tree
    for _ in range(len(application.library.kernels)):
        if tree.currentIndex().data() == kernel:
            break
        QTest.keyClick(focus(), Qt.Key.Key_Down)
    QTest.keyClick(focus(), Qt.Key.Key_Space)
    return sum(map(len, application.library.checked().values()))


def save_by_keys(application: Application, qtbot: QtBot, keys: str, target: Path) -> None:
    """The dialog of these keys takes a name where the keyboard is, and Enter."""
    press_keys(application, keys)
    dialog = dialog_of(application, QFileDialog)
    qtbot.waitUntil(lambda: dialog.isAncestorOf(QApplication.focusWidget() or application.window))
    assert isinstance(focus(), QLineEdit)
    press_keys_in(focus(), "Ctrl+A")
    type_into(target.name)
    QTest.keyClick(focus(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: application.window.said == f"Written to {target}")
    back_to_the_window(application, qtbot)


def back_to_the_window(application: Application, qtbot: QtBot) -> None:
    """What a desktop does as a dialog closes; there is none here."""
    application.window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.activeWindow() is application.window)


def press_keys_in(widget: QWidget, keys: str) -> None:
    QTest.keySequence(widget, QKeySequence(keys))


@pytest.mark.parametrize("by_button", [False, True])
def test_from_the_start_to_a_report_by_the_keyboard_alone(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path, by_button: bool
) -> None:
    """No widget is given the focus by the test: it starts where the window puts it."""
    application = open_window()
    application.settings.folder = tmp_path  # as if the last file had gone there
    application.window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    count = choose_by_keys(application, "softmax")
    assert count > 1
    tab_until("fp16: Measure in float16")
    QTest.keyClick(focus(), Qt.Key.Key_Space)  # a second type
    assert application.panes.plan_bar.dtypes[Dtype.FLOAT16].isChecked()
    if by_button:
        tab_until("Run")
        QTest.keyClick(focus(), Qt.Key.Key_Space)
    else:
        press_keys(application, "F5")
    qtbot.waitUntil(lambda: application.controller.is_running)
    until_idle(application, qtbot)
    points = application.model.session.points
    assert len({point.implementation.key for point in points}) == count
    assert {point.job.workload.dtype for point in points} == {Dtype.FLOAT32, Dtype.FLOAT16}
    # What came of it: the first of two in the palette.
    press_keys(application, "Ctrl+Shift+P")
    palette = dialog_of(application, Palette)
    assert isinstance(palette, Palette)
    qtbot.waitUntil(lambda: palette.isAncestorOf(QApplication.focusWidget() or application.window))
    type_into("softmax triton")
    QTest.keyClick(focus(), Qt.Key.Key_Return)
    number = application.selection.number
    assert number is not None
    point = application.model.point(number)
    assert point is not None
    assert isinstance(point.outcome, Measured)
    assert (point.implementation.kernel, point.implementation.provider) == ("softmax", "triton")
    back_to_the_window(application, qtbot)
    # And out of the program.
    table, page = tmp_path / "out.csv", tmp_path / "out.html"
    save_by_keys(application, qtbot, "Ctrl+E", table)
    assert len(table.read_text().splitlines()) == len(points) + 1
    save_by_keys(application, qtbot, "Ctrl+Shift+E", page)
    text = page.read_text()
    assert text.count("<svg") >= 1
    assert all(point.implementation.label in text for point in points)


def test_every_command_is_found_in_the_palette_by_its_name(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    offered = entries(application, application.commands.why_not)
    texts = [(f"{entry.name} {entry.also}", entry) for entry in offered]
    for command in COMMANDS:
        if command.id is CommandId.PALETTE:
            continue
        action = application.window.actions_of[command.id]
        groups = (command.menu, command.inside) if command.inside else (command.menu,)
        name = ": ".join((*groups, action.text().removesuffix("..."))).replace("&", "")
        [(_, found)] = best(name.partition(": ")[2], texts, 1)
        assert found.name == name, command.id
        assert bool(found.why_not) == (not action.isEnabled()), command.id
        assert not found.why_not or found.why_not.endswith("."), command.id


def test_every_key_of_a_command_gives_it(open_window: OpenWindow, session_file: Path) -> None:
    """One that two actions share gives neither."""
    application = open_window(session_file)
    given: list[CommandId] = []

    def note(command: Command) -> None:
        given.append(command.id)

    for command in COMMANDS:
        action = application.window.actions_of[command.id]
        action.triggered.disconnect()
        action.triggered.connect(lambda _checked=False, command=command: note(command))
        action.setEnabled(True)
    application.window.activateWindow()
    application.panes.chart.setFocus()
    with_keys = [command for command in COMMANDS if command.keys]
    for command in with_keys:
        press_keys(application, command.keys)
    assert given == [command.id for command in with_keys]


DIALOGS = (
    *(CommandId.PALETTE, CommandId.SETTINGS, CommandId.MESSAGES, CommandId.DOCTOR, CommandId.SHORTCUTS),
    *(CommandId.ABOUT, CommandId.DEVICE_SHEET, CommandId.KERNELS, CommandId.RENAME, CommandId.PROJECT),
    CommandId.NOTE,
)


def test_every_widget_of_a_dialog_is_named_and_esc_closes_it(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path
) -> None:
    application = open_window(session_file)
    application.panes.cards.notice("Something.")
    application.selection.select(application.table.point_at(0).number)
    for command in DIALOGS:
        application.window.actions_of[command].trigger()
        dialog = dialog_of(application)
        assert dialog.windowTitle(), command
        assert nameless_in(dialog) == [], command
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        dialogs = application.window.findChildren(QDialog)
        qtbot.waitUntil(lambda dialogs=dialogs: not any(one.isVisible() for one in dialogs))


def nameless_in(dialog: QDialog) -> list[str]:
    kinds = (QAbstractButton, QLineEdit, QComboBox, QAbstractItemView, QPlainTextEdit, QAbstractSpinBox)
    nameless = [
        widget
        for widget in dialog.findChildren(QWidget)
        if isinstance(widget, (*kinds, QScrollArea))
        and not isinstance(widget, QHeaderView)
        and not isinstance(widget.parent(), QAbstractSpinBox)
        and not _belongs_to_qt(widget)
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
        and not (
            isinstance(widget, QLineEdit) and type(dialog).__name__ == "QInputDialog"
        )  # its label names it
    ]
    return [type(widget).__name__ for widget in nameless]


def test_no_two_entries_of_a_menu_share_a_letter(open_window: OpenWindow) -> None:
    """A letter that two have gives neither, but goes from one to the other."""
    application = open_window()
    menus = [menu for menu in application.window.findChildren(QMenu) if menu.title()]
    assert len(menus) > 5
    for menu in menus:
        letters = [found[1].upper() for one in menu.actions() if (found := _LETTER.search(one.text()))]
        assert len(letters) == len(set(letters)), (menu.title(), sorted(letters))


def test_a_command_that_cannot_be_given_says_why_and_stays(open_window: OpenWindow) -> None:
    application = open_window()
    application.commands.help.show_palette()
    palette = application.window.findChild(Palette)
    assert palette is not None
    palette.search.setText("run: stop")
    assert palette.chosen is not None
    assert palette.chosen.why_not == "No run is under way."
    assert palette._foot.text() == "No run is under way."
    QTest.keyClick(palette.search, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.close()


def test_the_last_commands_come_first(open_window: OpenWindow) -> None:
    application = open_window()
    offered = entries(application, application.commands.why_not)
    next(entry for entry in offered if entry.name == "View: Layout: Reset").act()
    assert entries(application, application.commands.why_not)[0].name == "View: Layout: Reset"


def test_settings_are_found_and_hold_at_once(open_window: OpenWindow) -> None:
    application = open_window()
    application.window.actions_of[CommandId.SETTINGS].trigger()
    dialog = dialog_of(application)
    search = dialog.findChild(QLineEdit)
    assert search is not None
    search.setText("patience")
    assert [row.isVisible() for text, row in dialog.rows].count(True) == 1  # type: ignore[attr-defined]
    box = dialog.findChild(QAbstractSpinBox)
    box.setValue(3.0)  # type: ignore[union-attr]
    assert application.settings.habits.patience == 3.0
    assert application.controller.patience == 3.0
    dialog.close()
