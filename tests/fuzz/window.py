"""The targets that need Qt: settings, and one window that opens session after session."""

import os
import random
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from roofscope.profiling.paths import UserPaths
from roofscope.profiling.results.session import Session
from roofscope.tests.fuzz.sessions import hostile_session
from roofscope.tests.fuzz.targets import TARGETS, Target, changed_json

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def all_targets() -> dict[str, Target]:
    """With those that need Qt, which is loaded when one of them is fed."""
    return {
        **TARGETS,
        "settings": Target(_settings, _feed_settings, 50_000),
        "window": Target(hostile_session, _feed_window, 50_000),
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
    from roofscope.tests.qt.conftest import FakeDevices, FakeTarget

    folder = _folder()
    app = QApplication.instance() or QApplication(["roofscope"])
    assert isinstance(app, QApplication)
    paths = UserPaths(folder / "sessions", folder / "w.json", folder / "ceilings", folder / "assets")
    window = build_window(app, paths, source=FakeDevices(), target=FakeTarget())
    window.start(())
    window.window.show()
    return window


_raised: list[BaseException] = []


def _feed_window(session: Session) -> str:
    """Shows it, selects points as a click does, asks for hover cards and tool tips, paints all of it."""
    from PySide6.QtCore import QPointF
    from PySide6.QtWidgets import QApplication

    from roofscope.app.presentation.tokens import LIGHT
    from roofscope.app.window.chart.hover_card import HoverCard

    application = _window()
    sys.excepthook = lambda _kind, error, _trace: _raised.append(error)
    _raised.clear()
    application.model.replace(session)
    application.controller.session_changed.emit()
    plot = application.panes.chart.plot
    card = HoverCard(plot, LIGHT)
    for point in session.points:
        card.show_point(point, session, QPointF(9, 9), None)
    card.deleteLater()
    if session.points:
        application.selection.select(session.points[0].number)
    application.window.grab()
    table = application.table
    for row in range(min(table.rowCount(), 3)):
        for column in range(table.columnCount()):
            table.data(table.index(row, column), 3)
    QApplication.processEvents()
    if _raised:
        raise _raised[0]
    return ""


def _feed_png(session: Session) -> str:
    from roofscope.app.window.chart.render import render_roofline_png

    return "" if render_roofline_png(session).startswith(b"\x89PNG") else "no PNG"
