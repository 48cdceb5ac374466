"""What a person gets used to: refused runs, notices, the example, the plan, files, undo."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.notices import Topic
from roofscope.app.window.palette_entries import entries
from roofscope.app.window.shell.notices_dialog import NoticesDialog
from roofscope.profiling.devices.device_lock import lock_device
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.planning.spec import Distribution, Dtype, Provider
from roofscope.profiling.results.outcome import Failed, Measured
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.tests.qt.conftest import OpenWindow, write_session
from roofscope.tests.qt.test_runs import card_of, press, tick_only, until_idle
from roofscope.tests.sessions import DEVICE


@pytest.fixture
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locks = tmp_path / "locks"
    locks.mkdir()
    monkeypatch.setenv("ROOFSCOPE_LOCKS", str(locks))


def notices(application: Application) -> list[str]:
    return application.panes.cards.notice_texts


def click_card(application: Application, text: str) -> None:
    buttons = application.panes.cards.findChildren(QPushButton)
    next(button for button in buttons if button.text() == text).click()


def no_sessions(paths: UserPaths) -> bool:
    return not paths.sessions.exists() or not any(paths.sessions.iterdir())


@pytest.mark.usefixtures("own_locks")
def test_a_run_that_is_refused_changes_nothing_that_is_shown(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths
) -> None:
    write_session(paths.example)
    application = open_window()
    tick_only(application, "softmax")
    with lock_device(DEVICE.uuid, DEVICE.name):
        application.window.actions_of[CommandId.RUN].trigger()
        assert not application.controller.is_running  # no worker was started to find it out
    assert notices(application)[0].startswith("Another Roofscope is measuring on NVIDIA H200")
    assert application.model.session.path == paths.example
    assert application.table.rowCount() == 44
    assert no_sessions(paths)
    assert application.settings.recent_sessions == ()
    press(application, CommandId.RUN)  # it is free now
    assert notices(application) == []
    until_idle(application, qtbot)


@pytest.mark.parametrize("shown", ["example", "nothing"])
def test_a_device_that_the_worker_finds_busy_leaves_no_empty_session(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, shown: str
) -> None:
    if shown == "example":
        write_session(paths.example)
    application = open_window(mode="busy")
    before = application.model.session.path
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert notices(application) == ["Invented: another Roofscope has the device."]
    assert application.table.rowCount() == (44 if shown == "example" else 0)
    if shown == "example":
        assert application.model.session.path == before
    assert no_sessions(paths)
    assert application.settings.recent_sessions == ()


def test_a_window_closed_before_the_first_result_leaves_no_empty_session(
    open_window: OpenWindow, paths: UserPaths
) -> None:
    application = open_window(mode="stuck")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    application.window.close()
    assert no_sessions(paths)


def test_the_example_is_one_click_away_and_never_the_users_own(
    open_window: OpenWindow, paths: UserPaths, session_file: Path, tmp_path: Path, qtbot: QtBot
) -> None:
    write_session(paths.example)
    link = tmp_path / "link"
    link.symlink_to(paths.assets)
    application = open_window(session_file)
    assert "Open the example" not in card_of(application)
    press(application, CommandId.EXAMPLE)
    qtbot.waitUntil(lambda: application.model.session.path == paths.example, timeout=60_000)
    assert application.controller.open(link / "sessions" / paths.example.name)
    assert application.controller.keeper.is_example
    assert application.settings.recent_sessions == (session_file,)
    press(application, CommandId.NEW)
    assert "Open the example" in card_of(application)
    click_card(application, "Open the example")
    qtbot.waitUntil(lambda: application.model.session.path == paths.example, timeout=60_000)
    menus = {menu.text(): menu.menu().actions() for menu in application.window.menuBar().actions()}
    example = application.window.actions_of[CommandId.EXAMPLE]
    assert example in menus["&File"]
    assert example in menus["&Help"]


def test_every_session_that_came_with_the_program_is_in_the_menu_and_the_palette(
    open_window: OpenWindow, paths: UserPaths, session_file: Path, qtbot: QtBot
) -> None:
    second = paths.example.with_name("other.roofscope")
    for path in (paths.example, second):
        write_session(path)
    application = open_window(session_file)
    [menu] = [menu for menu in application.window.menuBar().actions() if menu.text() == "&File"]
    [examples] = [one.menu() for one in menu.menu().actions() if one.text() == "All examp&les"]
    assert [one.text() for one in examples.actions()] == [paths.example.stem, "other"]
    examples.actions()[1].trigger()
    qtbot.waitUntil(lambda: application.model.session.path == second)
    offered = {entry.name: entry for entry in entries(application, lambda _: "")}
    offered[f"Open example: {paths.example.stem}"].act()
    qtbot.waitUntil(lambda: application.model.session.path == paths.example)


def test_equal_notices_are_one_and_old_ones_go(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    board, line = application.panes.cards.board, application.panes.cards._line
    for text, topic in (("One.", Topic.PROGRAM), ("Two.", Topic.SESSION), ("One.", Topic.PROGRAM)):
        board.add(text, topic)
    assert notices(application) == ["Two.", "One."]
    assert line._text.whole_text == "One. (2 times)"
    assert line._more.text() == "1 more"
    line._more.click()
    dialog = application.window.findChild(NoticesDialog)
    assert dialog is not None
    application.controller.open(session_file)  # what was said of the other session is out of date
    assert notices(application) == ["One."]
    next(button for button in dialog.findChildren(QPushButton) if button.text() == "Clear all").click()
    assert notices(application) == []
    assert not application.panes.cards.isVisible()
    dialog.close()


def test_a_failed_export_is_forgotten_with_the_next_that_works(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path, tmp_path: Path
) -> None:
    application = open_window(session_file)
    application.commands.export(tmp_path / "absent" / "a.csv")
    qtbot.waitUntil(lambda: len(notices(application)) == 1)
    application.commands.export(tmp_path / "a.csv")
    qtbot.waitUntil(lambda: notices(application) == [])
    assert (tmp_path / "a.csv").exists()


def test_the_plan_is_remembered(open_window: OpenWindow, paths: UserPaths) -> None:
    first = open_window()
    bar = first.panes.plan_bar
    bar.dtypes[Dtype.FLOAT16].setChecked(True)
    bar.presets["small"].click()
    bar.presets["large"].click()
    bar.own_sizes.setText("rows=4096")
    bar.regimes[Regime.SUSTAINED].click()
    bar.fills[Distribution.NORMAL].click()
    bar.qualities[Quality.EXACT].click()
    press(first, CommandId.KEEP_CODE)  # in the menu, too
    assert bar.keep_code.isChecked()
    tick_only(first, "gelu", "cumsum")
    wanted, checked = bar.choice(), first.library.checked()
    assert wanted is not None
    first.window.close()
    assert "source_hash" not in json.dumps(json.loads(paths.settings.read_text()))
    again = open_window()
    assert again.panes.plan_bar.choice() == wanted
    assert wanted.keeps_code
    assert wanted.fill is Distribution.NORMAL
    assert again.window.actions_of[CommandId.KEEP_CODE].isChecked()
    assert again.library.checked() == checked


def test_a_plan_that_nobody_chose_is_that_of_the_device(open_window: OpenWindow) -> None:
    first = open_window()
    first.window.close()
    again = open_window()
    again.panes.plan_bar.device_box.setCurrentIndex(1)  # the CPU
    choice = again.panes.plan_bar.choice()
    assert choice is not None
    assert choice.presets == ("medium",)


def test_a_version_that_cost_its_worker_can_be_tried_again(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = open_window(mode="crash_once")
    count = tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    [failed] = [point for point in application.model.session.points if isinstance(point.outcome, Failed)]
    assert "paused" in application.availability.reason(failed.implementation, DEVICE)
    assert "Try again" in card_of(application)
    application.selection.select(failed.number)
    assert application.window.actions_of[CommandId.TRY_AGAIN] in application.panes.results.view.actions()
    click_card(application, "Try again")
    assert application.controller.is_running
    until_idle(application, qtbot)
    points = load(application.model.session.path).points
    assert len(points) == count + 1
    assert points[-1].implementation == failed.implementation
    assert isinstance(points[-1].outcome, Measured)
    assert application.availability.reason(failed.implementation, DEVICE) == ""
    assert "Try again" not in card_of(application)


def test_a_log_is_in_a_fixed_width_font(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    failed = next(p for p in application.model.session.points if getattr(p.outcome, "log", ""))
    application.selection.select(failed.number)
    log = application.panes.details.findChild(QPlainTextEdit)
    assert log is not None
    assert log.fontInfo().fixedPitch() or log.font().fixedPitch() or "mono" in log.font().family().lower()


def test_a_session_is_renamed_and_undo_gives_its_name_back(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    application.commands.sessions.rename("softmax on the H200")
    renamed = session_file.with_name("softmax on the H200.roofscope")
    assert application.model.session.path == renamed
    assert not session_file.exists()
    assert "softmax on the H200" in application.window.windowTitle()
    assert application.settings.recent_sessions == (renamed,)
    assert application.window.actions_of[CommandId.UNDO].text() == "&Undo rename of the session"
    press(application, CommandId.UNDO)
    assert application.model.session.path == session_file
    press(application, CommandId.REDO)
    assert len(load(renamed).points) == 44


@pytest.mark.parametrize("name", ["", "a/b", "..", "taken"])
def test_a_name_that_cannot_be_is_said(open_window: OpenWindow, session_file: Path, name: str) -> None:
    session_file.with_name("taken.roofscope").touch()
    application = open_window(session_file)
    application.commands.sessions.rename(name)
    assert len(notices(application)) == 1
    assert application.model.session.path == session_file
    assert not application.window.actions_of[CommandId.UNDO].isEnabled()


@pytest.mark.parametrize("has_desktop", [True, False])
def test_a_session_put_away_comes_back(
    open_window: OpenWindow,
    session_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    has_desktop: bool,
) -> None:
    data = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    if has_desktop:
        data.mkdir()
    before = session_file.read_bytes()
    application = open_window(session_file)
    press(application, CommandId.TRASH)
    assert not session_file.exists()
    assert application.table.rowCount() == 0
    assert application.settings.recent_sessions == ()
    [kept] = list(tmp_path.rglob("invented*.roofscope"))
    assert kept.read_bytes() == before
    press(application, CommandId.UNDO)
    assert session_file.read_bytes() == before
    assert application.table.rowCount() == 44


def test_the_example_is_neither_renamed_nor_put_away(open_window: OpenWindow, paths: UserPaths) -> None:
    write_session(paths.example)
    application = open_window()
    for command in (CommandId.RENAME, CommandId.TRASH):
        assert not application.window.actions_of[command].isEnabled()
        assert "came with the program" in application.commands.why_not(command)


def test_a_pin_is_undone(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    number = next(point.number for point in application.model.session.points if point.measured)
    application.selection.select(number)
    press(application, CommandId.PIN)
    assert application.model.mark(number).is_pinned
    press(application, CommandId.UNDO)
    assert not application.model.mark(number).is_pinned
    press(application, CommandId.REDO)
    assert application.model.mark(number).is_pinned
    assert load(session_file).marks[number].is_pinned


def test_an_undo_that_cannot_be_written_stays_and_is_said(
    open_window: OpenWindow, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = open_window(session_file)
    number = next(point.number for point in application.model.session.points if point.measured)
    application.selection.select(number)
    press(application, CommandId.PIN)
    undo, keeper = application.window.actions_of[CommandId.UNDO], application.controller.keeper

    def full(_: object) -> str:
        raise SessionError("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(keeper, "keep_marks", full)
        undo.trigger()
    assert application.model.mark(number).is_pinned
    assert application.window.said == "Pin was not undone; the step stays."
    assert undo.text() == "&Undo pin"
    undo.trigger()
    assert not application.model.mark(number).is_pinned
    with monkeypatch.context() as patched:
        patched.setattr(keeper, "keep_marks", full)
        press(application, CommandId.REDO)
    assert application.window.said == "Pin was not done again; the step stays."
    press(application, CommandId.REDO)
    assert load(session_file).marks[number].is_pinned


def test_a_point_hidden_is_in_no_view_and_comes_back(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    drawn = {point.number for point in application.panes.chart.scene.points}
    number = min(drawn)
    application.selection.select(number)
    press(application, CommandId.HIDE)
    assert application.table.rowCount() == 43
    assert {point.number for point in application.panes.chart.scene.points} == drawn - {number}
    assert application.window.said.startswith("1 point hidden")
    assert application.window.actions_of[CommandId.SHOW_HIDDEN].text().endswith("(1)")
    press(application, CommandId.UNDO)
    assert application.table.rowCount() == 44
    press(application, CommandId.REDO)
    press(application, CommandId.SHOW_HIDDEN)
    assert application.table.rowCount() == 44
    assert not application.window.actions_of[CommandId.SHOW_HIDDEN].isEnabled()


def test_what_is_typed_into_a_filter_is_one_step(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    shown = application.shown
    for text in ("s", "so", "soft"):
        shown.show(replace(shown.filter, text=text))
    assert application.window.actions_of[CommandId.UNDO].text() == "&Undo filter"
    press(application, CommandId.UNDO)
    assert shown.filter.text == ""
    assert not application.window.actions_of[CommandId.UNDO].isEnabled()
    press(application, CommandId.REDO)
    assert shown.filter.text == "soft"
    application.controller.open(session_file)
    assert shown.filter.is_open


def test_steps_of_another_session_are_gone_and_a_removal_stays(
    open_window: OpenWindow, session_file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.roofscope"
    write_session(other)
    application = open_window(session_file)
    undo, redo = (application.window.actions_of[one] for one in (CommandId.UNDO, CommandId.REDO))
    number = next(point.number for point in application.model.session.points if point.measured)
    application.selection.select(number)
    press(application, CommandId.PIN)
    press(application, CommandId.HIDE)
    press(application, CommandId.UNDO)
    assert undo.isEnabled()
    assert redo.isEnabled()
    application.controller.open(other)
    assert not undo.isEnabled()
    assert not redo.isEnabled()
    assert undo.text() == "&Undo"
    press(application, CommandId.TRASH)
    application.controller.open(session_file)
    assert undo.text() == "&Undo removal of other"
    press(application, CommandId.UNDO)
    assert application.model.session.path == other


def test_undo_and_esc_go_the_same_way(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    shown = application.shown
    shown.show(shown.filter.isolating("softmax"))
    shown.show(shown.filter.toggled(Provider.EAGER))
    press(application, CommandId.UNDO)
    assert shown.step_back()  # not to what was undone
    assert shown.filter.is_open
    assert not shown.step_back()
    press(application, CommandId.UNDO)  # of Esc
    assert shown.filter == ViewFilter().isolating("softmax")
    press(application, CommandId.UNDO)
    assert shown.filter.is_open
    assert not application.window.actions_of[CommandId.UNDO].isEnabled()


def test_a_double_click_in_the_legend_is_one_step(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path
) -> None:
    application = open_window(session_file)
    application.window.show()
    legend, shown = application.panes.chart.bar.legend, application.shown
    undo = application.window.actions_of[CommandId.UNDO]

    def double_click(provider: Provider) -> None:
        entry = legend.entries[provider]
        qtbot.mouseClick(entry, Qt.MouseButton.LeftButton)
        qtbot.mouseDClick(entry, Qt.MouseButton.LeftButton)  # the second half of one

    double_click(Provider.TRITON)
    alone = frozenset(legend.entries) - {Provider.TRITON}
    assert shown.filter.hidden == alone
    press(application, CommandId.UNDO)
    assert shown.filter.is_open
    assert not undo.isEnabled()
    press(application, CommandId.REDO)
    assert shown.filter.hidden == alone
    double_click(Provider.TRITON)  # shows all again
    assert shown.filter.is_open
    press(application, CommandId.UNDO)
    assert shown.filter.hidden == alone
    assert shown.step_back()
    assert shown.filter.is_open


def test_recent_sessions_have_folder_and_date_and_those_gone_are_greyed(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path, tmp_path: Path
) -> None:
    application = open_window(session_file)
    gone = tmp_path / "gone.roofscope"
    write_session(gone)
    assert application.controller.open(gone)
    assert application.controller.open(session_file)
    gone.unlink()
    application.controller.session_changed.emit()
    menu = application.window.recent_menu
    qtbot.waitUntil(lambda: any("not there" in action.text() for action in menu.actions()))
    first, second, *rest = menu.actions()
    assert first.isEnabled()
    assert "invented" in first.text()
    assert session_file.parent.name in first.text()
    assert not second.isEnabled()
    next(action for action in rest if action.text().startswith("&Remove 1")).trigger()
    assert application.settings.recent_sessions == (session_file,)
    next(action for action in menu.actions() if action.text().startswith("&Clear")).trigger()
    assert application.settings.recent_sessions == ()
    assert not menu.isEnabled()


def test_points_are_deleted_by_a_key_and_brought_back(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path
) -> None:
    application = open_window(session_file)
    application.window.show()
    application.window.activateWindow()
    view, model = application.panes.results.view, application.model
    first, second = [point for point in model.session.points if point.measured][:2]
    assert first.job.workload == second.job.workload
    for point in (first, second):
        application.selection.select(point.number)
        press(application, CommandId.PIN)
    assert application.table.pinned == first.number
    application.selection.select(first.number)
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Delete)
    assert application.window.said == "1 point deleted; Ctrl+Z brings it back."
    drawn = application.panes.chart
    qtbot.waitUntil(lambda: first.number not in {point.number for point in drawn.scene.points})
    assert application.table.rowCount() == application.table.total_count == 43
    assert application.table.row_for(first.number) is None
    assert application.table.pinned == second.number
    assert application.selection.number != first.number  # the next row
    kept = load(session_file)
    assert first.number not in {point.number for point in kept.points}
    assert first.job in kept.jobs  # its number is taken
    press(application, CommandId.UNDO)
    assert application.table.rowCount() == 44
    assert application.table.pinned == first.number
    assert application.selection.number == first.number
    assert [point.number for point in model.session.points] == [p.number for p in load(session_file).points]
    qtbot.waitUntil(lambda: first.number in {point.number for point in drawn.scene.points})
    press(application, CommandId.REDO)
    application.controller.open(session_file)  # undo knows nothing of it any more
    assert application.table.rowCount() == 43
    action = application.window.actions_of[CommandId.BRING_BACK]
    assert action.text().endswith("(1)")
    press(application, CommandId.BRING_BACK)
    assert application.table.rowCount() == 44
    assert model.mark(first.number).is_pinned
    assert not action.isEnabled()
    press(application, CommandId.UNDO)
    assert application.table.rowCount() == 43


def test_a_whole_workload_is_deleted_by_its_line(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    rows = application.panes.results.rows
    application.selection.select(application.table.point_at(0).number)
    application.panes.results.view.selectRow(0)
    assert rows.is_line(0)
    count = len(rows.table_rows([0]))
    assert count > 1
    press(application, CommandId.DELETE)
    assert application.window.actions_of[CommandId.UNDO].text() == f"&Undo deletion of {count} points"
    assert application.table.rowCount() == 44 - count
    press(application, CommandId.UNDO)
    assert application.table.rowCount() == 44


def test_the_delete_key_in_a_text_deletes_letters(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    application.window.show()
    application.window.activateWindow()
    application.selection.select(application.table.point_at(0).number)
    for widget in (*application.window.findChildren(QLineEdit), application.panes.library.tree):
        if widget.isVisible():
            widget.setFocus()
            QTest.keyClick(widget, Qt.Key.Key_Delete)
    assert application.table.rowCount() == 44


def test_nothing_of_the_example_is_deleted(open_window: OpenWindow, paths: UserPaths) -> None:
    write_session(paths.example)
    application = open_window()
    application.selection.select(application.table.point_at(0).number)
    assert not application.window.actions_of[CommandId.DELETE].isEnabled()
    assert "hide points instead" in application.commands.why_not(CommandId.DELETE)


def test_the_log_names_a_worker_once_it_has_answered(open_window: OpenWindow, qtbot: QtBot) -> None:
    silent = open_window(mode="mute")  # dies before it says anything; the window knows this machine by itself
    tick_only(silent, "softmax")
    press(silent, CommandId.RUN)
    until_idle(silent, qtbot)
    assert not [entry for entry in silent.log.entries if entry.text.startswith("A worker is there")]
    application = open_window()
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    kinds = [entry for entry in application.log.entries if entry.text.startswith("A worker is there")]
    assert len(kinds) == 1


def test_names_of_files_are_plain_text_where_they_are_asked_for(
    open_window: OpenWindow, session_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "<b>bold<"
    folder.mkdir()
    path = session_file.rename(folder / "<img src=x>.roofscope")
    application = open_window(path)
    press(application, CommandId.RENAME)
    dialog = application.window.findChild(QInputDialog)
    assert dialog is not None
    shown = [label for label in dialog.findChildren(QLabel) if str(folder) in label.text()]
    assert [label.textFormat() for label in shown] == [Qt.TextFormat.PlainText]
    dialog.close()


def test_alt_down_belongs_to_the_source_pane(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    application.window.show()
    application.window.activateWindow()
    application.window.show_pane("Source")
    source, asked = application.panes.source, list[str]()
    source.next_button.clicked.connect(lambda: asked.append("click"))
    [keys] = source.findChildren(QShortcut)
    keys.activated.connect(lambda: asked.append("keys"))
    application.panes.chart.setFocus()
    QTest.keyClick(application.panes.chart, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert asked == []
    source.setFocus()
    QTest.keyClick(source, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert asked == ["keys"]
