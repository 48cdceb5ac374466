"""A user without a mouse: keys go to what has the focus, and the window says what that is."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from roofscope.app.window.application import Application


def focus() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget


def type_into(text: str) -> None:
    QTest.keyClicks(focus(), text)


def press_keys(application: Application, keys: str) -> None:
    QTest.keySequence(application.window, QKeySequence(keys))


def tab_until(name: str) -> None:
    for _ in range(80):
        if focus().accessibleName() == name:
            return
        QTest.keyClick(focus(), Qt.Key.Key_Tab)
    raise AssertionError(f"Tab does not come to {name}")
