"""The chart as a picture that stands for itself: title, legend, hardware and versions included.

PNG is drawn from the SVG, so that every file of one view shows the same.
"""

import math
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QBuffer, QIODevice, QMimeData, QSaveFile
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from roofscope.app.presentation.roofline.scene import ChartOptions, Range
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.profiling.analysis.export import csv_report
from roofscope.profiling.results.session import Session

_DOTS_PER_METRE = 96 / 0.0254


class ChartPicture(Struct, frozen=True):
    """A view of a session; ``ranges`` None is the whole roofline."""

    session: Session
    options: ChartOptions
    dark: bool
    size: tuple[int, int]
    ranges: tuple[Range, Range] | None

    def svg(self) -> str:
        return roofline_svg(self.session, self.size, self.dark, self.options, self.ranges)

    def image(self, scale: float) -> QImage:
        width, height = (math.ceil(side * scale) for side in self.size)
        image = QImage(width, height, QImage.Format.Format_RGB32)
        image.setDotsPerMeterX(round(_DOTS_PER_METRE * scale))
        image.setDotsPerMeterY(round(_DOTS_PER_METRE * scale))
        painter = QPainter(image)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        QSvgRenderer(self.svg().encode()).render(painter)
        painter.end()
        return image


def write_png(picture: ChartPicture, path: Path, scale: float) -> None:
    """Write or replace the file as a whole. Raises OSError."""
    file = QSaveFile(str(path))
    if not (
        file.open(QIODevice.OpenModeFlag.WriteOnly)
        and picture.image(scale).save(file, "PNG")  # type: ignore[call-overload] - the stub lacks QIODevice
        and file.commit()
    ):
        raise OSError(file.errorString())


def copy_chart(picture: ChartPicture, scale: float = 2.0) -> None:
    """Put PNG, SVG and CSV on the clipboard; the program that pastes takes the kind it knows."""
    image = picture.image(scale)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload] - the stub lacks QIODevice
    content = QMimeData()
    content.setImageData(image)
    content.setData("image/png", buffer.data())
    content.setData("image/svg+xml", picture.svg().encode())
    content.setData("text/csv", csv_report(picture.session).encode())
    QGuiApplication.clipboard().setMimeData(content)
