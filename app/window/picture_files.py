"""A picture in a file, drawn in the background, because that takes a while."""

from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.files import ending_of, why_misnamed, why_unwritable, write_file
from roofscope.app.window.background import Background
from roofscope.app.window.widgets.save_dialog import ask_where


class Picture(Protocol):
    def kept(self) -> "Picture":
        """The same as it is now, for a thread of its own."""
        ...

    def content(self, suffix: str) -> bytes:
        """The file of this ending."""
        ...


class PictureFiles(QObject):
    """``name``: what is drawn, such as ``sweep``. ``kinds``: the dialog's, by ``suffixes``."""

    failed = Signal(str)
    done = Signal(str)

    def __init__(
        self, parent: QWidget, background: Background, name: str, kinds: str, suffixes: tuple[str, ...]
    ) -> None:
        super().__init__(parent)
        self._window = parent
        self._background = background
        self._name, self._kinds, self._suffixes = name, kinds, suffixes

    def ask(self, picture: Picture) -> None:
        """Ask where to write it."""
        ask_where(self._window, f"Export {self._name}", self._kinds, lambda path: self.write(picture, path))

    def write(self, picture: Picture, path: Path) -> None:
        if why := why_misnamed(path, self._suffixes):
            self.failed.emit(why)
            return
        suffix = ending_of(path, self._suffixes)
        kept = picture.kept()

        def write() -> str:
            try:
                write_file(path, kept.content(suffix), may_wait=False)
            except (OSError, ValueError) as error:
                return f"The {self._name} {why_unwritable(path, error)}"
            return ""

        def written(problem: str) -> None:
            said = problem or f"{self._name.capitalize()} written to {path}"
            (self.failed if problem else self.done).emit(said)

        self._background.ask(write, written)
