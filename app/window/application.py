"""The composition root: the only place that builds the window's objects and joins them."""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QTimer
from PySide6.QtWidgets import QApplication

from roofscope.app.presentation.roofline.caption import device_text
from roofscope.app.window.availability import Availability
from roofscope.app.window.background import Background
from roofscope.app.window.chart.roofline_chart import RooflineChart
from roofscope.app.window.commands import Actions, CommandId
from roofscope.app.window.controller import Controller
from roofscope.app.window.device_source import DeviceSource
from roofscope.app.window.fleet_link import FleetLink
from roofscope.app.window.folder_commands import FolderCommands
from roofscope.app.window.kernel_folders import KernelFolders
from roofscope.app.window.panes.cards import CardColumn
from roofscope.app.window.panes.compile_lab import CompileLabPane
from roofscope.app.window.panes.detail import DetailPane
from roofscope.app.window.panes.device_strip import DeviceStrip
from roofscope.app.window.panes.library import LibraryPane
from roofscope.app.window.panes.plan_bar import PlanBar
from roofscope.app.window.panes.results import ResultsPane
from roofscope.app.window.panes.trace import TracePane
from roofscope.app.window.plan_watch import PlanWatch
from roofscope.app.window.runtime_folder import give_qt_a_runtime_folder
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_keeper import SessionKeeper
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.app.window.shell.file_dialogs import FileDialogs
from roofscope.app.window.shell.main_window import MainWindow, Panes
from roofscope.app.window.tables.library_model import LibraryModel
from roofscope.app.window.tables.point_table import PointTable
from roofscope.app.window.theme import ThemeSwitch
from roofscope.app.window.window_commands import WindowCommands
from roofscope.app.window.worker_link import WorkerLink
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.devices.discovery import LocalDevices, default_device
from roofscope.profiling.paths import LIBRARY, UserPaths, is_file
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.trust import Trust
from roofscope.profiling.results.session import Session, timestamp
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.fleet import members_of
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget


def run_window(argv_files: Sequence[Path] = ()) -> int:
    """Open the window on a session file, or on the last one; returns the exit code."""
    give_qt_a_runtime_folder()
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    QCoreApplication.setApplicationName("Roofscope")
    application = build_window(app, UserPaths.of_user())
    application.start(argv_files)
    application.window.show()
    # Ctrl+C in the terminal closes as the mouse does; the strip's timer gives Python its turn. Not at
    # once: the signal may interrupt the handling of a report.
    window = application.window
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda _number, _frame: QTimer.singleShot(0, window, window.close))
    return app.exec()


def build_window(
    app: QApplication,
    paths: UserPaths,
    *,
    source: DeviceSource | None = None,
    target: LocalTarget | None = None,
    kernel_roots: Sequence[Path] = (),
) -> "Application":
    """Build the window without showing it. Tests and screenshots give their own places, devices and worker.

    ``kernel_roots`` are folders of kernels besides the program's own.
    """
    return Application(app, paths, source or LocalDevices(), target or LocalTarget(), tuple(kernel_roots))


