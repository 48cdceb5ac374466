"""A debug run: its stages as they end, the mistakes by name with their cures, and the map of the error."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.debugging.map_text import cell_text
from roofscope.app.presentation.debugging.words import MARKS, MEANINGS, output_text, summary_text
from roofscope.app.presentation.formatting import time_text
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.panes.error_map import ErrorMapView
from roofscope.app.window.panes.finding_card import FindingCard
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import (
    action_button,
    as_pane,
    choice_box,
    label,
    placeholder,
    tip_text,
)
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.debugging import Compared, DebugReport, DebugStage, Said, StageName

_EMPTY = (
    "Select a point, or a version in the library, and press Debug: it is run once, each access to memory is "
    "checked, and what is wrong is named with its line."
)
_SELECTED = (
    "{title}: press Debug, and it is run once, each access to memory is checked, and what is wrong is named "
    "with its line."
)
_LEGEND = "Grey: right. Red: wrong, the deeper the farther. Muted: never written. Yellow: not a number."


class DebugPane(QWidget):
    opened = Signal(object)  # Finding
    stop_asked = Signal()

    def __init__(self, debug: QAction, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        as_pane(self)
        self.report: DebugReport | None = None
        self._line = ElidedLabel("limit")
        self.stop_button = QPushButton("Stop")
        self.stop_button.setAccessibleName("Stop the debug run")
        self.stop_button.setToolTip("End the stage under way; what was found so far stays")
        self.stop_button.clicked.connect(self.stop_asked)
        self.stages = _stage_list()
        self._findings = QScrollArea()
        self._findings.setWidgetResizable(True)
        self._findings.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._findings.setAccessibleName("Mistakes that were found")
        self.outputs = choice_box("Output whose map is shown", "Output whose map is shown")
        self.outputs.currentIndexChanged.connect(self._show_output)
        self._said = label("", wraps=True)
        self.map = ErrorMapView(theme)
        self.map.cell_changed.connect(self._tell_cell)
        self._cell = label("", "muted", wraps=True)
        self._cell.setAccessibleName("Cell under the pointer")
        self._map_side = self._right()
        self._stack = QStackedWidget()
        self._empty = placeholder(_EMPTY)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._split())
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self._line, 1)
        bar.addWidget(self.stop_button)
        bar.addWidget(action_button(debug))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.setSpacing(6)
        layout.addLayout(bar)
        layout.addWidget(self._stack, 1)
        self.set_running(False)

    def set_theme(self, theme: Theme) -> None:
        self.map.set_theme(theme)

    def tell_subject(self, title: str | None) -> None:
        """What Debug would run, where nothing was run yet; None where nothing is selected."""
        self._empty.setText(_SELECTED.format(title=one_line(title)) if title else _EMPTY)

    @property
    def summary(self) -> str:
        return self._line.whole_text

    @property
    def cards(self) -> list[FindingCard]:
        return self._findings.findChildren(FindingCard)

    @property
    def cell_words(self) -> str:
        return self._cell.text()

    def begin(self, title: str, workload: str) -> None:
        """Of another run: what is shown of the one before goes."""
        self.report = None
        self.stages.clear()
        self._show_findings("Mistakes are named here when a stage has found them.", ())
        self._fill_outputs(())
        self._line.set_text(one_line(f"Debugging {title} at {workload}"))
        self._stack.setCurrentIndex(1)
        self.set_running(True)

    def set_running(self, is_running: bool) -> None:
        self.stop_button.setVisible(is_running)

    def hear(self, said: Said) -> None:
        """A stage begins or ends."""
        if said.begun:
            self._row(said.begun, "...", "")
        if said.stage:
            self._row_of(said.stage)

    def show_report(self, report: DebugReport) -> None:
        self.report = report
        self._line.set_text(one_line(summary_text(report)))
        self.stages.clear()
        for stage in report.stages:
            self._row_of(stage)
        self._show_findings("No usual mistake was found.", [FindingCard(one) for one in report.findings])
        self._fill_outputs(report.outputs)

    def _row_of(self, stage: DebugStage) -> None:
        took = f" ({time_text(stage.seconds)})" if stage.seconds else ""
        self._row(stage.name, MARKS[stage.end], f"{one_line(stage.text)}{took}")

    def _row(self, name: StageName, mark: str, text: str) -> None:
        found = self.stages.findItems(str(name), Qt.MatchFlag.MatchExactly, 0)
        item = found[0] if found else QTreeWidgetItem(self.stages)
        for column, words in enumerate((str(name), mark, text)):
            item.setText(column, words)
            tip = MEANINGS[name] if column == 0 else text
            item.setData(column, Qt.ItemDataRole.ToolTipRole, tip_text(tip))

    def _show_findings(self, otherwise: str, cards: tuple[FindingCard, ...] | list[FindingCard]) -> None:
        content = QWidget()
        as_pane(content)
        column = QVBoxLayout(content)
        column.setContentsMargins(2, 2, 8, 8)
        column.setSpacing(8)
        for card in cards:
            card.opened.connect(self.opened)
            column.addWidget(card)
        if not cards:
            column.addWidget(label(otherwise, "muted", wraps=True))
        column.addStretch(1)
        self._findings.setWidget(content)

    def _fill_outputs(self, outputs: tuple[Compared, ...]) -> None:
        self.outputs.blockSignals(True)
        self.outputs.clear()
        for output in outputs:
            self.outputs.addItem(one_line(f"{output.output}, {output.stage}"))
        self.outputs.blockSignals(False)
        self.outputs.setVisible(len(outputs) > 1)
        wrong = [at for at, output in enumerate(outputs) if not output.is_right]
        self.outputs.setCurrentIndex(wrong[0] if wrong else 0)
        self._show_output()

    @property
    def _output(self) -> Compared | None:
        index = self.outputs.currentIndex()
        outputs = self.report.outputs if self.report else ()
        return outputs[index] if 0 <= index < len(outputs) else None

    def _show_output(self, *_: object) -> None:
        output = self._output
        self._map_side.setVisible(output is not None)
        self._said.setText(output_text(output) if output else "")
        self.map.show_output(output)
        self.map.setVisible(output is not None and output.map is not None)
        self._tell_cell(self.map.cell)

    def _tell_cell(self, cell: int) -> None:
        output = self._output
        self._cell.setText(one_line(cell_text(output, cell)) if output else "")

    def _right(self) -> QWidget:
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(8, 0, 0, 6)
        column.setSpacing(4)
        column.addWidget(self.outputs)
        column.addWidget(self._said)
        self.map.setToolTip(tip_text(_LEGEND))
        column.addWidget(self.map, 1)
        column.addWidget(self._cell)
        column.addStretch(0)
        return right

    def _split(self) -> QWidget:
        halves = QSplitter(Qt.Orientation.Horizontal)
        halves.setChildrenCollapsible(False)
        for part in (self._findings, self.stages, self._map_side):
            halves.addWidget(part)
        halves.setSizes([500, 380, 340])
        return halves


def _stage_list() -> QTreeWidget:
    made = QTreeWidget()
    made.setAccessibleName("Stages of the debug run")
    made.setHeaderLabels(["Stage", "Result", "What happened"])
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    header = made.header()
    header.setStretchLastSection(True)
    for column in (0, 1):
        header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
    return made
