"""Counting a point in the window: played counters are kept in the session, shown, and a refusal is said."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from roofscope.app.window import counting as window_counting
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.profiling.devices.nsight_compute import NOT_PERMITTED
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.supervision import counting
from roofscope.tests.qt.conftest import OpenWindow

COUNTED = Counters("Nsight Compute 2025.3.1", 4, 1, 1e-5, 6e8, 3e8, 2e9, 3e9)


@pytest.fixture(autouse=True)
def files_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session of the tests was measured with files that are not there."""
    monkeypatch.setattr(counting, "trace_job", _same_job)


def _same_job(_session: Session, point: Point, *_: object) -> Job:
    return point.job


def counted(application: Application, qtbot: QtBot, found: Counters | str) -> int:
    """Count the first point of the GPU; what comes of it is played."""
    qtbot.waitUntil(lambda: bool(application.controller.catalog.kernels))
    point = next(one for one in application.model.session.points if one.measured)
    application.selection.select(point.number)

    def count(*_: object) -> Counters | str:
        return found

    application.counting.count = count
    action = application.window.actions_of[CommandId.COUNT]
    qtbot.waitUntil(action.isEnabled)
    action.trigger()
    run = application.window.actions_of[CommandId.RUN]
    assert not run.isEnabled()
    qtbot.waitUntil(lambda: not application.counting.is_running)
    assert run.isEnabled()
    return point.number


def labels(application: Application) -> list[str]:
    return [one.text() for one in application.panes.details.findChildren(QLabel)]


def test_what_is_counted_is_kept_and_shown(open_window: OpenWindow, session_file: Path, qtbot: QtBot) -> None:
    application: Any = open_window(session_file)
    number = counted(application, qtbot, COUNTED)
    assert load(session_file).counters == {number: COUNTED}
    assert application.model.session.counters[number] == COUNTED
    application.panes.details.set_open(("Counters",))
    assert "Nsight Compute 2025.3.1" in labels(application)


def test_a_report_is_read_and_kept_beside_the_point(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    application: Any = open_window(session_file)
    point = next(one for one in application.model.session.points if one.measured)
    application.selection.select(point.number)
    found = replace(COUNTED, instrument="Nsight Compute", report="mine.ncu-rep")

    def read(*_: object) -> Counters:
        return found

    monkeypatch.setattr(window_counting, "counters_from", read)
    action = application.window.actions_of[CommandId.COUNTERS_FROM]
    qtbot.waitUntil(action.isEnabled)
    application.counting.read(point, Path("mine.ncu-rep"))
    assert not action.isEnabled()
    qtbot.waitUntil(lambda: not application.counting.is_running)
    assert load(session_file).counters == {point.number: found}
    application.panes.details.set_open(("Counters",))
    assert "Nsight Compute, mine.ncu-rep" in labels(application)


def test_why_a_report_says_nothing_is_said(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot, tmp_path: Path
) -> None:
    application: Any = open_window(session_file)
    point = next(one for one in application.model.session.points if one.measured)
    application.counting.read(point, tmp_path / "absent.ncu-rep")
    qtbot.waitUntil(lambda: not application.counting.is_running)
    [said] = application.panes.cards.notice_texts
    assert said.endswith("absent.ncu-rep is no file; choose a report of Nsight Compute.")


def test_a_refusal_is_said_with_what_to_do(open_window: OpenWindow, session_file: Path, qtbot: QtBot) -> None:
    application: Any = open_window(session_file)
    counted(application, qtbot, NOT_PERMITTED)
    assert load(session_file).counters == {}
    assert application.panes.cards.notice_texts == [NOT_PERMITTED]
