"""The window with temporary places, invented devices and a worker that computes nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application, build_window
from roofscope.profiling.paths import UserPaths
from roofscope.tests import sessions
from roofscope.tests.qt.stand_ins import FakeDevices, FakeTarget
from roofscope.tests.sessions import make_session

OpenWindow = Callable[..., Application]

WAIT_MS = 60_000  # only what hangs takes that long, whatever else the machine does


class PatientBot(QtBot):
    """Waits so long by default; pytest-qt's own 5 s depend on how busy the machine is."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = WAIT_MS) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = WAIT_MS, **options: Any) -> Any:
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitExposed(self, widget: QWidget, *, timeout: int = WAIT_MS) -> Any:
        return super().waitExposed(widget, timeout=timeout)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture
def paths(tmp_path: Path) -> UserPaths:
    return UserPaths(
        sessions=tmp_path / "sessions",
        settings=tmp_path / "window.json",
        ceilings=tmp_path / "ceilings",
        assets=tmp_path / "assets",
    )


@pytest.fixture
def session_file(tmp_path: Path) -> Path:
    """A file with the 44 invented points."""
    path = tmp_path / "invented.roofscope"
    write_session(path)
    return path


@pytest.fixture
def open_window(qtbot: QtBot, qapp: QApplication, paths: UserPaths) -> Iterator[OpenWindow]:
    """Opens windows that know their devices, and closes them after the test."""
    opened: list[Application] = []

    def open_one(
        *files: Path,
        mode: str = "quick",
        devices: FakeDevices | None = None,
        kernel_roots: tuple[Path, ...] = (),
    ) -> Application:
        target = FakeTarget(mode, str(marker_of(paths)))
        application = build_window(
            qapp, paths, source=devices or FakeDevices(), target=target, kernel_roots=kernel_roots
        )
        opened.append(application)
        application.start(files)
        application.window.showNormal()  # the screen of these tests is smaller than the window
        application.window.resize(1280, 800)
        qtbot.waitUntil(lambda: application.panes.plan_bar.device() is not None)
        return application

    yield open_one
    for application in opened:
        application.window.close()
        application.window.deleteLater()
        application.deleteLater()
    qapp.processEvents()


def marker_of(paths: UserPaths) -> Path:
    """The file by which the fake worker knows whether it crashed before, or may go on."""
    return paths.settings.with_name("marker")


def write_session(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sessions.write_session(make_session(), path)
