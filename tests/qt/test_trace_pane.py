"""The trace pane on a recorded session: the way to Perfetto."""

import gzip
import http.client

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from pytestqt.qtbot import QtBot

from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session_reader import load_trace
from roofscope.tests.qt.conftest import OpenWindow

TOUR = ASSETS / "sessions" / "h200-tour.roofscope"


@pytest.mark.listens
def test_a_button_opens_a_page_that_gives_the_trace_of_the_point(
    open_window: OpenWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    application = open_window(TOUR)
    pane = application.panes.trace
    button = pane.perfetto_button
    traced = application.model.session.traces[0]
    point, other = (
        next(
            point.number
            for point in application.model.session.points
            if (application.model.trace_of(point) == traced) is wanted and point.measured
        )
        for wanted in (True, False)
    )
    application.selection.select(other)
    if application.model.trace_of(application.model.point(other)) is None:
        assert not button.isEnabled()
    application.selection.select(point)
    qtbot.waitUntil(button.isEnabled)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    [url] = opened
    connection = http.client.HTTPConnection(url.host(), url.port(), timeout=60)
    connection.request("POST", f"{url.path()}trace")
    content = connection.getresponse().read()
    connection.close()
    assert content == load_trace(TOUR, traced.number)
    assert b"traceEvents" in gzip.decompress(content)
