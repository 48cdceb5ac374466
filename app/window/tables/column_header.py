"""What a table's header says of its columns, and on which side their cells stand."""

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import Qt

from roofscope.app.window.widgets.labels import tip_text


class Titled(Protocol):
    @property
    def title(self) -> str: ...
    @property
    def tip(self) -> str: ...
    @property
    def is_number(self) -> bool: ...


def header_data(columns: Sequence[Titled], section: int, orientation: Qt.Orientation, role: int) -> object:
    """As a model's ``headerData``."""
    if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(columns):
        return None
    column = columns[section]
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return column.title
        case Qt.ItemDataRole.ToolTipRole:
            return tip_text(column.tip)
        case Qt.ItemDataRole.TextAlignmentRole:
            return alignment(column)
        case _:
            return None


def alignment(column: Titled) -> Qt.AlignmentFlag:
    """Figures stand at the right, below each other."""
    side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
