"""What each command does, and which of them can be given right now."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject

from roofscope.app.presentation.compare.marks_text import why_no_pin
from roofscope.app.presentation.formatting import counted_text
from roofscope.app.window.background import Background
from roofscope.app.window.commands import COMMAND_OF, CommandId, tool_tip
from roofscope.app.window.controller import Controller
from roofscope.app.window.counting import Counting
from roofscope.app.window.debugging import Debugging
from roofscope.app.window.device_source import DeviceSource
from roofscope.app.window.filter_steps import FilterSteps
from roofscope.app.window.folder_commands import FolderCommands
from roofscope.app.window.help_commands import HelpCommands
from roofscope.app.window.notices import Topic
from roofscope.app.window.own_files import OwnFiles
from roofscope.app.window.plan_habits import PlanHabits
from roofscope.app.window.plan_watch import PlanWatch
from roofscope.app.window.point_commands import OF_A_POINT, PointCommands
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_commands import SessionCommands
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.app.window.shell.file_dialogs import FileDialogs
from roofscope.app.window.shell.main_window import LAYOUT_COMMANDS, SCHEME_COMMANDS, MainWindow, Panes
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.tables.library_model import LibraryModel
from roofscope.app.window.tables.point_table import PointTable
from roofscope.app.window.text_size import TextSize
from roofscope.app.window.theme import ThemeSwitch
from roofscope.app.window.undo import UndoSteps
from roofscope.app.window.widgets.keyboard import has_keyboard
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.planning.plan import PlanError
from roofscope.profiling.results.outcome import Examined
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision.retrying import is_paused


class Parts(Protocol):
    """The objects that commands act on."""

    settings: Settings
    background: Background
    folder_commands: FolderCommands
    own_files: OwnFiles
    model: SessionModel
    selection: Selection
    shown: ShownPoints
    theme_switch: ThemeSwitch
    text_size: TextSize
    library: LibraryModel
    table: PointTable
    controller: Controller
    window: MainWindow
    panes: Panes
    watch: PlanWatch
    shared_gpu: SharedGpu
    debugging: Debugging
    counting: Counting

    @property
    def source(self) -> DeviceSource: ...

    def open_trace(self, path: Path) -> None: ...


class WindowCommands(QObject):
    def __init__(self, parts: Parts, dialogs: FileDialogs, example: Path) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self._dialogs = dialogs
        self._last_before = 0  # the number of the last point before the run under way
        self._measured_session: Session | None = None  # to which that run adds
        self._actions = parts.window.actions_of
        self._pin_text = self._actions[CommandId.PIN].text()
        self._why_not: dict[CommandId, str] = {}
        self.steps = UndoSteps(self)
        self.filter_steps = FilterSteps(parts.shown, parts.model, self.steps)
        self.sessions = SessionCommands(parts, dialogs, self.steps, example)
        self.points = PointCommands(parts, self.steps)
        self.help = HelpCommands(parts, self.why_not)
        self.plan_habits = PlanHabits(parts)
        self._connect()
        parts.panes.results.view.addActions([self._actions[command] for command in OF_A_POINT])
        parts.panes.chart.addAction(self._actions[CommandId.DELETE])
        self.steps.changed.connect(self._refresh)
        self.steps.failed.connect(parts.window.say)
        parts.panes.cards.retry_asked.connect(self._try_paused_again)
        for signal in (parts.library.checks_changed, parts.panes.plan_bar.changed):
            signal.connect(lambda: self._settle(Topic.PLAN))
        parts.controller.running_changed.connect(self._running_changed)
        parts.controller.session_changed.connect(self._refresh)
        parts.controller.catalog_changed.connect(self._refresh)
        parts.debugging.running_changed.connect(self._refresh)
        parts.counting.running_changed.connect(self._refresh)
        parts.panes.library.current_changed.connect(self._refresh)
        parts.panes.debug.opened.connect(self.points.show_finding)
        parts.panes.debug.stop_asked.connect(parts.debugging.stop)
        parts.model.replaced.connect(self._forget_selection)
        parts.model.replaced.connect(self.steps.forget_session)
        parts.model.replaced.connect(self._forget_measured_session)
        parts.model.point_added.connect(self._refresh)
        parts.model.marks_changed.connect(self._refresh)
        parts.model.points_changed.connect(self._refresh)
        parts.shown.changed.connect(self._refresh)
        parts.selection.changed.connect(self._refresh)
        parts.panes.plan_bar.device_changed.connect(self._refresh)
        parts.controller.settled.connect(self._settle)
        parts.shared_gpu.asked.connect(lambda: self._settle(Topic.RUN))
        parts.folder_commands.looked.connect(lambda: self._settle(Topic.FOLDERS))
        self._refresh()

    @property
    def export(self) -> Callable[[Path], None]:
        return self.sessions.export

    @property
    def report(self) -> Callable[[Path], None]:
        return self.sessions.report

    @property
    def compare_with(self) -> Callable[[Path], None]:
        return self.sessions.compare_with

    def why_not(self, command: CommandId) -> str:
        """Why it cannot be given now, as a sentence; "" where it can."""
        if command is CommandId.RUN and not self._actions[command].isEnabled():
            return self._why_not.get(command) or self._parts.watch.problem
        return self._why_not.get(command, "")

    def measure_here(self) -> None:
        """From the example's card: everything, on this machine's best device."""
        self._parts.library.set_all(True)
        self.run()

    def run(self) -> None:
        parts = self._parts
        devices = parts.panes.plan_bar.run_devices()
        try:
            choice = parts.panes.plan_bar.choice()
        except PlanError as error:
            parts.panes.cards.notice(str(error), Topic.PLAN)
            return
        if choice is None or not devices:
            parts.window.say("Still looking for devices; press Run again in a moment.")
            return

        def measure() -> None:
            parts.panes.cards.forget_worker()
            parts.controller.run(choice, devices, parts.library.checked())

        parts.shared_gpu.ask(devices, measure)

    def restart(self) -> None:
        def restart() -> None:
            self._parts.panes.cards.forget_worker()
            self._parts.controller.restart()

        self._parts.shared_gpu.ask(self._parts.controller.devices, restart)

    def _counters_from(self) -> None:
        if point := self.points.selected:
            self._dialogs.ask_counters(lambda path: self._parts.counting.read(point, path))

    def _connect(self) -> None:
        parts, window = self._parts, self._parts.window
        self._actions.connect(
            {
                **self.sessions.handlers,
                **self.help.handlers,
                CommandId.OPEN_KERNEL: parts.own_files.ask,
                CommandId.OPEN_TRACE: lambda: self._dialogs.ask_trace(parts.open_trace),
                CommandId.COUNTERS_FROM: self._counters_from,
                CommandId.KERNELS: parts.folder_commands.show,
                CommandId.QUIT: window.close,
                CommandId.COPY: parts.panes.results.copy,
                CommandId.COPY_MARKDOWN: parts.panes.results.copy_markdown,
                CommandId.FIND: self._find,
                CommandId.UNDO: self.steps.undo,
                CommandId.REDO: self.steps.redo,
                CommandId.RUN: self.run,
                CommandId.STOP: self._stop,
                CommandId.MORE_TIME: parts.controller.give_more_time,
                CommandId.PROBE: self._probe,
                **self.points.handlers,
                CommandId.LARGER: parts.text_size.larger,
                CommandId.SMALLER: parts.text_size.smaller,
                CommandId.USUAL_SIZE: lambda: parts.text_size.choose(100),
                CommandId.RESET_LAYOUT: window.reset_layout,
                CommandId.FULL_SCREEN: window.toggle_full_screen,
                CommandId.NEXT_PANE: lambda: window.cycle_panes(1),
                CommandId.PREVIOUS_PANE: lambda: window.cycle_panes(-1),
                **{command: self._scheme_setter(command) for command in SCHEME_COMMANDS},
                **{command: partial(window.choose_layout, one) for command, one in LAYOUT_COMMANDS.items()},
            }
        )

    def _scheme_setter(self, command: CommandId) -> Callable[[], None]:
        def choose() -> None:
            scheme = SCHEME_COMMANDS[command]
            self._parts.settings.scheme = scheme
            self._parts.theme_switch.choose(scheme)
            self._parts.window.show_scheme(scheme)

        return choose

    def _forget_selection(self) -> None:
        """A number means another point in another file. The keyboard goes from its details to the rows."""
        panes = self._parts.panes
        if has_keyboard(panes.details):  # asked first: once empty, they would take it for themselves
            panes.results.view.setFocus()
        self._parts.selection.select(None)

    def _find(self) -> None:
        """The results' filter, which the chart shares; from the library or that filter the library."""
        panes, window = self._parts.panes, self._parts.window
        if has_keyboard(panes.library) or panes.results.has_filter_keyboard:
            window.show_pane("Library")
            panes.library.focus_search()
        else:
            window.show_pane("Results")
            panes.results.focus_filter()

    def _stop(self) -> None:
        self._parts.controller.stop()
        if self._parts.controller.is_running:
            self._parts.window.say("Stopping after the current block; press Stop again to end the worker.")

    def _probe(self) -> None:
        if device := self._parts.panes.plan_bar.device():
            self._parts.shared_gpu.ask([device], lambda: self._parts.controller.probe(device))

    def _try_paused_again(self) -> None:
        """What cost a worker in the run that ended, and what was left out because of it."""
        self.points.retry([point for point in self._new_points if is_paused(point)])

    @property
    def _new_points(self) -> Sequence[Point]:
        """Of the run under way, or of the last one; none of a session that was opened since."""
        session = self._parts.model.session
        if session is not self._measured_session:
            return ()
        return [point for point in session.points if point.number > self._last_before]

    def _forget_measured_session(self) -> None:
        """Once another is shown: one that is held here keeps all its points in memory."""
        if self._parts.model.session is not self._measured_session:
            self._measured_session = None

    def _settle(self, topic: Topic) -> None:
        self._parts.panes.cards.board.settle(topic)

    def _running_changed(self, running: bool) -> None:
        panes = self._parts.panes
        for pane in (panes.plan_bar, panes.chart, panes.results):
            pane.set_running(running)
        if running:
            points = self._parts.model.session.points
            self._last_before = points[-1].number if points else 0
        self._measured_session = self._parts.model.session if running else self._measured_session
        self._refresh()
        if not running:
            self._settle(Topic.UNDER_WAY)
            if any(map(is_paused, self._new_points)):
                panes.cards.offer_retry()
            self._parts.watch.refresh()
            stopped = self._parts.window.said.startswith("Stopping")
            self._parts.window.say("Stopped; what was measured is kept." if stopped else self._tally())

    def _tally(self) -> str:
        """What the run that just ended brought; "" for one without points."""
        new = self._new_points
        if not new:
            return ""
        measured = sum(point.measured is not None for point in new)
        examined = sum(isinstance(point.outcome, Examined) for point in new)
        rest = len(new) - measured - examined
        without = f", {examined} checked without a GPU" if examined else ""
        more = f", {rest} not: see Reason in the results" if rest else ""
        return f"Done: {measured} of {counted_text(len(new), 'point')} measured{without}{more}."

    def _why_no_pin(self, point: Point | None) -> str:
        """A pin of before can always be taken back."""
        is_pinned = point is not None and self._parts.model.mark(point.number).is_pinned
        return "" if point is None or is_pinned else why_no_pin(point)

    def _why_no_trace(self, point: Point | None) -> str:
        devices = self._parts.panes.plan_bar.devices
        if point is None or not devices:
            return "" if devices else "Still looking for devices."
        return self._parts.controller.why_no_trace(devices)

    def _refresh(self) -> None:
        parts = self._parts
        self._why_not = self._reasons()
        for command, why_not in self._why_not.items():
            action = self._actions[command]
            action.setEnabled(not why_not)
            action.setToolTip(tip_text(why_not or tool_tip(COMMAND_OF[command])))
        if not parts.controller.is_running and not parts.counting.is_running:
            self._actions[CommandId.RUN].setEnabled(not parts.watch.problem)
        subject = self.points.to_debug
        parts.panes.debug.tell_subject(subject.title if subject else None)
        point = self.points.selected
        is_pinned = point is not None and parts.model.mark(point.number).is_pinned
        self._actions[CommandId.PIN].setText("Un&pin" if is_pinned else self._pin_text)
        hidden, deleted = len(parts.shown.filter.put_aside), len(parts.model.session.deleted)
        for command, count in ((CommandId.SHOW_HIDDEN, hidden), (CommandId.BRING_BACK, deleted)):
            text = COMMAND_OF[command].text
            self._actions[command].setText(f"{text} ({count})" if count else text)
        for command, text in ((CommandId.UNDO, self.steps.undo_text), (CommandId.REDO, self.steps.redo_text)):
            self._actions[command].setText(f"{COMMAND_OF[command].text} {text}".rstrip())

    def _reasons(self) -> dict[CommandId, str]:
        """Why commands that cannot always be given cannot be given now."""
        parts, point = self._parts, self.points.selected
        running = "A run is under way." if parts.controller.is_running else ""
        busy = running or ("A point is being counted." if parts.counting.is_running else "")
        looking = "" if parts.panes.plan_bar.device() else "Still looking for devices."
        unselected = "" if point else "Select a point first."
        unmeasured = unselected or ("" if point and point.measured else "This point has no time.")
        keeper = parts.controller.keeper
        return {
            CommandId.RUN: busy or looking,
            CommandId.STOP: "" if running else "No run is under way.",
            CommandId.PROBE: busy or looking,
            CommandId.TRACE: busy or unmeasured or self._why_no_trace(point),
            CommandId.COUNT: busy or unmeasured or parts.counting.why_not(point) or self._why_no_trace(point),
            CommandId.COUNTERS_FROM: busy or unmeasured or parts.counting.why_not(point),
            CommandId.PIN: unselected or self._why_no_pin(point),
            CommandId.NOTE: unselected,
            CommandId.HIDE: unselected,
            CommandId.SHOW_HIDDEN: "" if parts.shown.filter.put_aside else "No point is hidden.",
            CommandId.DELETE: running or unselected or keeper.why_nothing_deleted,
            CommandId.BRING_BACK: running
            or ("" if parts.model.session.deleted else "No point of this session is deleted."),
            CommandId.TRY_AGAIN: busy or unselected or self._why_no_trace(point),
            CommandId.DEBUG: parts.debugging.why_not(self.points.to_debug),
            CommandId.RENAME: running or keeper.why_not_own,
            CommandId.TRASH: running or keeper.why_not_own,
            CommandId.UNDO: running or "" if self.steps.undo_text else "There is nothing to undo.",
            CommandId.REDO: running or "" if self.steps.redo_text else "There is nothing to redo.",
        }