class Application(QObject):
    """Everything that lives as long as the window."""

    def __init__(
        self,
        app: QApplication,
        paths: UserPaths,
        source: DeviceSource,
        target: LocalTarget,
        kernel_roots: tuple[Path, ...],
    ) -> None:
        super().__init__()
        self._paths = paths
        self._source = source
        self.availability = Availability()
        self.settings = Settings(paths.settings)
        self.background = Background(self)
        self.model = SessionModel(Session(paths.sessions / "none.roofscope", timestamp()), self)
        self.selection = Selection(self)
        self.theme_switch = ThemeSwitch(app, self.settings.scheme)
        self.folders = KernelFolders(self.settings, Trust(paths.trusted), kernel_roots)
        catalog = scan((LIBRARY, *self.folders.roots))  # those recorded come when the window is there
        self.library = LibraryModel(catalog, self)
        self.table = PointTable(self.model, self)
        self.link = WorkerLink(Supervisor(self.folders.root_names, catalog.hash), target, self)
        self.fleet = FleetLink(self._new_link, lambda devices: members_of(devices, target), self)
        keeper = SessionKeeper(
            self.model,
            lambda: self.controller.catalog,
            CeilingCache(self._notice, paths.ceilings),
            paths.sessions,
            paths.assets,
        )
        self.controller = Controller(
            self.model,
            keeper,
            self.link,
            self.fleet,
            self.availability,
            catalog,
            self.folders,
            self,
        )
        self.window = MainWindow()
        self.panes = self._make_panes(self.window.actions_of)
        self.window.style_with(self.theme_switch.theme)
        self.window.place(self.panes)
        self.watch = PlanWatch(
            self.library,
            self.panes.plan_bar,
            self.window.actions_of[CommandId.RUN],
            lambda: self.controller.is_running,
            keeper.why_new,
            self,
        )
        dialogs = FileDialogs(self.window, self.settings)
        self.folder_commands = FolderCommands(
            self.window, self.folders, self.controller, self.background, dialogs
        )
        self.shared_gpu = SharedGpu(
            source, self.background, lambda: (self.link.worker_pid, *self.fleet.worker_pids), self.window
        )
        self.commands = WindowCommands(self, dialogs, paths.example)
        self._join()

    def _new_link(self, target: LocalTarget, parent: QObject) -> WorkerLink:
        """A worker that knows the kernels of today."""
        supervisor = Supervisor(self.folders.root_names, self.controller.catalog.hash)
        return WorkerLink(supervisor, target, parent)

    def start(self, files: Sequence[Path] = ()) -> None:
        """Show the file asked for, else the last session, else the example, and look for devices."""
        self._restore_layout()
        for problem in self.settings.problems:
            self._notice(problem)
        recent = [path for path in self.settings.recent_sessions if is_file(path)]
        example = [self._paths.example] if is_file(self._paths.example) else []
        candidates = [Path(file) for file in files] or [*recent[:1], *example[:1]][:1]
        if not (candidates and self.controller.open(candidates[0])):
            self.controller.new_session(None)
        self.panes.chart.setFocus()
        self.background.ask(self._source.find, self._devices_found)
        self.folder_commands.start()

    def close(self) -> None:
        """End the worker, close the file, remember the window. Called when the window closes."""
        self.panes.strip.stop()
        self.settings.save_layout(self.window.saveGeometry(), self.window.arrangement)
        self.controller.close()
        self.background.finish()
        self._source.close()

    def _notice(self, text: str) -> None:
        self.panes.cards.notice(text)

    def _make_panes(self, actions: Actions) -> Panes:
        theme = self.theme_switch.theme
        model, table, selection = self.model, self.table, self.selection
        return Panes(
            plan_bar=PlanBar(actions[CommandId.RUN], actions[CommandId.STOP], actions[CommandId.MORE_TIME]),
            cards=CardColumn(theme),
            chart=RooflineChart(model, selection, theme, table.speed_up_of),
            library=LibraryPane(self.library, theme),
            results=ResultsPane(
                model,
                table,
                selection,
                (actions[CommandId.COPY], actions[CommandId.COPY_MARKDOWN]),
                theme,
            ),
            details=DetailPane(
                model, table, selection, (actions[CommandId.TRACE], actions[CommandId.PIN]), theme
            ),
            compile_lab=CompileLabPane(model, selection, theme),
            trace=TracePane(model, selection, self.background, actions[CommandId.TRACE]),
            strip=DeviceStrip(self._source),
        )

    def _join(self) -> None:
        panes, controller = self.panes, self.controller
        controller.noticed.connect(panes.cards.notice)
        controller.said.connect(self.window.say)
        controller.progressed.connect(panes.plan_bar.show_progress)
        controller.awaited.connect(panes.plan_bar.show_awaited)
        controller.worker_lost.connect(panes.cards.worker_lost)
        controller.catalog_changed.connect(self.library.set_catalog)
        controller.refused.connect(self._tell_reasons)
        self.shared_gpu.noticed.connect(panes.cards.notice)
        panes.cards.restart_asked.connect(self.commands.restart)
        panes.cards.measure_asked.connect(self.commands.measure_here)
        panes.plan_bar.device_changed.connect(self._device_chosen)
        self.folder_commands.noticed.connect(panes.cards.notice)
        panes.details.set_open(self.settings.open_facts)
        panes.details.folds_changed.connect(self._remember_folds)
        panes.trace.failed.connect(panes.cards.notice)
        panes.trace.exported.connect(self.window.say)
        self.background.failed.connect(panes.cards.notice)
        self.window.file_dropped.connect(controller.open)
        self.window.closing.connect(self.close)
        self.theme_switch.changed.connect(self._restyle)
        controller.session_changed.connect(self._tell_device)
        self.model.environment_changed.connect(self._tell_device)
        self._restyle()
        self._tell_reasons()

    def _remember_folds(self, titles: tuple[str, ...]) -> None:
        self.settings.open_facts = titles

    def _restyle(self) -> None:
        theme = self.theme_switch.theme
        self.window.style_with(theme)
        self.window.show_scheme(self.theme_switch.scheme)
        panes = self.panes
        for pane in (
            panes.chart,
            panes.library,
            panes.results,
            panes.details,
            panes.compile_lab,
            panes.cards,
        ):
            pane.set_theme(theme)

    def _devices_found(self, devices: object) -> None:
        assert isinstance(devices, tuple)
        self.panes.plan_bar.set_devices(devices, default_device(devices))

    def _device_chosen(self) -> None:
        self.panes.strip.show_device(self.panes.plan_bar.device())
        self._tell_reasons()
        self._tell_device()

    def _tell_device(self) -> None:
        """Whose chart this is, and a word where Run would measure on something else."""
        shown, chosen = self.model.session.device, self.panes.plan_bar.device()
        note = ""
        in_session = {device.uuid for device in self.model.session.devices}
        if shown and chosen and chosen.uuid not in in_session:
            is_cpu = chosen.kind is DeviceKind.CPU
            name = "this machine's CPU" if is_cpu else chosen.name_beside([shown])
            note = f"but Run uses {name}"
        self.panes.chart.set_heading(device_text(self.model.session), note)
        self.watch.refresh()

    def _tell_reasons(self) -> None:
        device = self.panes.plan_bar.device()
        self.library.set_reasons(lambda implementation: self.availability.reason(implementation, device))

    def _restore_layout(self) -> None:
        self.window.resize(1280, 800)
        geometry, arrangement = self.settings.layout
        self.window.restoreGeometry(geometry)
        self.window.arrange(arrangement)
