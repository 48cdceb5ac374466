"""Commands that show something and change nothing measured: palette, settings, doctor, sheets, lists."""

from collections.abc import Callable, Mapping
from typing import Protocol

from PySide6.QtCore import QObject

from roofscope.app.window.background import Background
from roofscope.app.window.commands import CommandId
from roofscope.app.window.controller import Controller
from roofscope.app.window.device_source import DeviceSource
from roofscope.app.window.folder_commands import FolderCommands
from roofscope.app.window.palette_entries import entries
from roofscope.app.window.panes.proof import ProofPane
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.settings_rows import setting_rows
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.app.window.shell.about_dialog import AboutDialog
from roofscope.app.window.shell.device_dialog import DeviceDialog
from roofscope.app.window.shell.doctor_dialog import DoctorDialog
from roofscope.app.window.shell.main_window import MainWindow, Panes
from roofscope.app.window.shell.notices_dialog import NoticesDialog
from roofscope.app.window.shell.palette import Palette
from roofscope.app.window.shell.projection_dialog import ProjectionDialog
from roofscope.app.window.shell.settings_dialog import SettingsDialog
from roofscope.app.window.shell.shortcuts_dialog import ShortcutsDialog
from roofscope.app.window.text_size import TextSize
from roofscope.app.window.theme import ThemeSwitch
from roofscope.profiling.devices.device import Device
from roofscope.profiling.doctor import examine


class HelpParts(Protocol):
    settings: Settings
    background: Background
    folder_commands: FolderCommands
    model: SessionModel
    selection: Selection
    theme_switch: ThemeSwitch
    text_size: TextSize
    controller: Controller
    window: MainWindow
    panes: Panes
    shared_gpu: SharedGpu

    @property
    def source(self) -> DeviceSource: ...


class HelpCommands(QObject):
    def __init__(self, parts: HelpParts, why_not: Callable[[CommandId], str]) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self._why_not = why_not
        parts.controller.patience = parts.settings.habits.patience
        parts.panes.strip.clicked.connect(self._show_sheet)

    @property
    def handlers(self) -> Mapping[CommandId, Callable[[], object]]:
        window = self._parts.window
        return {
            CommandId.PALETTE: self.show_palette,
            CommandId.SETTINGS: self._show_settings,
            CommandId.MESSAGES: lambda: NoticesDialog(self._parts.panes.cards.board, window).show(),
            CommandId.LESSON: self._show_lesson,
            CommandId.PROJECT: self._project,
            CommandId.DOCTOR: self._show_doctor,
            CommandId.DEVICE_SHEET: self._show_sheet,
            CommandId.SHORTCUTS: lambda: ShortcutsDialog(window).show(),
            CommandId.ABOUT: lambda: AboutDialog(window).show(),
        }

    def _show_lesson(self) -> None:
        self._parts.window.show_pane("Lesson")
        self._parts.window.focus_pane("Lesson")

    def show_palette(self) -> None:
        parts = self._parts
        theme = parts.theme_switch.theme
        palette = Palette(entries(parts, self._why_not), theme, parts.window)
        palette.open()
        palette.search.setFocus()

    def _show_settings(self) -> None:
        parts = self._parts
        SettingsDialog(setting_rows(parts), parts.settings.path, parts.window).show()

    def _project(self) -> None:
        parts = self._parts
        there = (one for one in parts.window.findChildren(ProjectionDialog) if one.isVisible())
        dialog = next(there, None) or ProjectionDialog(parts.model, parts.selection, parts.window)
        dialog.show()
        dialog.activateWindow()

    def _show_doctor(self) -> None:
        parts = self._parts
        theme = parts.theme_switch.theme
        proofs = ProofPane(
            parts.model, parts.controller, parts.panes.plan_bar.device(), theme, parts.shared_gpu.ask
        )
        dialog = DoctorDialog(theme, proofs, parts.window)
        dialog.show()
        parts.background.ask(examine, dialog.show_checks)

    def _show_sheet(self) -> None:
        device = self._parts.panes.plan_bar.device()
        if device is None:
            self._parts.window.say("Still looking for devices; try again in a moment.")
            return
        state = self._parts.source.state(device)
        known = self._as_measured(device)
        ceilings = self._parts.controller.keeper.known_ceilings(device)
        DeviceDialog(known, state, ceilings, self._parts.window).show()

    def _as_measured(self, device: Device) -> Device:
        """As a worker saw it, which knows more than the driver tells a window: the size of the cache."""
        seen = self._parts.model.session.devices
        found = next((one for one in seen if one.uuid == device.uuid), None)
        return found if found and found.last_level_cache_bytes else device
