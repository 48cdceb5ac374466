"""The sweep on the clipboard and in files; drawn in the background, because a picture takes a while."""

import copy

from msgspec import Struct
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.roofline.scene import Range
from roofscope.app.presentation.sweep.scene import SweepOptions, build_sweep
from roofscope.app.presentation.sweep.svg import SIZE_OF_PICTURE, sweep_svg
from roofscope.app.presentation.sweep.table import csv_table, sweep_table
from roofscope.app.presentation.table_text import tab_separated
from roofscope.app.window.background import Background
from roofscope.app.window.chart.files import png_bytes
from roofscope.app.window.picture_files import PictureFiles
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


class SweepFiles(PictureFiles):
    def __init__(self, parent: QWidget, background: Background) -> None:
        super().__init__(parent, background, "sweep", _KINDS, _SUFFIXES)

    def copy(self, picture: SweepPicture) -> None:
        kept = picture.kept()

        def draw() -> tuple[QImage, bytes, str, str]:
            image = kept.image()
            table = sweep_table(build_sweep(kept.session, kept.options))
            return image, png_bytes(image), kept.svg(), tab_separated(table) if table else ""

        self._background.ask(draw, lambda found: self._put(*found))

    def _put(self, image: QImage, png: bytes, svg: str, table: str) -> None:
        content = QMimeData()
        content.setImageData(image)
        content.setData("image/png", png)
        content.setData("image/svg+xml", svg.encode())
        content.setText(table)
        QGuiApplication.clipboard().setMimeData(content)
        self.done.emit("The sweep is on the clipboard.")
