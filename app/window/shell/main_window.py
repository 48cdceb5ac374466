"""The main window: places the panes, remembers where they are, takes dropped files."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QByteArray, QEvent, Qt, Signal
from PySide6.QtGui import QActionGroup, QCloseEvent, QDragEnterEvent, QDropEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QToolBar, QVBoxLayout, QWidget

from roofscope.app.presentation.tokens import Scheme, Theme
from roofscope.app.window.chart.roofline_chart import RooflineChart
from roofscope.app.window.commands import COMMANDS, Actions, CommandId, Menu
from roofscope.app.window.panes.cards import CardColumn
from roofscope.app.window.panes.compile_lab import CompileLabPane
from roofscope.app.window.panes.detail import LEAST_WIDTH, DetailPane
from roofscope.app.window.panes.device_strip import DeviceStrip
from roofscope.app.window.panes.library import LibraryPane
from roofscope.app.window.panes.plan_bar import PlanBar
from roofscope.app.window.panes.results import ResultsPane
from roofscope.app.window.panes.trace import TracePane
from roofscope.app.window.style_sheet import window_style
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import application_icon, icon
from roofscope.app.window.widgets.labels import as_pane, tip_text
from roofscope.profiling.plain_text import one_line

SCHEME_COMMANDS = {
    CommandId.THEME_SYSTEM: Scheme.SYSTEM,
    CommandId.THEME_LIGHT: Scheme.LIGHT,
    CommandId.THEME_DARK: Scheme.DARK,
}
_LEFT = Qt.DockWidgetArea.LeftDockWidgetArea
_RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
_BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea


class Panes(Struct, frozen=True):
    """The window's parts, made by the composition root."""

    plan_bar: PlanBar
    cards: CardColumn
    chart: RooflineChart
    library: LibraryPane
    results: ResultsPane
    details: DetailPane
    compile_lab: CompileLabPane
    trace: TracePane
    strip: DeviceStrip


