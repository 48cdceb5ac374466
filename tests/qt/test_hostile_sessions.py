"""The window over sessions that no machine recorded: it paints what it can and goes on."""

from collections.abc import Iterator

import msgspec
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.tokens import LIGHT
from roofscope.app.window.chart.render import render_roofline_png
from roofscope.app.window.panes.call_histogram import CallHistogram
from roofscope.app.window.panes.framed_plot import FramedPlot
from roofscope.app.window.panes.sample_strip import SampleStrip
from roofscope.app.window.widgets.labels import label, placeholder, tip_text
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Measured, TimeStats
from roofscope.profiling.results.session import Session
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.sessions import make_session


def with_outcome(outcome: Measured) -> Session:
    session = make_session()
    session.points = (msgspec.structs.replace(session.points[0], outcome=outcome), *session.points[1:])
    return session


def measured() -> Measured:
    outcome = make_session().points[0].outcome
    assert isinstance(outcome, Measured)
    return outcome


def test_no_samples_are_no_strip(qtbot: QtBot) -> None:
    strip = SampleStrip(LIGHT)
    qtbot.addWidget(strip)
    strip.show_time(TimeStats(1e-3, None, None, (), 1), Provider.CUDA)
    assert not strip.isVisible()
    assert not strip.grab().isNull()


def test_calls_that_all_but_agree_are_painted(qtbot: QtBot) -> None:
    histogram = CallHistogram(LIGHT)
    qtbot.addWidget(histogram)
    calls = (1e-3, 1e-3 * (1 + 2e-16), 1e-3)
    histogram.show_calls(msgspec.structs.replace(measured(), calls_s=calls), Provider.CUDA)
    with qtbot.captureExceptions() as raised:
        histogram.resize(200, 90)
        assert not histogram.grab().isNull()
    assert raised == []


class Failing(FramedPlot):
    """A painting that fails half way."""

    def paintEvent(self, event: object) -> None:
        with self._painting():
            raise ZeroDivisionError


def test_an_exception_in_a_painting_ends_no_program(qtbot: QtBot) -> None:
    widget = Failing("Failing", LIGHT)
    qtbot.addWidget(widget)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            widget.grab()


@pytest.mark.parametrize("created_at", ["", "x", "\x1b", "\u202e" * 5000])
def test_a_date_that_is_none_makes_a_picture(qtbot: QtBot, created_at: str) -> None:
    session = make_session()
    session.created_at = created_at
    assert not QImage.fromData(render_roofline_png(session)).isNull()


def test_a_picture_that_cannot_be_made_is_an_exception(qtbot: QtBot) -> None:
    """And no segmentation fault, as where the painter was open by then."""
    session = make_session()
    session.created_at = None  # type: ignore[assignment]
    with pytest.raises(TypeError):
        render_roofline_png(session)


def test_no_text_is_taken_for_html(qtbot: QtBot, open_window: OpenWindow) -> None:
    evil = "<img src='file:///etc/hostname'><b>x</b>"
    assert "<img" not in tip_text(evil)
    assert tip_text("a plain tip") == "a plain tip"
    application = open_window()
    session = make_session()
    implementation = msgspec.structs.replace(session.points[0].implementation, variant=evil)
    session.points = (msgspec.structs.replace(session.points[0], implementation=implementation),)
    application.model.replace(session)
    application.selection.select(session.points[0].number)
    table = application.table
    tips = [str(table.data(table.index(0, column), 3)) for column in range(table.columnCount())]
    tips += [widget.toolTip() for widget in application.window.findChildren(QWidget)]
    assert not [tip for tip in tips if "<img" in tip]
    loose = [found for found in _labels(application.window) if "<img" in found.text()]
    assert all(found.textFormat() is label().textFormat() for found in loose)
    QToolTip.hideText()


def _labels(window: QWidget) -> Iterator[QLabel]:
    yield from window.findChildren(QLabel)


def test_a_word_without_end_in_an_empty_pane_widens_no_window(qtbot: QtBot) -> None:
    made = placeholder("x" * 20_000)
    qtbot.addWidget(made)
    holder = QWidget()
    qtbot.addWidget(holder)
    QVBoxLayout(holder).addWidget(made)
    holder.ensurePolished()
    assert holder.minimumSizeHint().width() < 300
    assert holder.minimumSizeHint().height() < 300
