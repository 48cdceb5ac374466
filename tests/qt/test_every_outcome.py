"""A session with one point of each failure, skip and stop: every view shows words, and none falls over."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.window.activity_log import point_text
from roofscope.app.window.commands import CommandId
from roofscope.profiling.results.outcome import (
    Cancelled,
    Examined,
    Failed,
    FailureKind,
    Outcome,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.sessions import DEVICE, ENVIRONMENT, examined, make_session

LOG = 'Traceback (most recent call last):\n  File "/home/me/mine.py", line 3, in run\nValueError: no\n'
OUTCOMES: tuple[Outcome, ...] = (
    *(Failed(kind, Stage.VERIFY, f"It has the fault: {kind}.", LOG) for kind in FailureKind),
    *(Failed(FailureKind.INTERNAL, stage, f"It failed in: {stage}.") for stage in Stage),
    *(Skipped(kind, f"It is left out: {kind}.") for kind in SkipKind),
    Cancelled(),
    examined(),
    examined(is_interpreted=False, missing="It has the fault: none."),
)


@pytest.fixture
def session_of_all(tmp_path: Path) -> Path:
    """Beside measured points, so that the chart has something to draw."""
    path = tmp_path / "outcomes.roofscope"
    session = make_session()
    measured = [point for point in session.points if point.measured]
    with SessionStore.create(path) as store:
        store.add_environment(ENVIRONMENT, DEVICE.id)
        for spec in session.specs.values():
            store.add_kernel(spec)
        for ceiling in session.ceilings:
            store.add_ceiling(ceiling)
        for point in measured[:3]:
            store.add_outcome(point.job, point.implementation, point.outcome)
        for number, outcome in enumerate(OUTCOMES):
            model = measured[number % len(measured)]
            job = replace(model.job, id=f"job-{100 + number}")
            store.add_outcome(job, model.implementation, outcome)
    return path


def words_of(outcome: Outcome) -> str:
    if isinstance(outcome, Examined):
        return "verified" if outcome.verification else "compiled for sm_90a, not run"
    return "stopped" if isinstance(outcome, Cancelled) else outcome.message.partition(":")[0]  # type: ignore[union-attr]


def test_chart_table_details_and_log_have_words_for_each(
    open_window: OpenWindow, qtbot: QtBot, session_of_all: Path
) -> None:
    application = open_window(session_of_all)
    session, panes, window = application.model.session, application.panes, application.window
    points = [point for point in session.points if not point.measured]
    assert [point.outcome for point in points] == list(OUTCOMES)
    for point in points:
        application.selection.select(point.number)
        row = application.table.row_of(point.number)
        assert row is not None
        texts = application.table.texts([row])[1]
        assert len(texts) == len(COLUMNS)
        told = words_of(point.outcome)
        labels = [
            label.text() for label in panes.details.findChildren(QLabel) if label.isVisibleTo(panes.details)
        ]
        assert any(told.lower() in text.lower() for text in labels), point.outcome
        assert any(texts), point.outcome
        assert point_text(point).partition(": ")[2]
        assert not panes.chart.grab().isNull()
        assert not panes.details.grab().isNull()
    kinds = {getattr(point.outcome, "kind", type(point.outcome)): point for point in points}
    for title, dock in window.docks.items():
        window.show_pane(title)
        pane = dock.widget()
        qtbot.waitUntil(lambda pane=pane: bool(pane.visibleRegion()))
        for kind, point in kinds.items():
            application.selection.select(point.number)
            QApplication.processEvents()
            assert not pane.grab().isNull(), (title, kind)
    assert panes.cards.notice_texts == []


def test_what_is_copied_and_written_has_each(
    open_window: OpenWindow, qtbot: QtBot, session_of_all: Path, tmp_path: Path
) -> None:
    application = open_window(session_of_all)
    for command in (CommandId.COPY, CommandId.COPY_MARKDOWN):
        application.window.actions_of[command].trigger()
        lines = QGuiApplication.clipboard().text().splitlines()
        assert len(lines) >= len(OUTCOMES) + 4
    for suffix in ("csv", "json", "svg", "png", "html"):
        target = tmp_path / f"out.{suffix}"
        sessions = application.commands.sessions
        (sessions.report if suffix == "html" else sessions.export)(target)
        qtbot.waitUntil(lambda path=target: application.window.said == f"Written to {path}")
        assert target.stat().st_size > 0
    text = (tmp_path / "out.csv").read_text()
    for outcome in OUTCOMES:
        if not isinstance(outcome, Cancelled | Examined):
            assert str(outcome.kind) in text  # type: ignore[union-attr]
    page = (tmp_path / "out.html").read_text()
    for outcome in OUTCOMES:
        assert words_of(outcome).lower() in page.lower(), outcome
    assert application.panes.cards.notice_texts == []


def test_the_command_line_shows_each(session_of_all: Path) -> None:
    shown = CliRunner().invoke(cli, ["show", str(session_of_all)])
    assert shown.exception is None or isinstance(shown.exception, SystemExit)
    for outcome in OUTCOMES:
        if isinstance(outcome, Failed):
            assert str(outcome.kind) in shown.output
