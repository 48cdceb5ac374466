"""View > Project onto: the session's points bound by another GPU's data sheet."""

from PySide6.QtCore import QModelIndex, Qt, QTimer
from PySide6.QtGui import QFocusEvent, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.projection import project
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.projection_table import ProjectionTable
from roofscope.app.window.widgets.labels import choice_box, label
from roofscope.app.window.widgets.plain_table import make_plain
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.products import PRODUCTS

_SIZE = (1160, 560)
_NAME_COLUMNS = 3


class ProjectionDialog(QDialog):
    """Stays beside the window and follows its session: a click on a row selects its point there."""

    def __init__(self, model: SessionModel, selection: Selection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Project onto another GPU")
        self.setAccessibleName("Project onto another GPU")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(*_SIZE)
        self._model = model
        self._selection = selection
        self.choice = choice_box("GPU", "The GPU whose data sheet bounds the points")
        self.choice.addItems([product.label for product in PRODUCTS])
        _let_type(self.choice)
        self._sentence = label("", "muted", wraps=True)
        self.table = ProjectionTable(self)
        self.view = QTableView()
        self.view.setAccessibleName("Bounds on the other GPU")
        self.view.setModel(self.table)
        make_plain(self.view)
        self.view.setSortingEnabled(True)
        header = self.view.horizontalHeader()
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)  # in the order of the session until then
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        self.view.clicked.connect(self._select)
        self.view.activated.connect(self._select)
        self._lay_out()
        self.choice.setCurrentIndex(self.choice.findText(_first_choice(model.session)))
        self.choice.currentIndexChanged.connect(self._show)
        model.replaced.connect(self._session_replaced)
        self._show()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(label("Onto"))
        top.addWidget(self.choice)
        top.addStretch(1)
        close = QPushButton("Close")
        close.setAccessibleName("Close")
        close.setAutoDefault(False)  # Enter settles what was typed, and keeps the bounds in sight
        close.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        layout.addLayout(top)
        layout.addWidget(self._sentence)
        layout.addWidget(self.view, 1)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.view.resizeColumnsToContents()  # not before: only now the style says how wide a text is

    def _session_replaced(self) -> None:
        """The same question of other points: the session may have been on its way when it was asked."""
        self._show()
        self.view.resizeColumnsToContents()

    def _show(self) -> None:
        found = project(self._model.session, PRODUCTS[self.choice.currentIndex()])
        empty = "" if found.points else " This session holds no measured point."
        self._sentence.setText(f"{found.sentence}{empty}")
        self.table.show(found)
        header = self.view.horizontalHeader()
        if header.sortIndicatorSection() >= 0:
            self.table.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())

    def _select(self, index: QModelIndex) -> None:
        self._selection.select(self.table.point_number(index.row()))


class _Name(QLineEdit):
    """Chosen whole when it gets the keyboard or a click: what is typed takes its place."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        QTimer.singleShot(0, self, self.selectAll)


def _let_type(choice: QComboBox) -> None:
    """A name or a part of it; a space would open the list, and what follows be searched for by itself."""
    choice.setEditable(True)
    choice.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
    line = _Name()
    choice.setLineEdit(line)

    def settle() -> None:
        """The first name with it; what is in none leaves the last choice."""
        ways = (Qt.MatchFlag.MatchFixedString, Qt.MatchFlag.MatchContains)
        found = (choice.findText(line.text(), way) for way in ways if line.text())
        choice.setCurrentIndex(next((at for at in found if at >= 0), choice.currentIndex()))
        line.setText(choice.itemText(choice.currentIndex()))

    line.editingFinished.connect(settle)


def _first_choice(session: Session) -> str:
    """Another GPU than the session's own."""
    name = session.device.name if session.device else ""
    return next(product.label for product in reversed(PRODUCTS) if product.driver_name != name)
