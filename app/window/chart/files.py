"""The chart as a picture that stands for itself: title, legend, hardware and versions included.

PNG is drawn from the SVG, so that every file of one view shows the same.
"""

import math

from msgspec import Struct
from PySide6.QtCore import QBuffer, QIODevice, QMimeData
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
        drawing = QSvgRenderer(
            self.svg().encode()
        )  # before a painter is at work, which no exception may meet
        width, height = (math.ceil(side * scale) for side in self.size)
        image = QImage(width, height, QImage.Format.Format_RGB32)
        image.setDotsPerMeterX(round(_DOTS_PER_METRE * scale))
        image.setDotsPerMeterY(round(_DOTS_PER_METRE * scale))
        painter = QPainter(image)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
        drawing.render(painter)
        painter.end()
        return image


def png_bytes(image: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload] - the stub lacks QIODevice
    return bytes(buffer.data().data())


def copy_chart(picture: ChartPicture, scale: float = 2.0) -> None:
    """Put PNG, SVG and CSV on the clipboard; the program that pastes takes the kind it knows."""
    image = picture.image(scale)
    content = QMimeData()
    content.setImageData(image)
    content.setData("image/png", png_bytes(image))
    content.setData("image/svg+xml", picture.svg().encode())
    content.setData("text/csv", csv_report(picture.session).encode())
    QGuiApplication.clipboard().setMimeData(content)
