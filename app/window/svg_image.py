"""An SVG of ours as an image: every file of one view shows the same."""

import math

from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from roofscope.app.window.chart.files import png_bytes

_DOTS_PER_METRE = 96 / 0.0254


def svg_image(svg: str, size: tuple[int, int], scale: float = 2.0) -> QImage:
    """Drawn at ``scale`` times its size in pixels."""
    drawing = QSvgRenderer(svg.encode())  # before a painter is at work, which no exception may meet
    width, height = (math.ceil(side * scale) for side in size)
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.setDotsPerMeterX(round(_DOTS_PER_METRE * scale))
    image.setDotsPerMeterY(round(_DOTS_PER_METRE * scale))
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    drawing.render(painter)
    painter.end()
    return image


def render_png(svg: str, size: tuple[int, int], scale: float = 2.0) -> bytes:
    """For the command line, which has no application yet."""
    application = QApplication.instance() or QApplication(["roofscope"])
    assert isinstance(application, QApplication)
    return png_bytes(svg_image(svg, size, scale))
