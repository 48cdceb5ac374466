"""The targets that need Qt: settings, and one window that opens session after session."""

import os
import random
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

from roofscope.profiling.paths import UserPaths
from roofscope.profiling.results.session import Session
from roofscope.tests.fuzz.sessions import good_session, hostile_session
from roofscope.tests.fuzz.targets import TARGETS, Target, changed_json

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def all_targets() -> dict[str, Target]:
    """With those that need Qt, which is loaded when one of them is fed."""
    return {
        **TARGETS,
        "settings": Target(_settings, _feed_settings, 50_000),
        "window": Target(_clicked, _feed_window, 50_000),
        "png": Target(hostile_session, _feed_png, 50_000),
    }


@cache
def good_settings() -> bytes:
    from PySide6.QtCore import QByteArray

    from roofscope.app.window.settings import Settings

    path = Path(tempfile.mkdtemp(prefix="roofscope-fuzz-")) / "window.json"
    settings = Settings(path)
    settings.remember_session(Path("/a/b.roofscope"))
    settings.save_layout(QByteArray(bytes(range(200))), QByteArray(b"state" * 80))
    return path.read_bytes()


def _settings(chance: random.Random) -> bytes:
    return changed_json(good_settings(), chance)


def _feed_settings(data: bytes) -> str:
    from roofscope.app.window.settings import Settings

    path = _folder() / "window.json"
    path.write_bytes(data)
    settings = Settings(path)
    geometry, state = map(bytes, (each.data() for each in settings.layout))
    is_whole = (geometry, state) in ((b"", b""), (bytes(range(200)), b"state" * 80))
    _ = settings.scheme, settings.recent_sessions, settings.folder
    return "" if is_whole else "a changed layout reaches Qt"


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="roofscope-fuzz-"))


@cache
def _window() -> Any:
    """One window without devices, whose exceptions in slots and paintings are kept."""
    from PySide6.QtWidgets import QApplication

    from roofscope.app.window.application import build_window
    from roofscope.tests.qt.stand_ins import FakeDevices, FakeTarget

    folder = _folder()
    app = QApplication.instance() or QApplication(["roofscope"])
    assert isinstance(app, QApplication)
    paths = UserPaths(folder / "sessions", folder / "w.json", folder / "ceilings", folder / "assets")
    window = build_window(app, paths, source=FakeDevices(), target=FakeTarget())
    window.background.failed.connect(lambda text: _raised.append(BackgroundFailed(text)))
    window.start(())
    window.window.show()
    return window


class BackgroundFailed(Exception):
    """A question that a pane asked raised in its thread."""


_raised: list[BaseException] = []


_UNCHANGED = 3  # points of a session that are clicked although they are good ones


def _clicked(chance: random.Random) -> tuple[Session, tuple[int, ...]]:
    """Every point that was changed, and some others, of which other parts of the session may have changed."""
    session = hostile_session(chance)
    good = {id(point) for point in good_session().points}
    others = [point.number for point in session.points if id(point) in good]
    chosen = chance.sample(others, min(_UNCHANGED, len(others)))
    return session, (*(point.number for point in session.points if id(point) not in good), *chosen)


def _feed_window(given: tuple[Session, tuple[int, ...]]) -> str:
    """Shows it, clicks points, looks at every pane of the last, asks for cards and tool tips."""
    session, clicked = given
    application = _window()
    sys.excepthook = lambda _kind, error, _trace: _raised.append(error)
    _raised.clear()
    application.model.replace(session)
    application.controller.session_changed.emit()
    _show_cards(application, session)
    for number in clicked:
        _click(application, number)
    _look_at_panes(application)
    table = application.table
    for row in range(min(table.rowCount(), 3)):
        for column in range(table.columnCount()):
            table.data(table.index(row, column), 3)
    if _raised:
        raise _raised[0]
    return ""


def _show_cards(application: Any, session: Session) -> None:
    from PySide6.QtCore import QPointF

    from roofscope.app.presentation.tokens import LIGHT
    from roofscope.app.window.chart.hover_card import HoverCard

    card = HoverCard(application.panes.chart.plot, LIGHT)
    for point in session.points:
        card.show_point(point, session, QPointF(9, 9), None)
    card.deleteLater()


def _click(application: Any, number: int) -> None:
    """Where the point is on the chart, and if it is not, as a click on its row does."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    plot = application.panes.chart.plot
    try:
        place = plot.viewport_place(number)
    except KeyError:
        place = None
    if place is not None and plot.plot_rect().contains(place):
        QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=place.toPoint())
    application.selection.select(number)


def _look_at_panes(application: Any) -> None:
    """Every pane in front in turn, once what it asked in the background is there; then the whole window."""
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    for dock in application.window.docks.values():
        dock.show()
        dock.raise_()
        _settle(application)  # which paints it
    application.window.grab()
    QApplication.processEvents()
    # Without exec() nobody else deletes what is to be deleted later: 2 MB an input.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _settle(application: Any) -> None:
    """Until both threads of the background have answered all that they were asked before."""
    from PySide6.QtWidgets import QApplication

    QApplication.processEvents()
    meeting, answers = threading.Barrier(2), list[int]()
    for _ in range(2):  # each thread takes one of them, and so nothing else is under way
        application.background.ask(meeting.wait, answers.append)
    while len(answers) < 2:
        QApplication.processEvents()
        time.sleep(0)


def _feed_png(session: Session) -> str:
    from roofscope.app.window.chart.render import render_roofline_png

    return "" if render_roofline_png(session).startswith(b"\x89PNG") else "no PNG"
