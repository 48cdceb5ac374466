"""The composition root: the only place that builds the window's objects and joins them."""

import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from roofscope.app.presentation.counters import COUNTERS
from roofscope.app.presentation.roofline.caption import device_text
from roofscope.app.presentation.timeline.source import is_trace_file
from roofscope.app.presentation.tuning import TUNING
from roofscope.app.window.activity_log import ActivityLog
from roofscope.app.window.availability import Availability
from roofscope.app.window.background import Background
from roofscope.app.window.chart.roofline_chart import RooflineChart
from roofscope.app.window.collecting import Collector, set_aside
from roofscope.app.window.commands import Actions, CommandId
from roofscope.app.window.controller import Controller
from roofscope.app.window.counting import Counting
from roofscope.app.window.debugging import Debugging
from roofscope.app.window.device_source import DeviceSource
from roofscope.app.window.editor import open_in_editor
from roofscope.app.window.fleet_link import FleetLink
from roofscope.app.window.folder_commands import FolderCommands
from roofscope.app.window.kernel_folders import KernelFolders
from roofscope.app.window.live_edit import LiveEdit
from roofscope.app.window.notices import Topic
from roofscope.app.window.opening import Opening
from roofscope.app.window.own_files import OwnFiles, is_source
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
from roofscope.app.window.plan_watch import PlanWatch
from roofscope.app.window.recorded import RecordedSessions
from roofscope.app.window.runtime_folder import give_qt_a_runtime_folder
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_keeper import SessionKeeper
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.app.window.shell.docks import Layout
from roofscope.app.window.shell.file_dialogs import FileDialogs
from roofscope.app.window.shell.main_window import MainWindow, Panes, first_size
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.tables.library_model import LibraryModel
from roofscope.app.window.tables.point_table import PointTable
from roofscope.app.window.text_size import TextSize, enlarged
from roofscope.app.window.theme import ThemeSwitch
from roofscope.app.window.variants import Variants
from roofscope.app.window.window_commands import WindowCommands
from roofscope.app.window.worker_link import WorkerLink
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.devices.discovery import LocalDevices, default_device
from roofscope.profiling.paths import UserPaths, is_file
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.planning.trust import Trust
from roofscope.profiling.results.session import Point, Session, timestamp
from roofscope.profiling.results.session_reader import SessionError
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.fleet import members_of
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

