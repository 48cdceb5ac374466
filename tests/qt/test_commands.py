"""The one list of commands."""

from collections import Counter

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QLabel, QMenu

from roofscope.app.window.commands import COMMANDS, CommandId
from roofscope.app.window.shell.shortcuts_dialog import ShortcutsDialog
from roofscope.tests.qt.conftest import OpenWindow


def test_no_two_commands_share_keys():
    keys = Counter(QKeySequence(command.keys).toString() for command in COMMANDS if command.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_all_keys_are_keys():
    assert all(not QKeySequence(command.keys).isEmpty() for command in COMMANDS if command.keys)


def test_every_command_is_stated_once():
    assert Counter(command.id for command in COMMANDS) == Counter(CommandId)


def test_every_command_is_in_a_menu_and_does_something(open_window: OpenWindow):
    window = open_window().window
    in_menus = {action for menu in window.menuBar().findChildren(QMenu) for action in menu.actions()}
    for command in COMMANDS:
        action = window.actions_of[command.id]
        assert action in in_menus
        assert action.receivers("2triggered(bool)") > 0, command.id


def test_the_list_of_shortcuts_shows_every_key(open_window: OpenWindow):
    application = open_window()
    application.window.actions_of[CommandId.SHORTCUTS].trigger()
    dialog = application.window.findChild(ShortcutsDialog)
    texts = {label.text() for label in dialog.findChildren(QLabel)}
    assert {command.tip for command in COMMANDS if command.keys} <= texts
    assert {"F", "Esc", "Right or Down", "Left or Up"} <= texts
    assert {"Wheel", "Drag", "Shift+drag", "Double click"} <= texts
    dialog.accept()
