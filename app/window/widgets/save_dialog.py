"""The dialog that asks where a file is to be written."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget


def ask_where(parent: QWidget, title: str, kinds: str, deliver: Callable[[Path], object]) -> None:
    dialog = QFileDialog(parent, title, "", kinds)
    save_as(dialog, kinds)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(lambda name: deliver(Path(name)))
    dialog.open()


def save_as(dialog: QFileDialog, kinds: str) -> None:
    """Make it one that saves. The suffix follows the kind chosen: ``Table as CSV (*.csv)`` gives csv."""
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(_suffix(kinds.partition(";;")[0]))
    dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(_suffix(chosen)))


def _suffix(kind: str) -> str:
    return kind.partition("*.")[2].rstrip(")")
