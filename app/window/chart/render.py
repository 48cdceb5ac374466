"""A session's roofline as a picture: that of the window, without one."""

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from roofscope.app.presentation.roofline.scene import ChartOptions
from roofscope.app.window.chart.files import ChartPicture, png_bytes
from roofscope.profiling.results.session import Session

_SIZE = (1280, 800)
_SCALE = 2.0


def render_roofline_png(
    session: Session,
    options: ChartOptions = ChartOptions(),  # noqa: B008 - frozen
    *,
    dark: bool = False,
) -> bytes:
    """A PNG at twice the chart's size of 1280 x 800."""
    application = QGuiApplication.instance() or QApplication(["roofscope"])
    assert isinstance(application, QGuiApplication)  # what renders text needs one, and it must not go away
    return png_bytes(ChartPicture(session, options, dark, _SIZE, None).image(_SCALE))
