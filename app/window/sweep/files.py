"""The sweep on the clipboard and in files; drawn in the background, because a picture takes a while."""

import copy
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QWidget

from roofscope.app.presentation.files import ending_of, why_misnamed, why_unwritable, write_file
from roofscope.app.presentation.roofline.scene import Range
from roofscope.app.presentation.sweep.scene import SweepOptions, build_sweep
from roofscope.app.presentation.sweep.svg import SIZE_OF_PICTURE, sweep_svg
from roofscope.app.presentation.sweep.table import csv_table, sweep_table
from roofscope.app.presentation.table_text import tab_separated
from roofscope.app.window.background import Background
from roofscope.app.window.chart.files import png_bytes
from roofscope.app.window.svg_image import svg_image
from roofscope.profiling.results.session import Session

_KINDS = "Picture as SVG (*.svg);;Picture as PNG (*.png);;Table as CSV (*.csv)"
_SUFFIXES = (".svg", ".png", ".csv")


class SweepPicture(Struct, frozen=True):
    """A view of a session; ``ranges`` None is the whole sweep."""

    session: Session
    options: SweepOptions
    is_dark: bool
    ranges: tuple[Range, Range] | None

    def kept(self) -> "SweepPicture":
        """The same of the session as it is now, for a thread of its own."""
        return SweepPicture(copy.copy(self.session), self.options, self.is_dark, self.ranges)

    def svg(self) -> str:
        return sweep_svg(self.session, self.options, dark=self.is_dark, ranges=self.ranges)

    def image(self) -> QImage:
        return svg_image(self.svg(), SIZE_OF_PICTURE)

    def content(self, suffix: str) -> bytes:
        if suffix == ".png":
            return png_bytes(self.image())
        if suffix == ".csv":
            return csv_table(build_sweep(self.session, self.options)).encode()
        return self.svg().encode()


class SweepFiles(QObject):
    failed = Signal(str)
    done = Signal(str)

    def __init__(self, parent: QWidget, background: Background) -> None:
        super().__init__(parent)
        self._window = parent
        self._background = background

    def copy(self, picture: SweepPicture) -> None:
        kept = picture.kept()

        def draw() -> tuple[QImage, bytes, str, str]:
            image = kept.image()
            table = sweep_table(build_sweep(kept.session, kept.options))
            return image, png_bytes(image), kept.svg(), tab_separated(table) if table else ""

        self._background.ask(draw, lambda found: self._put(*found))

    def ask(self, picture: SweepPicture) -> None:
        """Ask where to write it."""
        dialog = QFileDialog(self._window, "Export sweep", "", _KINDS)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("svg")
        dialog.filterSelected.connect(
            lambda kind: dialog.setDefaultSuffix(kind.partition("*.")[2].rstrip(")"))
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: self.write(picture, Path(name)))
        dialog.open()

    def write(self, picture: SweepPicture, path: Path) -> None:
        if why := why_misnamed(path, _SUFFIXES):
            self.failed.emit(why)
            return
        suffix = ending_of(path, _SUFFIXES)
        kept = picture.kept()

        def write() -> str:
            try:
                write_file(path, kept.content(suffix), may_wait=False)
            except (OSError, ValueError) as error:
                return f"The sweep {why_unwritable(path, error)}"
            return ""

        def written(problem: str) -> None:
            (self.failed if problem else self.done).emit(problem or f"Sweep written to {path}")

        self._background.ask(write, written)

    def _put(self, image: QImage, png: bytes, svg: str, table: str) -> None:
        content = QMimeData()
        content.setImageData(image)
        content.setData("image/png", png)
        content.setData("image/svg+xml", svg.encode())
        content.setText(table)
        QGuiApplication.clipboard().setMimeData(content)
        self.done.emit("The sweep is on the clipboard.")
