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

    def png(self, scale: float = 2.0) -> bytes:
        return png_bytes(self.image(scale))

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


class ChartCopy(Struct, frozen=True):
    """A picture in all the kinds that go on the clipboard."""

    image: QImage
    kinds: dict[str, bytes]  # by their names


def copy_of(picture: ChartPicture, scale: float = 2.0) -> ChartCopy:
    """Takes a third of a second, in whatever thread."""
    image = picture.image(scale)
    kinds = {
        "image/png": png_bytes(image),
        "image/svg+xml": picture.svg().encode(),
        "text/csv": csv_report(picture.session).encode(),
    }
    return ChartCopy(image, kinds)


def put_on_clipboard(copy: ChartCopy) -> None:
    """PNG, SVG and CSV; the program that pastes takes the kind it knows."""
    content = QMimeData()
    content.setImageData(copy.image)
    for kind, data in copy.kinds.items():
        content.setData(kind, data)
    QGuiApplication.clipboard().setMimeData(content)
