"""What the window's two plots share: what of the plane they show, and how large their letters are."""

from typing import Any

from PySide6.QtGui import QFont

from roofscope.app.presentation.roofline.geometry import Box, View
from roofscope.app.presentation.roofline.ranges import Range

_LETTERS = 0.94  # of the window's: figures stand close


def view_of(view_box: Any) -> View:
    """The visible ranges of pyqtgraph's view box, and its pixels."""
    (x_low, x_high), (y_low, y_high) = view_box.viewRange()
    box = Box(0.0, 0.0, view_box.width(), view_box.height())
    return View(Range(x_low, x_high), Range(y_low, y_high), box)


def plot_font(font: QFont) -> QFont:
    """A plot's, where the window has this one."""
    made = QFont(font)
    if (size := font.pointSizeF()) > 0:
        made.setPointSizeF(size * _LETTERS)
    return made
