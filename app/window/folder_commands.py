"""What the window does about folders of kernels: shows them, asks whether to trust one, takes it in."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from roofscope.app.window.background import Background
from roofscope.app.window.controller import Controller
from roofscope.app.window.kernel_folders import FolderState, KernelFolders, not_used_text
from roofscope.app.window.shell.file_dialogs import FileDialogs
from roofscope.app.window.shell.kernel_folders_dialog import KernelFoldersDialog, TrustDialog
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.kernel_files import FileFault, printable
from roofscope.profiling.planning.survey import Survey, survey
from roofscope.profiling.planning.trust import TrustError


class FolderCommands(QObject):
    noticed = Signal(str)  # one sentence
    looked = Signal()  # the kernels are as they are on disk: what was said of them is out of date

    def __init__(
        self,
        window: QWidget,
        folders: KernelFolders,
        controller: Controller,
        background: Background,
        dialogs: FileDialogs,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._folders = folders
        self._controller = controller
        self._background = background
        self._dialogs = dialogs
        self._shown: KernelFoldersDialog | None = None
        self._asked = 0  # how often; an answer to an earlier question is void
        self._is_late = False  # an answer came during a run
        controller.running_changed.connect(self._take_up)

    def start(self) -> None:
        """Take in all kernels, while the window is there already: a disk may be slow."""
        self._refresh(tells=True)

    def show(self) -> None:
        dialog = KernelFoldersDialog(self._window)
        dialog.add_asked.connect(lambda: self._dialogs.ask_folder(self.look_at))
        dialog.trust_asked.connect(self.ask)
        dialog.removed.connect(self.remove)
        dialog.destroyed.connect(self._forget_dialog)
        self._shown = dialog
        self._show_states()
        dialog.show()

    def look_at(self, folder: Path) -> None:
        """Ask whether to trust a folder that the user chose."""

        def question() -> Survey | str:
            try:
                return survey(folder)
            except FileFault as error:
                return f"{printable(folder)} cannot be read: {error}."

        self._background.ask(question, self._looked_at)

    def ask(self, found: Survey) -> None:
        dialog = TrustDialog(found, self._shown or self._window)
        dialog.trusted.connect(self.trust)
        dialog.open()

    def trust(self, found: Survey) -> None:
        try:
            self._folders.trust(found)
        except TrustError as error:
            self.noticed.emit(str(error))
        else:
            self._refresh()

    def remove(self, folder: Path) -> None:
        self._folders.remove(folder)
        self._refresh()

    def _looked_at(self, found: Survey | str) -> None:
        if isinstance(found, str):
            self.noticed.emit(found)
        elif not found.kernels:
            self.noticed.emit(
                f"{printable(found.folder)} holds no kernel; a kernel is a folder with a spec.py."
            )
        else:
            self.ask(found)

    def _refresh(self, *, tells: bool = False) -> None:
        """Look at the folders again, and take what may run now."""
        recorded, known = self._folders.recorded, self._controller.catalog
        self._asked += 1
        number = self._asked

        def question() -> tuple[tuple[FolderState, ...], Catalog]:
            return self._folders.looked(recorded, known)

        def take(answer: tuple[tuple[FolderState, ...], Catalog]) -> None:
            if number != self._asked:  # asked again since, of other folders
                return
            if self._controller.is_running or self._controller.catalog is not known:
                self._is_late = True
                self._take_up()
                return
            self._folders.states, catalog = answer
            self._controller.take_catalog(catalog)
            self.looked.emit()
            self._show_states()
            for state in self._folders.states if tells else ():
                if state.why_not:
                    self.noticed.emit(not_used_text(state))

        self._background.ask(question, take)

    def _take_up(self) -> None:
        """A run goes on with the kernels that it began with; what came meanwhile is looked at after it."""
        if self._is_late and not self._controller.is_running:
            self._is_late = False
            self._refresh()

    def _show_states(self) -> None:
        if self._shown:
            self._shown.show_folders(self._folders.states)

    def _forget_dialog(self) -> None:
        self._shown = None
