"""Details of the selected point: why it is where it is in four sentences, then the facts, folded."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QFont
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.compare.marks_text import mark_block
from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.fact import Section
from roofscope.app.presentation.point_row import PointRow
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.why import why_of_one
from roofscope.app.window.panes.call_histogram import CallHistogram
from roofscope.app.window.panes.fold import Fold
from roofscope.app.window.panes.gauge_bars import NAME_WIDTH, GaugeBars
from roofscope.app.window.panes.sample_strip import SampleStrip
from roofscope.app.window.panes.why_block import WhyBlock
from roofscope.app.window.recorded import RecordedSessions
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.point_table import PointTable
from roofscope.app.window.widgets.flow_layout import FlowLayout
from roofscope.app.window.widgets.keyboard import has_keyboard
from roofscope.app.window.widgets.labels import (
    action_button,
    as_pane,
    breakable,
    label,
    placeholder,
    set_state,
    tip_text,
)
from roofscope.app.window.widgets.log_view import LogView
from roofscope.profiling.results.outcome import Examined, Failed

LEAST_WIDTH = 272  # pixels: the gauges, with a scroll bar
_LEAST_LETTERS = 29  # below the histogram
_MOST_NEEDED = 460  # pixels; a word without end takes no more from the chart


class DetailPane(QWidget):
    folds_changed = Signal(object)  # tuple[str, ...]: titles of the groups that are open

    def __init__(
        self,
        model: SessionModel,
        table: PointTable,
        selection: Selection,
        actions: tuple[QAction, ...],
        theme: Theme,
        recorded: RecordedSessions | None = None,
        parent: QWidget | None = None,
        *,
        of_sections: Mapping[str, QAction] | None = None,
    ) -> None:
        """What a point is about.

        ``recorded``: times of other machines, beside points that have none. ``of_sections``: by the title of
        a group of facts, what leads to more of it.
        """
        super().__init__(parent)
        as_pane(self)
        self._recorded = recorded
        if recorded:
            recorded.arrived.connect(self._refresh)
        self._model = model
        self._table = table
        self._selection = selection
        self._of_sections = of_sections or {}
        self._title = label("", "title", wraps=True)
        self._subtitle = label("", "muted", wraps=True)
        self._mark = label("", "quote", wraps=True)
        self._mark.setObjectName("mark")
        self._mark.setAccessibleName("Pin, tags and note")
        self.why = WhyBlock()
        self._open = ("Time",)
        self._strip = SampleStrip(theme)
        self._calls = CallHistogram(theme)
        self._facts = QWidget()
        self._facts_layout = QVBoxLayout(self._facts)
        self._facts_layout.setContentsMargins(0, 0, 0, 0)
        self._log = LogView()
        self._shown: int | None = None
        self._empty = placeholder(
            "Select a point in the chart or a row in the results to see what limits it."
        )
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._content_widget = self._content(actions)
        self._scroll.setWidget(self._content_widget)
        self._scroll.setAccessibleName("Details of the selected point")
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._scroll)
        selection.changed.connect(self._refresh)
        table.rows_changed.connect(self._rows_changed)
        model.counters_changed.connect(self._refresh)
        self._refresh()

    def set_theme(self, theme: Theme) -> None:
        self._strip.set_theme(theme)
        self._calls.set_theme(theme)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._suit_width()

    def _suit_width(self) -> None:
        """What is wider is cut off: nothing scrolls sideways."""
        bar = self._scroll.verticalScrollBar().sizeHint().width()
        texts = _LEAST_LETTERS * self.fontMetrics().averageCharWidth()
        needed = max(texts, self._content_widget.minimumSizeHint().width()) + bar
        self.setMinimumWidth(max(LEAST_WIDTH, min(needed, _MOST_NEEDED)))

    def title_font(self) -> QFont:
        """How the title looks, style sheet and all."""
        self._title.ensurePolished()
        return self._title.font()

    def set_open(self, titles: tuple[str, ...]) -> None:
        """Which groups of facts are open from the next point on."""
        self._open = titles
        self._refresh()

    def _content(self, actions: tuple[QAction, ...]) -> QWidget:
        buttons = FlowLayout()
        self._buttons = [action_button(action) for action in actions]
        for button in self._buttons:
            buttons.addWidget(button)
        content = QWidget()
        as_pane(content)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(self._title)
        layout.addWidget(self._subtitle)
        layout.addWidget(self._mark)
        layout.addWidget(self.why)
        layout.addLayout(buttons)
        layout.addWidget(self._strip)
        layout.addWidget(self._calls)
        layout.addWidget(self._log)
        layout.addWidget(self._facts)
        layout.addStretch(1)
        return content

    def _refresh(self) -> None:
        number = self._selection.number
        row = self._table.row_for(number) if number is not None else None
        if row is None:
            self._shown = None
            if has_keyboard(self):
                self.setFocus()  # else Qt gives it to the library
            self._stack.setCurrentWidget(self._empty)
            return
        self._stack.setCurrentWidget(self._scroll)
        holder = self.window().focusWidget()
        made_anew = holder.accessibleName() if holder and self._facts.isAncestorOf(holder) else ""
        self._show(row)
        if made_anew:
            self._scroll.setFocus()
            QTimer.singleShot(0, self, partial(self._give_keys_to, made_anew))  # when it can be seen
        if number != self._shown:  # another point begins with what limits it; the same one stays where it is
            self._scroll.verticalScrollBar().setValue(0)
        self._shown = number

    def _give_keys_to(self, name: str) -> None:
        """To what has this name among the facts, unless the user has gone elsewhere."""
        inside = self._facts.findChildren(QWidget)
        same = (one for one in inside if one.isVisible() and one.accessibleName() == name)
        if self.window().focusWidget() is self._scroll and (found := next(same, None)):
            found.setFocus()

    def _rows_changed(self, numbers: frozenset[int] | None) -> None:
        if numbers is None or self._selection.number in numbers:
            self._refresh()

    def _show(self, row: PointRow) -> None:
        point = row.point
        self._title.setText(point.implementation.title)
        workload = point.job.workload
        self._subtitle.setText(f"{workload.dtype.label}, {workload.size_label}, {point.job.regime}")
        said = mark_block(self._model.session, point)
        self._mark.setVisible(bool(said))
        self._mark.setText(said)
        why = why_of_one(point, self._model.session)
        self.why.show_why(why)
        set_state(self.why, "bad" if isinstance(point.outcome, Failed) else "")
        measured = point.measured
        self._strip.show_time(measured.time if measured else None, point.implementation.provider)
        self._calls.show_calls(measured, point.implementation.provider)
        self._log.show_log(point.outcome.log if isinstance(point.outcome, Failed) else "")
        _clear(self._facts_layout)
        if why and why.others:
            self._add_fold("What else to try", partial(_add_sentences, why.others))
        others = self._recorded.sessions() if self._recorded and isinstance(point.outcome, Examined) else ()
        for section in sections(row, self._model.session, others):
            more = self._of_sections.get(section.title)
            self._add_fold(section.title, partial(_add_section, section, more))
        self._order_tabs()
        self._suit_width()

    def _add_fold(self, title: str, build: Callable[[QVBoxLayout], None]) -> None:
        fold = Fold(title, build, is_open=title in self._open)
        fold.toggled.connect(self._fold_toggled)
        self._facts_layout.addWidget(fold)

    def _order_tabs(self) -> None:
        """From top to bottom: Qt puts what is made last behind all panes."""
        below = (self._facts_layout.itemAt(place) for place in range(self._facts_layout.count()))
        folds = [fold for item in below if item and (fold := item.widget())]
        inside = [each for part in (self._log, *folds) for each in part.findChildren(QWidget)]
        order = [each for each in inside if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
        for first, second in pairwise((*self._buttons, *order)):
            QWidget.setTabOrder(first, second)

    def _fold_toggled(self, title: str, is_open: bool) -> None:
        others = tuple(other for other in self._open if other != title)
        self._open = (*others, title) if is_open else others
        self._order_tabs()
        if is_open and isinstance(fold := self.sender(), Fold):
            QTimer.singleShot(0, fold, partial(self._bring_into_view, fold))
        self.folds_changed.emit(self._open)

    def _bring_into_view(self, fold: Fold) -> None:
        """What was opened at the lower edge would else be out of sight."""
        QApplication.sendPostedEvents(self._content_widget, QEvent.Type.LayoutRequest)
        top = fold.mapTo(self._content_widget, QPoint()).y()
        height = min(fold.sizeHint().height(), self._scroll.viewport().height())
        self._scroll.ensureVisible(0, top + height, 0, 0)
        self._scroll.ensureVisible(0, top, 0, 0)


def _add_sentences(sentences: tuple[str, ...], layout: QVBoxLayout) -> None:
    for sentence in sentences:
        layout.addWidget(label(sentence, wraps=True))


def _add_section(section: Section, more: QAction | None, layout: QVBoxLayout) -> None:
    if section.gauges:
        layout.addWidget(GaugeBars(section.gauges))
    layout.addLayout(_grid(section))
    if more:
        buttons = FlowLayout()
        buttons.addWidget(action_button(more))
        layout.addLayout(buttons)


def _grid(section: Section) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(3)
    grid.setColumnStretch(1, 1)
    for row, fact in enumerate(section.facts):
        name, value = label(fact.name, "muted"), label(breakable(fact.value), wraps=True)
        name.setMinimumWidth(NAME_WIDTH)
        name.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        for widget in (name, value):
            widget.setToolTip(tip_text(fact.tip))
        grid.addWidget(name, row, 0)
        grid.addWidget(value, row, 1)
    return grid


def _clear(layout: QVBoxLayout | QGridLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if widget := item.widget():
            widget.hide()
            widget.deleteLater()
        elif isinstance(inner := item.layout(), QGridLayout):
            _clear(inner)