class MainWindow(QMainWindow):
    file_dropped = Signal(object)  # Path
    closing = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle("Roofscope")
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AnimatedDocks)
        self.actions_of = Actions(self)
        self.docks: dict[str, QDockWidget] = {}
        self._said = ElidedLabel("muted")
        self._default_state = QByteArray()
        self._is_arranged = False  # by the user; until then panes are sized with the window
        self.recent_menu = QMenu("Open &recent", self)

    def place(self, panes: Panes) -> None:
        """Put the panes in; called once."""
        bar = QToolBar("Plan")
        bar.setObjectName("plan")
        bar.setMovable(False)
        bar.setFloatable(False)
        bar.toggleViewAction().setVisible(False)
        bar.addWidget(panes.plan_bar)
        bar.setContentsMargins(0, 0, 0, 0)
        if layout := bar.layout():
            layout.setContentsMargins(0, 0, 0, 0)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, bar)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(panes.cards)
        as_pane(panes.chart)
        column.addWidget(panes.chart, 1)
        self.setCentralWidget(centre)
        self._dock("Library", panes.library, _LEFT)
        self._dock("Details", panes.details, _RIGHT)
        self._dock("Results", panes.results, _BOTTOM)
        self._dock("Compile", panes.compile_lab, _BOTTOM)
        self._dock("Trace", panes.trace, _BOTTOM)
        self.setCorner(Qt.Corner.BottomRightCorner, _RIGHT)
        self.setCorner(Qt.Corner.BottomLeftCorner, _BOTTOM)
        self.setTabPosition(_BOTTOM, self.tabPosition(_RIGHT).North)
        for title in ("Results", "Compile", "Trace"):
            self.docks[title].setTitleBarWidget(QWidget())  # its tab says it already
        self.tabifyDockWidget(self.docks["Results"], self.docks["Compile"])
        self.tabifyDockWidget(self.docks["Compile"], self.docks["Trace"])
        self.docks["Results"].raise_()
        self._fill_menus()
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        status.setContentsMargins(8, 0, 0, 0)
        status.addPermanentWidget(self._said, 1)
        status.addPermanentWidget(panes.strip, 2)
        self._default_state = self.saveState()
        for dock in self.docks.values():
            dock.topLevelChanged.connect(self._arranged)
            dock.dockLocationChanged.connect(self._arranged)

    def say(self, text: str) -> None:
        """One line in the status bar."""
        self._said.set_text(text)

    @property
    def said(self) -> str:
        return self._said.whole_text

    def style_with(self, theme: Theme) -> None:
        self.setStyleSheet(window_style(theme))
        for command in COMMANDS:
            if command.icon:
                colour = theme.on_accent if command.id is CommandId.RUN else ""
                self.actions_of[command.id].setIcon(icon(command.icon, theme, colour))

    def show_scheme(self, scheme: Scheme) -> None:
        for command, its_scheme in SCHEME_COMMANDS.items():
            self.actions_of[command].setChecked(its_scheme is scheme)

    def show_recent(self, paths: Sequence[Path]) -> None:
        self.recent_menu.clear()
        for path in paths:
            action = self.recent_menu.addAction(one_line(path.name).replace("&", "&&"))
            action.setToolTip(tip_text(str(path)))
            action.triggered.connect(lambda _checked=False, path=path: self.file_dropped.emit(path))
        self.recent_menu.setEnabled(bool(paths))

    def reset_layout(self) -> None:
        """Every pane back in its first place, at sizes that suit the window, whatever size it gets."""
        self.restoreState(self._default_state)
        for dock in self.docks.values():
            dock.setFloating(False)
            dock.show()
        self._is_arranged = False
        self._fit_docks()
        self.docks["Results"].raise_()

    @property
    def arrangement(self) -> QByteArray:
        """Where the user put the panes; empty if they are as they were."""
        is_whole = all(dock.toggleViewAction().isChecked() for dock in self.docks.values())
        return QByteArray() if is_whole and not self._is_arranged else self.saveState()

    def arrange(self, arrangement: QByteArray) -> None:
        """Put the panes where the user had them."""
        self._is_arranged = not arrangement.isEmpty() and self.restoreState(arrangement)
        if not self._is_arranged:
            self._fit_docks()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
            self._is_arranged |= self.isSeparator(event.position().toPoint())
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.docks and not self._is_arranged:
            self._fit_docks()

    def _arranged(self) -> None:
        self._is_arranged = True

    def _fit_docks(self) -> None:
        width, height = self.width(), self.height()
        sides = [max(216, min(300, width // 6)), max(LEAST_WIDTH, min(460, width * 23 // 100))]
        self.resizeDocks([self.docks["Library"], self.docks["Details"]], sides, Qt.Orientation.Horizontal)
        bottom = max(196, min(420, height // 4 - 4))  # four rows in a small window: the chart gets the most
        self.resizeDocks([self.docks["Results"]], [bottom], Qt.Orientation.Vertical)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if files:
            event.acceptProposedAction()
            self.file_dropped.emit(Path(files[0]))

    def closeEvent(self, event: QCloseEvent) -> None:
        self.hide()  # ending the worker may take a moment: nobody should look at a dead window
        self.closing.emit()
        event.accept()

    def _dock(self, title: str, pane: QWidget, area: Qt.DockWidgetArea) -> None:
        dock = QDockWidget(title)
        dock.setObjectName(title)
        dock.setAccessibleName(title)
        dock.setWidget(pane)
        self.addDockWidget(area, dock)
        self.docks[title] = dock

    def _fill_menus(self) -> None:
        menus = {menu: self.menuBar().addMenu(menu) for menu in Menu}
        schemes = QActionGroup(self)
        for command in COMMANDS:
            action = self.actions_of[command.id]
            if command.starts_group:
                menus[command.menu].addSeparator()
            menus[command.menu].addAction(action)
            if command.is_choice:
                schemes.addAction(action)
            if command.id is CommandId.OPEN:
                menus[command.menu].addMenu(self.recent_menu)
        menus[Menu.VIEW].addSeparator()
        for dock in self.docks.values():
            menus[Menu.VIEW].addAction(dock.toggleViewAction())
