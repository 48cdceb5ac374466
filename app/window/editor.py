"""Opens a file of the user's in the program that the desktop has for it."""

import sys
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices


def open_in_editor(path: Path) -> None:
    """On Windows its folder, because there a Python file that is opened is run."""
    shown = path.parent if sys.platform == "win32" else path
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown)))
