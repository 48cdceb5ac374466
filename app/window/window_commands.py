"""What each command does, and which of them can be given right now."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMessageBox

from roofscope.app.presentation.export import ExportError, export
from roofscope.app.presentation.formatting import counted_text
from roofscope.app.window.background import Background
from roofscope.app.window.commands import CommandId
from roofscope.app.window.controller import Controller
from roofscope.app.window.folder_commands import FolderCommands
from roofscope.app.window.panes.proof import ProofPane
from roofscope.app.window.plan_watch import PlanWatch
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.app.window.shell.doctor_dialog import DoctorDialog
from roofscope.app.window.shell.file_dialogs import FileDialogs
from roofscope.app.window.shell.main_window import SCHEME_COMMANDS, MainWindow, Panes
from roofscope.app.window.shell.projection_dialog import ProjectionDialog
from roofscope.app.window.shell.shortcuts_dialog import ShortcutsDialog
from roofscope.app.window.tables.library_model import LibraryModel
from roofscope.app.window.tables.point_table import PointTable
from roofscope.app.window.theme import ThemeSwitch
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.doctor import examine
from roofscope.profiling.planning.plan import PlanError
from roofscope.profiling.results.session import Point


class Parts(Protocol):
    """The objects that commands act on."""

    settings: Settings
    background: Background
    folder_commands: FolderCommands
    model: SessionModel
    selection: Selection
    theme_switch: ThemeSwitch
    library: LibraryModel
    table: PointTable
    controller: Controller
    window: MainWindow
    panes: Panes
    watch: PlanWatch
    shared_gpu: SharedGpu


class WindowCommands(QObject):
    def __init__(self, parts: Parts, dialogs: FileDialogs, example: Path) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self._dialogs = dialogs
        self._example = example
        self._points_before = 0  # of the run under way
        self._actions = parts.window.actions_of
        self._trace_tip = self._actions[CommandId.TRACE].toolTip()
        self._pin_text = self._actions[CommandId.PIN].text()
        self._connect()
        parts.controller.running_changed.connect(self._running_changed)
        parts.controller.session_changed.connect(self._session_changed)
        parts.model.replaced.connect(self._forget_selection)
        parts.model.environment_changed.connect(self._session_changed)
        parts.model.point_added.connect(self._refresh)
        parts.selection.changed.connect(self._refresh)
        parts.panes.plan_bar.device_changed.connect(self._refresh)
        self._session_changed()

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
            parts.panes.cards.notice(str(error))
            return
        if choice is None or not devices:
            parts.window.say("Still looking for devices; press Run again in a moment.")
            return

        def measure(is_shared: bool) -> None:
            if is_shared:
                parts.controller.renew_workers()
            parts.panes.cards.forget_worker()
            parts.controller.run(choice, devices, parts.library.checked())

        parts.shared_gpu.ask(devices, measure)

    def restart(self) -> None:
        self._parts.panes.cards.forget_worker()
        self._parts.controller.restart()

    def _connect(self) -> None:
        parts, window = self._parts, self._parts.window
        self._actions.connect(
            {
                CommandId.OPEN: lambda: self._dialogs.ask_open(parts.controller.open),
                CommandId.NEW: lambda: parts.controller.new_session(parts.panes.plan_bar.device()),
                CommandId.SAVE: self._save,
                CommandId.SAVE_AS: self._save_as,
                CommandId.EXPORT: lambda: self._dialogs.ask_export(
                    parts.model.session.path.stem, self.export
                ),
                CommandId.KERNELS: parts.folder_commands.show,
                CommandId.QUIT: window.close,
                CommandId.COPY: parts.panes.results.copy,
                CommandId.COPY_MARKDOWN: parts.panes.results.copy_markdown,
                CommandId.FIND: self._find,
                CommandId.RUN: self.run,
                CommandId.STOP: self._stop,
                CommandId.MORE_TIME: parts.controller.give_more_time,
                CommandId.PROBE: self._probe,
                CommandId.TRACE: self._trace,
                CommandId.PIN: self._pin,
                CommandId.RESET_LAYOUT: window.reset_layout,
                CommandId.PROJECT: self._project,
                CommandId.DOCTOR: self._show_doctor,
                CommandId.SHORTCUTS: lambda: ShortcutsDialog(window).open(),
                CommandId.ABOUT: self._show_about,
                **{command: self._scheme_setter(command) for command in SCHEME_COMMANDS},
            }
        )

    def export(self, path: Path) -> None:
        if self._parts.controller.keeper.is_open_file(path):
            self._parts.panes.cards.notice(
                f"{path} is the open session and would be lost; choose another name."
            )
            return
        try:
            export(self._parts.model.session, self._parts.panes.chart, path)
        except ExportError as error:
            self._parts.panes.cards.notice(str(error))
            return
        self._parts.window.say(f"Written to {path}")

    def _scheme_setter(self, command: CommandId) -> Callable[[], None]:
        def choose() -> None:
            scheme = SCHEME_COMMANDS[command]
            self._parts.settings.scheme = scheme
            self._parts.theme_switch.choose(scheme)
            self._parts.window.show_scheme(scheme)

        return choose

    def _forget_selection(self) -> None:
        """A number means another point in another file."""
        self._parts.selection.select(None)

    def _selected(self) -> Point | None:
        number = self._parts.selection.number
        return self._parts.model.point(number) if number is not None else None

    def _save(self) -> None:
        keeper = self._parts.controller.keeper
        is_kept = keeper.path and not keeper.is_in_memory and not self._parts.model.session.is_damaged
        if is_kept and not keeper.is_autosaved and not keeper.is_example:
            self._parts.window.say(f"Every result is already in {keeper.path}")
        else:
            self._save_as()

    def _save_as(self) -> None:
        keeper = self._parts.controller.keeper
        if keeper.path is None and not keeper.is_in_memory:
            self._parts.panes.cards.notice("There is nothing to save yet; run something first.")
            return
        self._dialogs.ask_save(self._parts.model.session.path.name, self._parts.controller.save_as)

    def _find(self) -> None:
        """The results if they have the focus, else the library."""
        panes = self._parts.panes
        if panes.results.isAncestorOf(self._parts.window.focusWidget() or panes.library):
            panes.results.focus_filter()
        else:
            self._parts.window.docks["Library"].show()
            panes.library.focus_search()

    def _stop(self) -> None:
        self._parts.controller.stop()
        self._parts.window.say("Stopping after the current block; press Stop again to end the worker.")

    def _probe(self) -> None:
        if device := self._parts.panes.plan_bar.device():
            self._parts.shared_gpu.ask([device], lambda _: self._parts.controller.probe(device))

    def _trace(self) -> None:
        if point := self._selected():
            self._parts.window.docks["Trace"].show()
            self._parts.window.docks["Trace"].raise_()
            self._parts.controller.trace(point, self._parts.panes.plan_bar.devices)

    def _pin(self) -> None:
        table, point = self._parts.table, self._selected()
        if point:
            table.pin(None if table.pinned == point.number else point.number)
            self._refresh()

    def _project(self) -> None:
        parts = self._parts
        dialog = ProjectionDialog(parts.model.session, parts.selection, parts.window)
        parts.model.replaced.connect(dialog.close)  # its points are gone
        dialog.show()

    def _show_doctor(self) -> None:
        parts = self._parts
        theme = parts.theme_switch.theme
        proofs = ProofPane(
            parts.model, parts.controller, parts.panes.plan_bar.device(), theme, parts.shared_gpu.ask
        )
        dialog = DoctorDialog(theme, proofs, parts.window)
        dialog.show()
        parts.background.ask(examine, dialog.show_checks)

    def _show_about(self) -> None:
        box = QMessageBox(self._parts.window)
        box.setWindowTitle("About Roofscope")
        box.setText(
            "Roofscope measures CUDA, Triton, eager and compiled versions of a kernel"
            " and sets them on a measured roofline."
        )
        box.setInformativeText("MIT licence. Icons by Lucide, ISC licence.")
        box.open()

    def _running_changed(self, running: bool) -> None:
        panes = self._parts.panes
        for pane in (panes.plan_bar, panes.chart, panes.results):
            pane.set_running(running)
        if running:
            self._points_before = len(self._parts.model.session.points)
        self._refresh()
        if not running:
            self._parts.watch.refresh()
            stopped = self._parts.window.said.startswith("Stopping")
            self._parts.window.say("Stopped; what was measured is kept." if stopped else self._tally())

    def _tally(self) -> str:
        """What the run that just ended brought; "" for one without points."""
        new = self._parts.model.session.points[self._points_before :]
        if not new:
            return ""
        measured = sum(point.measured is not None for point in new)
        rest = len(new) - measured
        more = f", {rest} not: see Reason in the results" if rest else ""
        return f"Done: {measured} of {counted_text(len(new), 'point')} measured{more}."

    def _session_changed(self) -> None:
        parts = self._parts
        keeper, session = parts.controller.keeper, parts.model.session
        name = keeper.path.stem if keeper.path else "new session"
        where = f" - {session.device.name}" if session.device else ""
        parts.window.setWindowTitle(f"{name}{where} - Roofscope")
        if keeper.path and not keeper.is_example:
            parts.settings.remember_session(keeper.path)
        parts.window.show_recent(parts.settings.recent_sessions)
        device = session.device.name if session.device else "another machine"
        text = f"This is an example recorded on {device}, not on this machine."
        parts.panes.cards.show_example(text if keeper.is_example else None)
        self._refresh()

    def _why_no_trace(self, point: Point | None) -> str:
        devices = self._parts.panes.plan_bar.devices
        if point is None or not devices:
            return "" if devices else "Still looking for devices."
        return self._parts.controller.why_no_trace(devices)

    def _refresh(self) -> None:
        running = self._parts.controller.is_running
        point = self._selected()
        measured = point is not None and point.measured is not None
        has_device = self._parts.panes.plan_bar.device() is not None
        why_not = self._why_no_trace(point)
        self._actions[CommandId.STOP].setEnabled(running)
        self._actions[CommandId.PROBE].setEnabled(has_device and not running)
        self._actions[CommandId.TRACE].setEnabled(measured and not why_not and not running)
        self._actions[CommandId.TRACE].setToolTip(tip_text(why_not or self._trace_tip))
        self._actions[CommandId.PIN].setEnabled(measured)
        is_pinned = point is not None and self._parts.table.pinned == point.number
        self._actions[CommandId.PIN].setText("Unpin &baseline" if is_pinned else self._pin_text)
        if running:
            self._actions[CommandId.RUN].setEnabled(False)
