"""File > Report: the same page as the command line's, made in the background."""

import threading
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.report.page import report_html
from roofscope.app.window import session_commands
from roofscope.app.window.commands import CommandId
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow


def test_the_page_is_the_command_lines(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot, tmp_path: Path
) -> None:
    application = open_window(session_file)
    out = tmp_path / "a.html"
    application.commands.report(out)
    qtbot.waitUntil(lambda: application.window.said == f"Written to {out}")
    assert out.read_text() == report_html(load(session_file))


def test_it_is_made_off_the_windows_thread(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(
        session_commands, "write_report", lambda *_: threads.append(threading.current_thread())
    )
    application = open_window(session_file)
    application.commands.report(tmp_path / "a.html")
    qtbot.waitUntil(lambda: bool(threads))
    assert threads[0] is not threading.main_thread()
    qtbot.waitUntil(lambda: "Written to" in application.window.said)


def test_what_cannot_be_written_is_a_notice(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot, tmp_path: Path
) -> None:
    application = open_window(session_file)
    application.commands.report(tmp_path / "no" / "a.html")
    qtbot.waitUntil(
        lambda: any("there is no folder" in text for text in application.panes.cards.notice_texts)
    )
    application.commands.report(session_file)
    assert any("is the open session" in text for text in application.panes.cards.notice_texts)


def test_the_command_is_in_the_file_menu(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    action = application.window.actions_of[CommandId.REPORT]
    assert action.isEnabled()
    assert action.shortcut().toString() == "Ctrl+Shift+E"
