"""How cells of the results are painted: marks, bars, badges, and the line above a workload's rows."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QIcon, QPainter, QPalette, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from roofscope.app.presentation.flag_text import Badge, badge, flags_beside
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import PointRow
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.workload_line import WorkloadLine
from roofscope.app.window.panes.column_widths import FLAGS, MARK_COLUMN, NAME_COLUMNS
from roofscope.app.window.tables.grouped_table import LineRole
from roofscope.app.window.tables.point_table import PointRole
from roofscope.app.window.widgets.icons import icon, mark_size, provider_icon
from roofscope.profiling.planning.spec import Provider

_TITLES = [column.title for column in COLUMNS]
_STATE_COLUMNS = {_TITLES.index(title) for title in ("Time", "Status")}
_OF_ROOF, _TRACE = _TITLES.index("Of roof"), _TITLES.index("Trace")
_BAR = 3  # pixels high, below the figure, which keeps its contrast
_PADDING = 8
_GAP = 5  # between badges
BADGE_PADDING = 6
_SELECTED = QStyle.StateFlag.State_Selected

Index = QModelIndex | QPersistentModelIndex


class ResultsDelegate(QStyledItemDelegate):
    """Rows without a time are muted, failures red."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._trace_icon = icon("activity", theme, theme.accent)

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        column = index.column()
        if column in NAME_COLUMNS:  # names differ at either end
            option.textElideMode = Qt.TextElideMode.ElideMiddle  # type: ignore[attr-defined]
        if column == MARK_COLUMN:
            self._mark(option, provider_icon(Provider(index.data(PointRole.PROVIDER)), self._theme))
        if column in (FLAGS, _TRACE):
            option.text = ""  # type: ignore[attr-defined]
        if not index.data(PointRole.HAS_TIME):
            is_bad = index.data(PointRole.HAS_FAILED) and column in _STATE_COLUMNS
            colour = QColor(self._theme.bad if is_bad else self._theme.text_muted)
            option.palette.setColor(QPalette.ColorRole.Text, colour)  # type: ignore[attr-defined]
            option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)  # type: ignore[attr-defined]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        line = index.data(LineRole.LINE)
        painter.save()
        painter.setClipRect(option.rect)  # type: ignore[attr-defined]
        if isinstance(line, WorkloadLine):
            self._paint_line(painter, option, line, is_open=bool(index.data(LineRole.IS_OPEN)))
        else:
            super().paint(painter, option, index)
            row = index.data(PointRole.ROW) if index.column() in (_OF_ROOF, FLAGS, _TRACE) else None
            if isinstance(row, PointRow):
                self._paint_extra(painter, option, index.column(), row)
        painter.restore()

    def _paint_extra(
        self, painter: QPainter, option: QStyleOptionViewItem, column: int, row: PointRow
    ) -> None:
        rect: QRect = option.rect  # type: ignore[attr-defined]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if column == _OF_ROOF and row.verdict.fraction_of_roof is not None:
            self._paint_bar(painter, rect, row.verdict.fraction_of_roof, is_above=row.verdict.is_above)
        elif column == FLAGS:
            self._paint_badges(painter, option, [badge(flag) for flag in flags_beside(row.verdict)])
        elif column == _TRACE and row.has_trace:
            side = mark_size(option)
            corner = QRect(rect.left() + _PADDING, rect.center().y() - side // 2 + 1, side, side)
            self._trace_icon.paint(painter, corner)

    def _paint_bar(self, painter: QPainter, rect: QRect, share: float, *, is_above: bool) -> None:
        left, whole = rect.left() + _PADDING, max(0, rect.width() - 2 * _PADDING)
        bar = QRectF(left, rect.bottom() - _BAR, whole, _BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.hover))
        painter.drawRoundedRect(bar, _BAR / 2, _BAR / 2)
        bar.setWidth(max(_BAR, whole * min(max(share, 0.0), 1.0)))
        painter.setBrush(QColor(self._theme.warning if is_above else self._theme.accent))
        painter.drawRoundedRect(bar, _BAR / 2, _BAR / 2)

    def _paint_badges(self, painter: QPainter, option: QStyleOptionViewItem, badges: list[Badge]) -> None:
        rect: QRect = option.rect  # type: ignore[attr-defined]
        metrics: QFontMetrics = option.fontMetrics  # type: ignore[attr-defined]
        left, height = rect.left() + _PADDING, metrics.height() + 2
        for each in badges:
            width = metrics.horizontalAdvance(each.text) + 2 * BADGE_PADDING
            box = QRectF(left + 0.5, rect.center().y() - height / 2 + 1, width - 1, height - 1)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QColor(self._theme.warning if each.is_warning else self._theme.border))
            painter.drawRoundedRect(box, height / 2, height / 2)
            painter.setPen(QColor(self._theme.warning if each.is_warning else self._theme.text_muted))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, each.text)
            left += width + _GAP

    def _paint_line(
        self, painter: QPainter, option: QStyleOptionViewItem, line: WorkloadLine, *, is_open: bool
    ) -> None:
        """Each cell paints its part of the whole line, which does not scroll sideways."""
        rect: QRect = option.rect  # type: ignore[attr-defined]
        theme, font = self._theme, QFont(option.font)  # type: ignore[attr-defined]
        is_selected = bool(option.state & _SELECTED)  # type: ignore[attr-defined]
        painter.fillRect(rect, QColor(theme.selected_row if is_selected else theme.window))
        metrics: QFontMetrics = option.fontMetrics  # type: ignore[attr-defined]
        self._paint_arrow(painter, QPointF(4 + metrics.height() / 2, rect.center().y() + 0.5), is_open)
        font.setBold(True)
        left, middle = metrics.height() + 8, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        for text, colour in (
            (line.name, theme.text),
            (line.sizes, theme.text),
            (line.summary, theme.text_muted),
        ):
            painter.setFont(font)
            painter.setPen(QColor(colour))
            painter.drawText(QRect(left, rect.top(), 1 << 14, rect.height()), middle, text)
            left += painter.fontMetrics().horizontalAdvance(text) + metrics.height()
            font.setBold(False)

    def _paint_arrow(self, painter: QPainter, centre: QPointF, is_open: bool) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.text_muted))
        corners = ((-4, -2), (4, -2), (0, 3)) if is_open else ((-2, -4), (3, 0), (-2, 4))
        painter.drawPolygon(QPolygonF([centre + QPointF(*corner) for corner in corners]))

    def _mark(self, option: QStyleOptionViewItem, mark: QIcon) -> None:
        option.icon = mark  # type: ignore[attr-defined]
        option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration  # type: ignore[attr-defined]
        side = mark_size(option)
        option.decorationSize = QSize(side, side)  # type: ignore[attr-defined]
