"""Asks for files: open, save as, export. Never blocks the window."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QToolButton, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.settings import Settings
from roofscope.app.window.widgets.icons import icon
from roofscope.app.window.widgets.save_dialog import save_as
from roofscope.profiling.paths import SUFFIX

_SESSIONS = f"Roofscope sessions (*{SUFFIX})"
_SOURCES = "Kernels in Python, CUDA or C++ (*.py *.cu *.cuh *.cpp *.cc)"
_TRACES = "Profiler traces (*.json *.json.gz *.zip)"
_REPORTS = "Reports of Nsight Compute (*.ncu-rep *.ncu-repz)"
_EXPORTS = ";;".join(
    (
        "Chart as PNG (*.png)",
        "Chart as SVG (*.svg)",
        "Results as CSV (*.csv)",
        "Results and ceilings as JSON (*.json)",
    )
)

# Qt's own buttons have dark icons on every theme: theirs by the names that Qt gives them.
_ICONS = {
    "backButton": "arrow-left",
    "forwardButton": "arrow-right",
    "toParentButton": "arrow-up",
    "newFolderButton": "folder-plus",
    "listModeButton": "list",
    "detailModeButton": "rows",
}


class FileDialogs:
    """Starts each dialog in the folder of the last one."""

    def __init__(self, window: QWidget, settings: Settings, theme: Callable[[], Theme]) -> None:
        self._window = window
        self._theme = theme
        self._settings = settings

    def ask_open(self, deliver: Callable[[Path], object]) -> None:
        self._ask_file("Open session", _SESSIONS, deliver)

    def ask_kernel(self, deliver: Callable[[Path], object]) -> None:
        self._ask_file("Open kernel", _SOURCES, deliver)

    def ask_trace(self, deliver: Callable[[Path], object]) -> None:
        self._ask_file("Open profiler trace", _TRACES, deliver)

    def ask_counters(self, deliver: Callable[[Path], object]) -> None:
        self._ask_file("Counters from a report", _REPORTS, deliver)

    def ask_folder(self, deliver: Callable[[Path], object]) -> None:
        dialog = self._dialog("Add a folder of kernels", "", deliver)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.open()

    def ask_save(self, name: str, deliver: Callable[[Path], object]) -> None:
        dialog = self._dialog("Save session as", _SESSIONS, deliver)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(SUFFIX[1:])
        dialog.selectFile(name)
        dialog.open()

    def ask_export(self, stem: str, deliver: Callable[[Path], object]) -> None:
        dialog = self._dialog("Export", _EXPORTS, deliver)
        save_as(dialog, _EXPORTS)
        dialog.selectFile(stem)
        dialog.open()

    def ask_report(self, stem: str, deliver: Callable[[Path], object]) -> None:
        dialog = self._dialog("Report", "Web page (*.html)", deliver)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("html")
        dialog.selectFile(stem)
        dialog.open()

    def _ask_file(self, title: str, kinds: str, deliver: Callable[[Path], object]) -> None:
        """For one that is there."""
        dialog = self._dialog(title, f"{kinds};;All files (*)", deliver)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.open()

    def _dialog(self, title: str, kinds: str, deliver: Callable[[Path], object]) -> QFileDialog:
        dialog = QFileDialog(self._window, title, str(self._settings.folder), kinds)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for name, file in _ICONS.items():
            if button := dialog.findChild(QToolButton, name):  # there is none in a desktop's own dialog
                button.setIcon(icon(file, self._theme()))

        def chosen(name: str) -> None:
            path = Path(name)
            self._settings.folder = path.parent
            deliver(path)

        dialog.fileSelected.connect(chosen)
        return dialog