_PRESENTED = 1.5  # how much larger the chart's text is when it is presented


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
        self._collector = Collector(self)
        self._paths = paths
        self.source = self._source = source
        self.availability = Availability()
        self.settings = Settings(paths.settings)
        self.background = Background(self)
        self.model = SessionModel(Session(paths.sessions / "none.roofscope", timestamp()), self)
        self.selection = Selection(self)
        self.text_size = TextSize(app, self.settings.text_percent)
        self.theme_switch = ThemeSwitch(app, self.settings.scheme)
        self.folders = KernelFolders(self.settings, Trust(paths.trusted), self.background, kernel_roots)
        catalog = Catalog((), (), "")  # the kernels come when the window is there
        self.library = LibraryModel(catalog, self)
        self.table = PointTable(self.model, self)
        self.shown = ShownPoints(self.model, self, self.table.text_of, self.table.numbers_kept)
        self.table.texts_known.connect(self.shown.read_again)
        self.table.filled.connect(set_aside)
        self.log = ActivityLog(self)
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
        self.panes.results.share_filter(self.shown)
        self.panes.library.share_filter(self.shown, self.model)
        self.window.place(self.panes)
        self.watch = PlanWatch(
            self.library,
            self.panes.plan_bar,
            self.window.actions_of[CommandId.RUN],
            lambda: self.controller.is_running,
            keeper.why_new,
            self,
        )
        dialogs = FileDialogs(self.window, self.settings, lambda: self.theme_switch.theme)
        self.folder_commands = FolderCommands(
            self.window, self.folders, self.controller, self.background, dialogs
        )
        self.own_files = OwnFiles(self.window, self.folder_commands, self.background, self.library, dialogs)
        self.shared_gpu = SharedGpu(
            source,
            self.background,
            lambda: (self.link.worker_pid, *self.fleet.worker_pids),
            self.controller.renew_workers,
            self.window,
        )
        self.debugging = Debugging(self, self)
        self.counting = Counting(self, self)
        self.opening = Opening(self.background, source.find, self)
        self.commands = WindowCommands(self, dialogs, paths.example)
        self.live_edit = LiveEdit(
            self.window.actions_of[CommandId.LIVE],
            self.settings,
            self.controller,
            self.folders,
            self.model,
            self.selection,
            self.panes.plan_bar,
            self.shared_gpu,
            self,
        )
        self.variants = Variants(
            self.controller,
            self.model,
            self.selection,
            lambda: self.panes.plan_bar.devices,
            self.shared_gpu,
            self,
        )
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
        self.settings.on_problem = self._notice
        recent = [path for path in self.settings.recent_sessions if is_file(path)]
        example = [self._paths.example] if is_file(self._paths.example) else []
        last = recent[:1] if self.settings.habits.reopens_last else []
        for trace in filter(is_trace_file, files):
            self.open_trace(trace)
        candidates = [Path(file) for file in files if not is_trace_file(file)] or [*last, *example][:1]
        self.panes.chart.hide()  # a calm frame, rather than a chart that says it is empty
        self.opening.start(candidates[0] if candidates else None)

    def close(self) -> None:
        """End the worker, close the file, remember the window. Called when the window closes."""
        self.panes.strip.stop()
        self.live_edit.end()
        self.debugging.stop()
        self.counting.stop()
        self.settings.save_layout(self.window.saveGeometry(), self.window.arrangement)
        self.settings.panes = self.window.layout_to_keep
        self.settings.details = self.window.details.wish
        self.controller.close()
        self.folders.give_up()
        self.background.finish()
        self._source.close()
        self._collector.end()

    def _notice(self, text: str) -> None:
        self.panes.cards.notice(text)

    def _make_panes(self, actions: Actions) -> Panes:
        theme = self.theme_switch.theme
        model, table, selection = self.model, self.table, self.selection
        return Panes(
            plan_bar=PlanBar(
                actions[CommandId.RUN],
                actions[CommandId.STOP],
                actions[CommandId.MORE_TIME],
                actions[CommandId.KEEP_CODE],
                actions[CommandId.LIVE],
            ),
            cards=CardColumn(theme),
            chart=RooflineChart(
                model, selection, theme, table.speed_up_of, self.shown, verdict_of=table.verdict_of
            ),
            library=LibraryPane(self.library, theme),
            results=ResultsPane(
                model,
                table,
                selection,
                (actions[CommandId.COPY], actions[CommandId.COPY_MARKDOWN]),
                theme,
                self.settings.columns,
            ),
            details=DetailPane(
                model,
                table,
                selection,
                (
                    actions[CommandId.TRACE],
                    actions[CommandId.PIN],
                    actions[CommandId.NOTE],
                    actions[CommandId.DEBUG],
                ),
                theme,
                RecordedSessions(self._paths.example.parent, self.background, self),
                of_sections={TUNING: actions[CommandId.TUNING], COUNTERS: actions[CommandId.COUNT]},
            ),
            compile_lab=CompileLabPane(model, selection, theme),
            tuning=TuningPane(model, selection, theme),
            trace=TracePane(model, selection, self.background, actions[CommandId.TRACE], theme),
            debug=DebugPane(actions[CommandId.DEBUG], theme),
            source=SourcePane(model, selection, self.background, self._own_files, theme),
            lesson=LessonPane(model, selection, self.background, theme),
            compare=ComparePane(model, selection, actions[CommandId.COMPARE], theme),
            sweep=SweepPane(model, selection, self.background, theme, self.shown, table.speed_up_of),
            parameters=ParametersPane(model, selection, self.background, theme, self._declared_now),
            strip=DeviceStrip(self._source),
            log=LogPane(self.log),
        )

    def _join(self) -> None:
        panes, controller = self.panes, self.controller
        panes.chart.ask = self.background.ask
        self.log.listen(self)
        panes.cards.board.added.connect(self.log.add_notice)
        controller.noticed.connect(panes.cards.notice)
        controller.said.connect(self.window.say)
        self.live_edit.said.connect(self.window.say)
        self.live_edit.noticed.connect(panes.cards.notice)
        controller.progressed.connect(panes.plan_bar.show_progress)
        controller.awaited.connect(panes.plan_bar.show_awaited)
        controller.worker_lost.connect(panes.cards.worker_lost)
        controller.catalog_changed.connect(self.library.set_catalog)
        controller.catalog_changed.connect(panes.lesson.set_catalog)
        controller.refused.connect(self._tell_reasons)
        self.shared_gpu.noticed.connect(lambda text: panes.cards.notice(text, Topic.RUN))
        panes.cards.restart_asked.connect(self.commands.restart)
        panes.results.columns_changed.connect(self.settings.keep_columns)
        panes.results.trace_asked.connect(self.commands.points.show_trace)
        panes.cards.measure_asked.connect(self.commands.measure_here)
        panes.plan_bar.device_changed.connect(self._device_chosen)
        panes.plan_bar.architecture_changed.connect(self._tell_reasons)
        self.window.painted.connect(self.opening.begin)
        self.opening.session_loaded.connect(self._open_first)
        self.opening.kernels_wanted.connect(self.folder_commands.start)
        self.opening.devices_found.connect(self._devices_found)
        self.folder_commands.looked.connect(self.opening.take_kernels)
        self.folder_commands.noticed.connect(lambda text: panes.cards.notice(text, Topic.FOLDERS))
        self.background.failed.connect(panes.cards.notice)
        self.own_files.noticed.connect(lambda text: panes.cards.notice(text, Topic.FOLDERS))
        self.window.file_dropped.connect(self._open_dropped)
        self.window.file_dropped_to_compare.connect(self.commands.compare_with)
        self.window.closing.connect(self.close)
        self.selection.changed.connect(self._follow_selection)
        self.model.points_changed.connect(self._deselect_what_is_gone)
        self.theme_switch.changed.connect(self._restyle)
        self.text_size.changed.connect(self._text_resized)
        self.window.layout_chosen.connect(self._layout_chosen)
        controller.session_changed.connect(self._tell_device)
        self.model.environment_changed.connect(self._tell_device)
        self.model.replaced.connect(set_aside)
        panes.chart.gathered.connect(set_aside)
        self._join_panes()
        self._join_parameters()
        self._restyle()
        self._tell_reasons()

    def _open_dropped(self, path: Path) -> None:
        """Each kind of file where it belongs, by its name."""
        if is_source(path):
            self.own_files.open(path)
        elif is_trace_file(path):
            self.open_trace(path)
        else:
            self.commands.sessions.open(path)

    def open_trace(self, path: Path) -> None:
        self.panes.trace.open_file(path)
        self.window.show_pane("Trace")

    def _join_panes(self) -> None:
        panes = self.panes
        panes.trace.failed.connect(lambda text: panes.cards.notice(text, Topic.FILE))
        panes.details.set_open(self.settings.open_facts)
        panes.details.folds_changed.connect(self._remember_folds)
        panes.trace.exported.connect(self.window.say)
        panes.trace.height_wanted.connect(lambda pixels: self.window.give_height("Trace", pixels))
        panes.trace.marking.marked.connect(self.commands.points.mark)
        panes.source.open_asked.connect(open_in_editor)
        panes.lesson.problem.connect(lambda text: panes.cards.notice(text, Topic.FOLDERS))
        panes.sweep.noticed.connect(panes.cards.notice)
        panes.sweep.said.connect(self.window.say)

    def _join_parameters(self) -> None:
        pane = self.panes.parameters
        pane.noticed.connect(self.panes.cards.notice)
        pane.said.connect(self.window.say)
        pane.measure_wanted.connect(self.variants.measure)
        self.variants.said.connect(self.window.say)
        self.controller.running_changed.connect(pane.set_running)

    def _remember_folds(self, titles: tuple[str, ...]) -> None:
        self.settings.open_facts = titles

    def _restyle(self) -> None:
        theme = self.theme_switch.theme
        self.window.show_scheme(self.theme_switch.scheme)
        panes = self.panes
        first = (panes.chart, panes.library, panes.results, panes.details, panes.cards)
        more = (
            panes.trace,
            panes.lesson,
            panes.compare,
            panes.sweep,
            panes.parameters,
            panes.compile_lab,
            panes.tuning,
        )
        painters = (*first, panes.source, panes.debug, *more)
        self.window.style_with(theme, *(partial(pane.set_theme, theme) for pane in painters))

    def _text_resized(self, percent: int) -> None:
        self.settings.text_percent = percent
        self._suit_chart(self.window.layout_shown)
        self._restyle()

    def _layout_chosen(self, layout: Layout) -> None:
        """A presented chart is read from afar: its text is larger."""
        self._suit_chart(layout)
        self.panes.chart.set_theme(self.theme_switch.theme)

    def _suit_chart(self, layout: Layout) -> None:
        factor = _PRESENTED if layout is Layout.PRESENT else 1.0
        self.panes.chart.setFont(enlarged(QApplication.font(), factor))

    def _open_first(self, path: Path | None, loaded: Session | SessionError | None) -> None:
        if not (path and self.controller.open(path, loaded)):
            self.controller.new_session(None)
        self.panes.chart.show()
        self.panes.chart.setFocus()

    def _own_files(self, point: Point) -> tuple[Path, ...]:
        """Where the files of a point's implementation lie, if its kernel is among those of today."""
        kernel = self.controller.catalog.kernel(point.implementation.kernel)
        implementation = kernel.implementation(point.implementation.stem) if kernel else None
        paths = kernel.paths(implementation) if kernel and implementation else ()
        return tuple(path for path in paths if is_file(path))

    def _declared_now(self, implementation: Implementation) -> Implementation:
        """With the parameters that its file declares today, where it is among the kernels."""
        kernel = self.controller.catalog.kernel(implementation.kernel)
        return (kernel.implementation(implementation.stem) if kernel else None) or implementation

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
        bar = self.panes.plan_bar
        device, is_examined = bar.device(), bool(bar.architecture())
        self.library.set_reasons(
            lambda implementation: self.availability.reason(implementation, device, is_examined=is_examined)
        )

    def _restore_layout(self) -> None:
        screen = self.window.screen()
        if size := first_size(screen.availableGeometry()):
            self.window.resize(size)
        else:
            self.window.setWindowState(Qt.WindowState.WindowMaximized)
        geometry, arrangement = self.settings.layout
        self.window.restoreGeometry(geometry)
        self.window.details.wish = self.settings.details
        self.window.arrange(self.settings.panes, arrangement)

    def _deselect_what_is_gone(self) -> None:
        if self.selection.number is not None and self.model.point(self.selection.number) is None:
            self.selection.select(None)

    def _follow_selection(self, number: int | None) -> None:
        self.window.details.follow(number is not None, by_click=self.panes.chart.underMouse())
