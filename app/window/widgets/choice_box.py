"""A box to choose from whose text ends in an ellipsis where it has no room; Qt cuts it within a letter."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter

_MARGINS = 4  # pixels that Qt leaves beside the text of a field
_PART = 1  # of a pixel: a text's width is a whole number, and what it is elided by is not


class ChoiceBox(QComboBox):
    def sizeHint(self) -> QSize:
        """With room for the longest entry: Qt forgets what the style sheet puts beside it."""
        hint = super().sizeHint()
        if self.sizeAdjustPolicy() is not QComboBox.SizeAdjustPolicy.AdjustToContents:
            return hint
        texts = (self.itemText(at) for at in range(self.count()))
        longest = max(map(self.fontMetrics().horizontalAdvance, texts), default=0)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        lacking = longest + _PART + _MARGINS - self._field(option, QRect(QPoint(), hint)).width()
        return hint + QSize(max(lacking, 0), 0)

    @property
    def shown_text(self) -> str:
        """What there is room for."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self._field(option, self.rect()).width() - _MARGINS
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.shown_text  # pyright: ignore[reportAttributeAccessIssue]
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def _field(self, option: QStyleOptionComboBox, inside: QRect) -> QRect:
        option.rect = inside  # pyright: ignore[reportAttributeAccessIssue]
        field = QStyle.SubControl.SC_ComboBoxEditField
        return self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self)
