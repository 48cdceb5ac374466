"""The main window: places the panes, remembers where they are, takes dropped files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QByteArray, QChildEvent, QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QActionGroup,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QMouseEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QMainWindow,
    QMenu,
    QTabBar,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.tokens import Scheme, Theme
from roofscope.app.window.chart.roofline_chart import RooflineChart
from roofscope.app.window.commands import COMMANDS, Actions, CommandId, Menu
from roofscope.app.window.panes.cards import CardColumn
from roofscope.app.window.panes.compare import ComparePane
from roofscope.app.window.panes.compile_lab import CompileLabPane
from roofscope.app.window.panes.debug import DebugPane
from roofscope.app.window.panes.detail import DetailPane
from roofscope.app.window.panes.device_strip import DeviceStrip
from roofscope.app.window.panes.lesson import LessonPane
from roofscope.app.window.panes.library import LibraryPane
from roofscope.app.window.panes.log import LogPane
from roofscope.app.window.panes.parameters import ParametersPane
from roofscope.app.window.panes.plan_bar import PlanBar
from roofscope.app.window.panes.results import ResultsPane
from roofscope.app.window.panes.source import SourcePane
from roofscope.app.window.panes.sweep import SweepPane
from roofscope.app.window.panes.trace import TracePane
from roofscope.app.window.panes.tuning import TuningPane
from roofscope.app.window.restyling import Restyling
from roofscope.app.window.shell.details_fold import DetailsFold
from roofscope.app.window.shell.docks import BOTTOM, LEFT, RIGHT, Docks, Layout
from roofscope.app.window.shell.pane_cycle import cycle
from roofscope.app.window.style_sheet import style_sheet
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import application_icon, icon
from roofscope.app.window.widgets.labels import as_pane

SCHEME_COMMANDS = {
    CommandId.THEME_SYSTEM: Scheme.SYSTEM,
    CommandId.THEME_LIGHT: Scheme.LIGHT,
    CommandId.THEME_DARK: Scheme.DARK,
    CommandId.THEME_CONTRAST: Scheme.CONTRAST,
}
LAYOUT_COMMANDS = {
    CommandId.LAYOUT_MEASURE: Layout.MEASURE,
    CommandId.LAYOUT_ANALYSE: Layout.ANALYSE,
    CommandId.LAYOUT_PRESENT: Layout.PRESENT,
}
_USEFUL = QSize(1280, 800)  # a window that shows all panes at their best
_SHARE = 0.8  # of a large screen
_FRAME = 40  # pixels of a title bar


class Panes(Struct, frozen=True):
    """The window's parts, made by the composition root."""

    plan_bar: PlanBar
    cards: CardColumn
    chart: RooflineChart
    library: LibraryPane
    results: ResultsPane
    details: DetailPane
    compile_lab: CompileLabPane
    tuning: TuningPane
    trace: TracePane
    debug: DebugPane
    source: SourcePane
    lesson: LessonPane
    compare: ComparePane
    sweep: SweepPane
    parameters: ParametersPane
    strip: DeviceStrip
    log: LogPane


