"""The system's font of fixed width, in the size of all other text."""

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication


def fixed_font() -> QFont:
    """Traces and code line up in it only."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QGuiApplication.font().pointSizeF())
    return font
