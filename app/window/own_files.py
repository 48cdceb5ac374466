"""What the window does with a file of the user's: asks for its form, keeps it, and takes its kernel in."""

from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from roofscope.app.window.background import Background
from roofscope.app.window.folder_commands import FolderCommands
from roofscope.app.window.shell.file_dialogs import FileDialogs
from roofscope.app.window.shell.open_kernel_dialog import OpenKernelDialog
from roofscope.app.window.tables.library_model import LibraryModel
from roofscope.profiling.planning.kernel_files import FileFault, printable
from roofscope.profiling.planning.one_file.complete import complete, keep, path_for
from roofscope.profiling.planning.one_file.draft import Asked, all_offers, draft, proposal
from roofscope.profiling.planning.one_file.form import SOURCES, FormFault, is_form
from roofscope.profiling.planning.one_file.offers import Offer
from roofscope.profiling.planning.one_file.parts import kernel_name, running_files, survey_form
from roofscope.profiling.planning.survey import Survey


class _Question(Struct, frozen=True):
    source: Path
    offers: tuple[Offer, ...]
    runs: tuple[str, ...]


def is_source(path: Path) -> bool:
    """Whether a file is one of code, and no session."""
    return path.suffix in SOURCES


class OwnFiles(QObject):
    noticed = Signal(str)  # one sentence

    def __init__(
        self,
        window: QWidget,
        folders: FolderCommands,
        background: Background,
        library: LibraryModel,
        dialogs: FileDialogs,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._folders = folders
        self._background = background
        self._dialogs = dialogs
        self._library = library
        self._awaited = ""  # a kernel that comes with the next catalog
        folders.looked.connect(self._choose)

    def ask(self) -> None:
        """For the file to open."""
        self._dialogs.ask_kernel(self.open)

    def open(self, path: Path) -> None:
        """A file that the user chose or dropped."""

        def question() -> Survey | _Question | str:
            try:
                source = path.resolve()
                form = source if is_form(source) else path_for(source, ())
                if form.exists():
                    return survey_form(form)
                runs = [file.name for file in running_files(source, "")]
                return _Question(source, all_offers(source), tuple(runs))
            except (FormFault, FileFault, OSError, RuntimeError, ValueError) as error:
                return f"{printable(path.name)} cannot be opened as a kernel: {error}."

        self._background.ask(question, self._asked)

    def _asked(self, found: Survey | _Question | str) -> None:
        match found:
            case str():
                self.noticed.emit(found)
            case Survey():
                self._awaited = kernel_name(found.folder)
                self._folders.ask(found)
            case _Question(source=source, offers=offers, runs=runs):
                dialog = OpenKernelDialog(
                    source, offers, lambda offer: proposal(source, offer), runs, self._window
                )
                dialog.asked.connect(lambda asked: self._make(dialog, asked))
                dialog.open()

    def _make(self, dialog: OpenKernelDialog, asked: Asked) -> None:
        """The reference runs in a process of its own, which takes some seconds to start."""
        self._background.ask(lambda: _made(asked), lambda found: self._take(dialog, found))

    def _take(self, dialog: OpenKernelDialog, found: Survey | str) -> None:
        if isinstance(found, str):
            dialog.show_fault(found)
            return
        dialog.accept()
        self._awaited = kernel_name(found.folder)
        self._folders.trust(found)  # the dialog has said what runs, and the user has said yes

    def _choose(self) -> None:
        """Tick what was opened, and nothing else: the next Run measures it."""
        if kernel := self._library.catalog.kernel(self._awaited):
            self._awaited = ""
            self._library.choose(kernel)


def _made(asked: Asked) -> Survey | str:
    try:
        form = path_for(asked.source, asked.names)
        keep(complete(draft(asked), asked.source.parent), form)
        return survey_form(form)
    except (FormFault, FileFault) as error:
        text = str(error)
        return f"{text[0].upper()}{text[1:]}."