class MainWindow(QMainWindow):
    file_dropped = Signal(object)  # Path
    file_dropped_to_compare = Signal(object)  # Path, with Ctrl held down
    closing = Signal()
    painted = Signal()  # for the first time
    layout_chosen = Signal(object)  # Layout

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle("Roofscope")
        self.setWindowIcon(application_icon())
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AnimatedDocks)
        self.actions_of = Actions(self)
        self._plan_bar = QToolBar("Plan", self)
        self._edge = QToolBar("Edge", self)
        self._layout = Docks(self, self._edge)
        self._is_painted = False
        self.restyling = Restyling(self)
        self._said = ElidedLabel("muted")
        self.recent_menu = QMenu("Open &recent", self)
        self.example_menu = QMenu("All examp&les", self)

    def place(self, panes: Panes) -> None:
        """Put the panes in; called once."""
        self._add_bar(self._plan_bar, "plan", Qt.ToolBarArea.TopToolBarArea)
        self._plan_bar.addWidget(panes.plan_bar)
        self._add_bar(self._edge, "edge", Qt.ToolBarArea.RightToolBarArea)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(panes.cards)
        as_pane(panes.chart)
        column.addWidget(panes.chart, 1)
        self.setCentralWidget(centre)
        add = self._layout.add
        add("Library", panes.library, LEFT)
        add("Details", panes.details, RIGHT)
        add("Results", panes.results, BOTTOM)
        below = {
            "Sweep": panes.sweep,
            "Parameters": panes.parameters,
            "Source": panes.source,
            "Lesson": panes.lesson,
            "Compare": panes.compare,
            "Compile": panes.compile_lab,
            "Tuning": panes.tuning,
            "Trace": panes.trace,
            "Debug": panes.debug,
            "Log": panes.log,
        }
        for title, pane in below.items():
            add(title, pane, BOTTOM)
        self.setCorner(Qt.Corner.BottomRightCorner, RIGHT)
        self.setCorner(Qt.Corner.BottomLeftCorner, BOTTOM)
        self.setTabPosition(BOTTOM, self.tabPosition(RIGHT).North)
        self._layout.tabify("Results", *below)
        self.docks["Source"].visibilityChanged.connect(panes.source.set_in_view)
        self.docks["Lesson"].visibilityChanged.connect(panes.lesson.set_in_view)
        self._fill_menus()
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        status.setContentsMargins(8, 0, 0, 0)
        status.addPermanentWidget(self._said, 1)
        status.addPermanentWidget(panes.strip, 2)
        self._layout.finish()
        self.show_layout(self._layout.layout)

    def say(self, text: str) -> None:
        """One line in the status bar."""
        self._said.set_text(text)

    @property
    def said(self) -> str:
        return self._said.whole_text

    def style_with(self, theme: Theme, *steps: Callable[[], object]) -> None:
        """Bring every part to this theme; ``steps`` do what a style sheet cannot, each between two frames."""
        self.restyling.begin(
            style_sheet(theme, QApplication.font()), [partial(self._show_icons, theme), *steps]
        )

    def _show_icons(self, theme: Theme) -> None:
        for command in COMMANDS:
            if command.icon:
                colour = theme.on_accent if command.id is CommandId.RUN else ""
                self.actions_of[command.id].setIcon(icon(command.icon, theme, colour))

    def show_scheme(self, scheme: Scheme) -> None:
        for command, its_scheme in SCHEME_COMMANDS.items():
            self.actions_of[command].setChecked(its_scheme is scheme)

    @property
    def layout_shown(self) -> Layout:
        return self._layout.layout

    def show_layout(self, layout: Layout) -> None:
        for command, its_layout in LAYOUT_COMMANDS.items():
            self.actions_of[command].setChecked(its_layout is layout)

    @property
    def docks(self) -> dict[str, QDockWidget]:
        return self._layout.of

    @property
    def details(self) -> DetailsFold:
        assert self._layout.fold is not None  # there is one once the panes are in
        return self._layout.fold

    def reset_layout(self) -> None:
        """Every pane back in its first place, at sizes that suit the window, whatever size it gets."""
        self._show_bars(True)
        self._layout.reset()
        self._layout_shown()

    def choose_layout(self, layout: Layout) -> None:
        """Put the panes as this work needs them."""
        self._layout.choose(layout)
        self._show_bars(layout is not Layout.PRESENT)
        self._layout_shown()

    def focus_pane(self, title: str) -> None:
        """Put the keyboard into this pane."""
        pane = self.docks[title].widget()
        pane.setFocus()  # what is made when it is first seen takes it over from the pane
        cycle([pane], 0)

    def cycle_panes(self, step: int) -> None:
        """Put the keyboard into the next pane, in the order of the window."""
        docked = {title: dock.widget() for title, dock in self.docks.items()}
        centre = self.centralWidget()
        order = [self._plan_bar, docked.pop("Library"), centre, *docked.values()]
        cycle([pane for pane in order if pane], step)

    def toggle_full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    @property
    def arrangement(self) -> QByteArray:
        """Where the user put the panes; empty if they are as they were."""
        return self._layout.arrangement

    def arrange(self, layout: Layout, arrangement: QByteArray) -> None:
        """Put the panes as the layout has them, or where the user had them in it."""
        self._layout.arrange(layout, arrangement)
        self.show_layout(layout)

    @property
    def layout_to_keep(self) -> Layout:
        """That the next start begins with."""
        return self._layout.layout_to_keep

    def show_pane(self, title: str) -> None:
        """Bring one pane to the front, the details also where they are folded."""
        self._layout.show(title)

    def give_height(self, title: str, pixels: int) -> None:
        """To a pane that needs it, from those above; its user may take it back."""
        self.resizeDocks([self.docks[title]], [pixels], Qt.Orientation.Vertical)

    def focusNextPrevChild(self, next_: bool) -> bool:
        """Tab passes over what lies behind another pane's tab, which Qt takes for visible."""
        before = self.focusWidget()
        while super().focusNextPrevChild(next_):
            found = self.focusWidget()
            if found is before or not self._is_behind(found):
                return True
        return False

    def _is_behind(self, widget: QWidget) -> bool:
        docks = (dock for dock in self.docks.values() if dock.isAncestorOf(widget))
        return any(dock.visibleRegion().isEmpty() for dock in docks)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
            if self.isSeparator(event.position().toPoint()):
                self._layout.note_arranged()
        elif isinstance(event, QChildEvent) and event.type() == QEvent.Type.ChildPolished:
            self._take_in(event.child())
        done = super().event(event)
        if event.type() is QEvent.Type.Paint and not self._is_painted:
            self._is_painted = True
            QTimer.singleShot(0, self, self.painted.emit)
        return done

    def _take_in(self, child: QObject) -> None:
        if isinstance(child, QTabBar):  # Qt makes it where panes share a place
            child.setAccessibleName("Panes that share this place")
        if isinstance(child, QWidget):
            self.restyling.join(child)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._layout.window_resized()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._layout.shown_first()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if files:
            event.acceptProposedAction()
            beside = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            (self.file_dropped_to_compare if beside else self.file_dropped).emit(Path(files[0]))

    def closeEvent(self, event: QCloseEvent) -> None:
        self.hide()  # ending the worker may take a moment: nobody should look at a dead window
        self.closing.emit()
        event.accept()

    def _add_bar(self, bar: QToolBar, name: str, area: Qt.ToolBarArea) -> None:
        bar.setObjectName(name)
        bar.setMovable(False)
        bar.setFloatable(False)
        bar.toggleViewAction().setVisible(False)
        bar.setContentsMargins(0, 0, 0, 0)
        if layout := bar.layout():
            layout.setContentsMargins(0, 0, 0, 0)
        self.addToolBar(area, bar)

    def _layout_shown(self) -> None:
        self.show_layout(self._layout.layout)
        self.layout_chosen.emit(self._layout.layout)

    def _show_bars(self, are_shown: bool) -> None:
        self._plan_bar.setVisible(are_shown)
        self.statusBar().setVisible(are_shown)

    def _fill_menus(self) -> None:
        menus = {menu: self.menuBar().addMenu(menu) for menu in Menu}
        inner: dict[str, QMenu] = {}
        choices: dict[str, QActionGroup] = {}
        for command in COMMANDS:
            action, menu = self.actions_of[command.id], menus[command.menu]
            if command.starts_group:
                menu.addSeparator()
            if command.inside:
                if command.inside not in inner:
                    inner[command.inside] = menu.addMenu(command.inside)
                menu = inner[command.inside]
            menu.addAction(action)
            if command.also_in:
                menus[command.also_in].addAction(action)
            if command.is_choice:
                choices.setdefault(command.inside, QActionGroup(self)).addAction(action)
            if command.id is CommandId.OPEN:
                menu.addMenu(self.recent_menu)
            if command.id is CommandId.EXAMPLE:
                menu.addMenu(self.example_menu)
        menus[Menu.VIEW].addSeparator()
        for dock in self.docks.values():
            menus[Menu.VIEW].addAction(dock.toggleViewAction())


def first_size(available: QRect) -> QSize | None:
    """How large the first window is on a screen; None if it should take the whole of it."""
    room = QSize(available.width(), available.height() - _FRAME)
    if room.width() <= _USEFUL.width() or room.height() <= _USEFUL.height():
        return None
    return QSize(round(available.width() * _SHARE), round(available.height() * _SHARE)).expandedTo(_USEFUL)
