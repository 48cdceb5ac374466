"""Shows a sheet of code: line numbers, words in colours, grounds behind lines; reads and copies, never edits.

Only the lines in view get their colours, when they come into view: ten thousand at once take half a second.
"""

from PySide6.QtCore import QEvent, QMimeData, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontDatabase,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QToolTip, QWidget

from roofscope.app.presentation.source.highlight import Word, code_colours
from roofscope.app.presentation.source.sheet import OWN_GROUNDS, Ground, Sheet, SheetLine
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.labels import tip_text

_PAD = 8  # pixels round the numbers
_LONGEST = 5_000  # characters of a line that get colours
_NOTHING = Sheet((SheetLine(""),))


class CodeView(QPlainTextEdit):
    search_asked = Signal()

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sheet = _NOTHING
        self._theme = theme
        self._painted: set[int] = set()  # numbers of the blocks that have their colours
        self._gutter = _Gutter(self)
        self.setReadOnly(True)
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet("CodeView { border: none; border-radius: 0; padding: 0; }")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.updateRequest.connect(self._follow)
        self.set_theme(theme)

    @property
    def sheet(self) -> Sheet:
        return self._sheet

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        colours = code_colours(theme)
        self._words = {word: _format(colours.words[word]) for word in Word}
        self._marks = {
            Ground.REMOVED: _ground(colours.removed_mark),
            Ground.ADDED: _ground(colours.added_mark),
        }
        self._grounds = {
            Ground.REMOVED: QColor(colours.removed),
            Ground.ADDED: QColor(colours.added),
            Ground.FAILING: QColor(colours.failing),
            Ground.POINTED_AT: QColor(colours.added),
            Ground.HEADING: QColor(theme.window),
            Ground.MISSING: QColor(theme.window),
        }
        self._heading = QTextCharFormat()
        self._heading.setFontWeight(600)
        self._painted.clear()
        self.viewport().update()
        self._gutter.update()

    def show_sheet(self, sheet: Sheet | None) -> None:
        """Show another text, from its beginning."""
        self._sheet = sheet or _NOTHING
        self._painted.clear()
        self.setPlainText(self._sheet.text)
        largest = max((line.number or 0 for line in self._sheet.lines), default=0)
        self._gutter.fit(largest)
        self.setViewportMargins(self._gutter.width(), 0, 0, 0)
        self._place_gutter()

    def go_to(self, index: int) -> None:
        """Bring a line of the sheet into the upper third of the view."""
        block = self.document().findBlockByNumber(index)
        self.setTextCursor(QTextCursor(block))
        above = max(1, self.viewport().height() // max(1, self.fontMetrics().lineSpacing()) // 3)
        self.verticalScrollBar().setValue(max(0, index - above))

    def line_at(self, block: QTextBlock) -> SheetLine:
        number = block.blockNumber()
        return self._sheet.lines[number] if number < len(self._sheet.lines) else SheetLine("")

    def visible_blocks(self) -> list[tuple[QTextBlock, int, int]]:
        """Those in view, each with its top and height in the viewport."""
        found: list[tuple[QTextBlock, int, int]] = []
        block, offset = self.firstVisibleBlock(), self.contentOffset()
        while block.isValid():
            place = self.blockBoundingGeometry(block).translated(offset)
            if place.top() > self.viewport().height():
                break
            found.append((block, round(place.top()), round(place.bottom()) - round(place.top())))
            block = block.next()
        return found

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is selected, without lines that are no part of the text."""
        cursor = self.textCursor()
        first = self.document().findBlock(cursor.selectionStart()).blockNumber()
        lines = cursor.selectedText().split("\u2029")
        data = QMimeData()
        data.setText(
            "\n".join(
                text
                for at, text in enumerate(lines, first)
                if self._sheet.lines[at].ground not in OWN_GROUNDS
            )
        )
        return data

    def event(self, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and event.matches(QKeySequence.StandardKey.Find)
        ):
            event.accept()  # else the window's own search would answer
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Find):
            self.search_asked.emit()
            return
        super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            tip = self.line_at(self.cursorForPosition(event.pos()).block()).tip
            QToolTip.showText(event.globalPos(), tip_text(tip), self)
            return True
        return super().viewportEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        width = self.viewport().width()
        for block, top, height in self.visible_blocks():
            self._colour(block)
            ground = self._grounds.get(self.line_at(block).ground)
            if ground:
                painter.fillRect(0, top, width, height, ground)
        painter.end()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_gutter()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_gutter"):
            self._gutter.fit(max((line.number or 0 for line in self._sheet.lines), default=0))
            self.setViewportMargins(self._gutter.width(), 0, 0, 0)

    def _place_gutter(self) -> None:
        inner = self.contentsRect()
        self._gutter.setGeometry(QRect(inner.left(), inner.top(), self._gutter.width(), inner.height()))

    def _follow(self, _area: QRect, _scrolled: int) -> None:
        self._gutter.update()

    def _colour(self, block: QTextBlock) -> None:
        number = block.blockNumber()
        if number in self._painted:
            return
        self._painted.add(number)
        line = self.line_at(block)
        ranges = [
            _range(start, count, self._words[word]) for start, count, word in line.words if start < _LONGEST
        ]
        if mark := self._marks.get(line.ground):
            ranges += [_range(first, last - first, mark) for first, last in line.marks]
        if line.ground is Ground.HEADING:
            ranges.append(_range(0, len(line.text), self._heading))
        block.layout().setFormats(ranges)

    def paint_numbers(self, painter: QPainter, width: int) -> None:
        """Into the gutter."""
        painter.setFont(self.font())
        for block, top, height in self.visible_blocks():
            line = self.line_at(block)
            if ground := self._grounds.get(line.ground):
                painter.fillRect(0, top, width, height, ground)
            if line.number is None:
                continue
            is_failing = line.ground is Ground.FAILING
            painter.setPen(QColor(self._theme.bad if is_failing else self._theme.text_muted))
            place = QRect(0, top, width - _PAD, height)
            painter.drawText(place, Qt.AlignmentFlag.AlignRight, str(line.number))


class _Gutter(QWidget):
    """The numbers left of the lines."""

    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self._view = view
        self._width = 0

    def fit(self, largest: int) -> None:
        digits = len(str(largest)) if largest else 0
        self._width = self._view.fontMetrics().horizontalAdvance("0" * digits) + 2 * _PAD if digits else _PAD
        self.resize(self._width, self.height())

    def sizeHint(self) -> QSize:
        return QSize(self._width, 0)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._view.paint_numbers(painter, self.width())


def _format(colour: str) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(QColor(colour))
    return made


def _ground(colour: str) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setBackground(QColor(colour))
    return made


def _range(start: int, count: int, style: QTextCharFormat) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length, made.format = start, count, style
    return made
