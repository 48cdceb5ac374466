"""What the window says of a session that is damaged, or lost while a run writes it."""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from roofscope.app.window.commands import CommandId
from roofscope.app.window.settings import Settings
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow, marker_of
from roofscope.tests.qt.test_runs import press, tick_only, until_idle


def damage(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE outcome SET median_s = 7 WHERE id = 3")


def test_a_damaged_session_is_shown_without_what_is_damaged_and_says_so(
    open_window: OpenWindow, session_file: Path, tmp_path: Path
):
    damage(session_file)
    application = open_window(session_file)
    assert len(application.model.session.points) == 43
    [notice] = application.panes.cards.notice_texts
    assert notice.startswith("1 of 44 points is damaged and left out; save what is whole under another name")
    target = tmp_path / "whole.roofscope"
    application.controller.save_as(target)
    assert application.model.session.path == target
    assert load(target).problems == ()
    assert len(load(target).points) == 43


@pytest.mark.parametrize(
    ("change", "points"),
    [
        ("UPDATE outcome SET value = CAST(x'7bff7d' AS TEXT) WHERE id = 3", 43),  # no UTF-8
        ("UPDATE outcome SET value = replace(hex(zeroblob(20000)), '00', '[') WHERE id = 3", 43),
        ("UPDATE session SET created_at = 7", 44),
        ("DROP TABLE outcome", 0),
    ],
)
def test_a_last_session_that_was_changed_keeps_no_window_from_starting(
    open_window: OpenWindow, session_file: Path, paths: UserPaths, change: str, points: int
) -> None:
    Settings(paths.settings).remember_session(session_file)
    with contextlib.closing(sqlite3.connect(session_file, isolation_level=None)) as connection:
        assert connection.execute(change).rowcount  # of what is there
    application = open_window()
    assert len(application.model.session.points) == points
    assert application.panes.cards.notice_texts


def test_a_run_adds_nothing_to_a_damaged_session(open_window: OpenWindow, qtbot: QtBot, session_file: Path):
    damage(session_file)
    before = session_file.read_bytes()
    application = open_window(session_file)
    tick_only(application, "softmax")
    said: list[str] = []
    application.controller.said.connect(said.append)
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert application.model.session.path != session_file
    assert session_file.read_bytes() == before
    assert any(f"{session_file.name} is damaged" in text for text in said)


def test_a_file_removed_in_mid_run_is_told_at_once_and_the_run_goes_on_in_another(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths
):
    application = open_window(mode="held")
    count = tick_only(application, "softmax")
    press(application, CommandId.RUN)
    with qtbot.waitSignal(application.model.point_added):
        pass
    path = application.model.session.path
    path.unlink()
    marker_of(paths).touch()
    until_idle(application, qtbot)
    [notice] = application.panes.cards.notice_texts
    rescued = path.with_name(f"{path.stem}-rescued.roofscope")
    assert notice.startswith(
        f"{path} was removed or cannot be reached any more. The run goes on in {rescued}"
    )
    assert application.model.session.path == rescued
    assert rescued.stem in application.window.windowTitle()
    session = load(rescued)
    assert session.points == application.model.session.points
    assert len(session.points) == count


def test_results_in_memory_can_be_saved(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, tmp_path: Path
):
    application = open_window(mode="held")
    count = tick_only(application, "softmax")
    press(application, CommandId.RUN)
    with qtbot.waitSignal(application.model.point_added):
        pass
    keeper = application.controller.keeper
    assert keeper._safe
    keeper._safe._rescue_folders = ()
    path = application.model.session.path
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("a file in the folder's place")
    marker_of(paths).touch()
    until_idle(application, qtbot)
    [notice] = application.panes.cards.notice_texts
    assert "in memory only; save them elsewhere" in notice
    assert keeper.is_in_memory
    target = tmp_path / "saved.roofscope"
    application.controller.save_as(target)
    assert len(load(target).points) == count
    assert not keeper.is_in_memory
