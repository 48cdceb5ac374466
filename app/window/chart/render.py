"""A session's roofline as a picture, drawn by the same chart as the window's."""

from PySide6.QtWidgets import QApplication

from roofscope.app.presentation.tokens import Scheme
from roofscope.app.window.chart.roofline_chart import RooflineChart
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.theme import apply_theme
from roofscope.profiling.results.session import Session

_SIZE = (1280, 800)


def render_roofline_png(session: Session, scheme: Scheme = Scheme.LIGHT) -> bytes:
    """A PNG at twice the chart's size of 1280 x 800."""
    application = QApplication.instance() or QApplication(["roofscope"])
    assert isinstance(application, QApplication)
    theme = apply_theme(application, scheme)
    chart = RooflineChart(SessionModel(session), Selection(), theme)
    chart.resize(*_SIZE)
    return chart.png()
