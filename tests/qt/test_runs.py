"""Runs from the window, with a worker in a process of its own that computes nothing."""

import gc
import os
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.profiling.devices.environment import Package
from roofscope.profiling.paths import LIBRARY, UserPaths
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.outcome import Cancelled, Failed, FailureKind, Measured
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision import supervisor, wait
from roofscope.tests.qt.conftest import OpenWindow, marker_of
from roofscope.tests.qt.stand_ins import FakeDevices
from roofscope.tests.sessions import CEILINGS, DEVICE, ENVIRONMENT, make_session
from roofscope.tests.worker.toys import REFERENCE, add_toy


def tick_only(application: Application, *names: str) -> int:
    """Tick these kernels only; returns the number of implementations."""
    library = application.library
    library.set_all(False)
    for row in range(library.rowCount()):
        index = library.index(row, 0)
        if index.data() in names:
            library.setData(index, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    return sum(map(len, library.checked().values()))


def press(application: Application, command: CommandId) -> None:
    action = application.window.actions_of[command]
    assert action.isEnabled()
    action.trigger()


def until_idle(application: Application, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not application.controller.is_running)


def run_again(application: Application, qtbot: QtBot) -> Session:
    """The session's file after one more run, which met nothing worth a card."""
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert application.panes.cards.notice_texts == []
    return load(application.model.session.path)


def card_of(application: Application) -> list[str]:
    return [b.text() for b in application.panes.cards.findChildren(QAbstractButton) if b.text()]


def test_f5_measures_what_is_ticked_into_a_file(open_window: OpenWindow, qtbot: QtBot, paths: UserPaths):
    application = open_window()
    count = tick_only(application, "softmax")
    progress: list[tuple[int, int]] = []
    application.controller.progressed.connect(lambda report: progress.append((report.done, report.total)))
    application.window.activateWindow()
    QTest.keyClick(application.window, Qt.Key.Key_F5)
    assert application.controller.is_running
    assert not application.window.actions_of[CommandId.RUN].isEnabled()
    assert application.panes.plan_bar._progress.isVisible()
    until_idle(application, qtbot)
    assert application.table.rowCount() == count
    assert progress[-1] == (count + 1, count + 1)  # with the ceilings
    assert not application.panes.plan_bar._progress.isVisible()
    path = application.model.session.path
    assert path.parent == paths.sessions
    session = load(path)
    assert session.identity.uuid
    assert application.model.session.identity == session.identity  # for exports of what is shown
    assert len(session.points) == count
    assert all(isinstance(point.outcome, Measured) for point in session.points)
    assert session.environment == ENVIRONMENT
    assert session.device == DEVICE
    assert session.ceilings
    assert set(session.specs) == {"softmax"}
    assert application.settings.recent_sessions[0] == path


def test_a_second_run_appends_and_probes_no_more(open_window: OpenWindow, qtbot: QtBot):
    application = open_window()
    count = tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    path, ceilings = application.model.session.path, len(application.model.session.ceilings)
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    session = load(path)
    assert application.model.session.path == path
    assert len(session.points) == 2 * count
    assert len(session.ceilings) == ceilings
    assert len({point.job.id for point in session.points}) == 2


def test_a_session_that_was_measured_is_let_go_with_the_next_one(open_window: OpenWindow, qtbot: QtBot):
    application = open_window()
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    path = application.model.session.path

    def is_kept() -> bool:
        gc.unfreeze()  # what the window has frozen is not listed
        gc.collect()
        return any(type(found) is Session and found.path == path for found in gc.get_objects())

    assert is_kept()
    application.controller.new_session(application.panes.plan_bar.device())
    qtbot.waitUntil(lambda: not is_kept())  # else windows that are open for days keep all that they measured


def test_results_are_in_the_file_while_the_run_goes_on(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(mode="held")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    with qtbot.waitSignal(application.model.point_added):
        pass
    assert application.controller.is_running
    assert len(load(application.model.session.path).points) == application.table.rowCount() >= 1
    press(application, CommandId.STOP)
    until_idle(application, qtbot)


@pytest.mark.parametrize("name", ["itself", "a link to it"])
def test_saving_over_the_open_file_loses_nothing_that_follows(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, tmp_path: Path, name: str
):
    application = open_window(mode="held")
    count = tick_only(application, "softmax")
    press(application, CommandId.RUN)
    with qtbot.waitSignal(application.model.point_added):
        pass
    path = target = application.model.session.path
    if name != "itself":
        target = tmp_path / "link.roofscope"
        target.symlink_to(path)
    said: list[str] = []
    application.controller.said.connect(said.append)
    application.controller.save_as(target)
    assert said == [f"Every result is already in {target}"]
    assert target.is_symlink() == (name != "itself")
    marker_of(paths).touch()
    until_idle(application, qtbot)
    assert len(load(path).points) == count


def test_stop_keeps_what_was_measured(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(mode="held")
    count = tick_only(application, "softmax", "gelu")
    press(application, CommandId.RUN)
    with qtbot.waitSignal(application.model.point_added):
        pass
    press(application, CommandId.STOP)
    until_idle(application, qtbot)
    outcomes = [point.outcome for point in application.model.session.points]
    assert isinstance(outcomes[0], Measured)
    assert any(isinstance(outcome, Cancelled) for outcome in outcomes)
    assert len(outcomes) < count  # the second kernel was never begun
    assert application.window.said == "Stopped; what was measured is kept."
    assert application.window.actions_of[CommandId.RUN].isEnabled()


def test_nothing_tells_to_press_run_during_a_run(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(mode="held")
    tick_only(application, "softmax")
    application.window.say("Stopped; what was measured is kept.")
    table, chart = application.panes.results._empty, application.panes.chart
    assert "press Run" in table.text()
    assert "press Run" in chart.accessibleDescription()
    press(application, CommandId.RUN)
    assert "under way" in table.text()
    assert "under way" in chart.accessibleDescription()
    assert application.window.said == "Looking at the kernels..."
    qtbot.waitUntil(lambda: application.window.said == "")
    with qtbot.waitSignal(application.model.point_added):
        pass
    assert application.panes.results._count.whole_text == "1 point on NVIDIA H200"
    press(application, CommandId.STOP)
    until_idle(application, qtbot)
    assert "press Run" in table.text()


def test_a_second_stop_kills_a_worker_that_does_not_listen(
    open_window: OpenWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(supervisor, "CANCEL_GRACE_S", 1e6)  # the first stop alone would wait without end
    application = open_window(mode="stuck")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    qtbot.waitUntil(lambda: "verifying" in application.panes.plan_bar._message.whole_text)
    qtbot.waitUntil(lambda: "softmax" in application.panes.plan_bar._message.whole_text)
    pid = application.link.worker_pid
    press(application, CommandId.STOP)
    assert application.controller.is_running
    press(application, CommandId.STOP)
    until_idle(application, qtbot)
    assert not Path(f"/proc/{pid}").exists()
    assert all(isinstance(point.outcome, Cancelled) for point in application.model.session.points)


def test_a_child_that_holds_the_pipes_of_a_worker_does_not_hold_up_the_run(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths
):
    application = open_window(mode="leaves")
    count = tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    child = int(marker_of(paths).read_text())
    os.kill(child, signal.SIGKILL)  # raises where it is gone: then nothing was shown
    outcomes = [point.outcome for point in application.model.session.points]
    assert len(outcomes) == count
    assert sum(isinstance(outcome, Measured) for outcome in outcomes) == count - 1


def test_a_silence_is_counted_down_and_can_be_prolonged(
    open_window: OpenWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(wait, "SAID_FROM_S", 1.0)
    monkeypatch.setattr(supervisor, "CANCEL_GRACE_S", 0.0)
    application = open_window(mode="stuck")
    tick_only(application, "softmax")
    bar, more = application.panes.plan_bar, application.window.actions_of[CommandId.MORE_TIME]
    left_s: list[float] = []
    application.controller.awaited.connect(lambda awaited: awaited and left_s.append(awaited.left_s))
    assert not more.isEnabled()
    press(application, CommandId.RUN)
    qtbot.waitUntil(lambda: "no answer for" in bar._message.whole_text)
    assert bar._more_time_button.isVisible()
    before_s = left_s[-1]
    more.trigger()
    assert left_s[-1] > before_s + 30  # of 60 s, another 60
    press(application, CommandId.STOP)
    until_idle(application, qtbot)
    assert not more.isEnabled()
    assert not bar._more_time_button.isVisible()


def test_a_killed_worker_gives_a_card_and_the_run_goes_on(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths
):
    application = open_window(mode="held")
    count = tick_only(application, "softmax", "gelu")
    press(application, CommandId.RUN)
    with qtbot.waitSignal(application.model.point_added):
        pass
    with qtbot.waitSignal(application.controller.worker_lost) as lost:
        os.kill(application.link.worker_pid, signal.SIGKILL)
    marker_of(paths).touch()
    assert "SIGKILL" in lost.args[0].message
    assert application.panes.cards.isVisible()
    until_idle(application, qtbot)
    outcomes = [point.outcome for point in application.model.session.points]
    assert len(outcomes) == count
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    assert [failure.kind for failure in failures] == [FailureKind.WORKER_LOST]
    greyed = [
        application.availability.reason(point.implementation, DEVICE)
        for point in application.model.session.points
    ]
    assert sum("paused" in reason for reason in greyed) == 1


def test_the_card_shows_the_end_of_the_log(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(mode="crash_once")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    log = application.panes.cards.findChild(QPlainTextEdit)
    assert log.toPlainText() == "invented: the last words of the worker"
    assert "Restart" not in card_of(application)  # it goes on by itself


def test_a_worker_that_does_not_start_can_be_restarted(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(mode="mute")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert application.table.rowCount() == 0
    assert "no module named invented" in application.panes.cards.findChild(QPlainTextEdit).toPlainText()
    application.link._target = type(application.link._target)("quick")
    button = next(b for b in application.panes.cards.findChildren(QAbstractButton) if b.text() == "Restart")
    button.click()
    assert application.controller.is_running
    until_idle(application, qtbot)
    assert application.table.rowCount() > 0


def test_a_restart_measures_the_files_as_they_are_by_then(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path
):
    toy = add_toy(tmp_path / "mine", "toy", REFERENCE)
    (toy / "triton_a.py").write_text("def run(x): ...\n")
    application = open_window(mode="mute", kernel_roots=(toy.parent,))
    qtbot.waitUntil(lambda: "toy" in {kernel.spec.name for kernel in application.library.kernels})
    tick_only(application, "toy")
    application.panes.plan_bar.presets["small"].click()
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    spec = (toy / "spec.py").read_text()
    (toy / "spec.py").write_text(spec.replace('WorkFormula("n"', 'WorkFormula("7*n"'))
    (toy / "triton_a.py").unlink()
    application.link._target = type(application.link._target)("quick")
    application.controller.restart()
    until_idle(application, qtbot)
    points = application.model.session.points
    assert points
    assert "triton_a" not in {point.implementation.stem for point in points}
    assert {point.job.work.flop_count for point in points} == {7 * points[0].job.workload.sizes["n"]}
    texts = application.panes.cards.notice_texts
    assert any("toy/triton_a is no longer among the kernels." in text for text in texts)


def test_a_program_that_is_not_there_gives_a_card(open_window: OpenWindow, qtbot: QtBot):
    from roofscope.profiling.supervision.target import LocalTarget

    class NoTarget(LocalTarget, frozen=True):
        def argv(self) -> tuple[str, ...]:
            return ("/nonexistent/python",)

    application = open_window()
    application.link._target = NoTarget()
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert "Restart" in card_of(application)


def test_another_device_begins_a_new_session(open_window: OpenWindow, qtbot: QtBot, session_file: Path):
    application = open_window(session_file)
    application.panes.plan_bar.device_box.setCurrentIndex(1)  # the CPU
    tick_only(application, "softmax")
    said: list[str] = []
    application.controller.said.connect(said.append)
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert application.model.session.path != session_file
    assert any(text.startswith("New session on") for text in said)
    assert application.window.said == "Done: 3 of 3 points measured."  # two eager versions and a compiled one
    assert any("belongs to NVIDIA H200" in text for text in said)
    assert len(load(session_file).points) == 44


def test_a_session_from_before_an_update_gets_its_ceilings_anew(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path
):
    """Those of the older torch stay with the points that were measured with it."""
    path = tmp_path / "before.roofscope"
    others = [package for package in ENVIRONMENT.packages if package.name != "torch"]
    older = msgspec.structs.replace(ENVIRONMENT, packages=(Package("torch", "1.0"), *others))
    point = make_session().points[0]
    with SessionStore.create(path) as store:
        store.add_environment(older, DEVICE.id)
        for ceiling in CEILINGS:
            store.add_ceiling(ceiling)
        store.add_outcome(point.job, point.implementation, point.outcome)
    application = open_window(path)
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    session, live = load(path), application.model.session
    assert live.path == path
    assert len(session.ceilings) > len(CEILINGS)
    old, new = session.environment_of(session.points[0]), session.environment_of(session.points[-1])
    assert old
    assert new
    assert (old.version("torch"), new.version("torch")) == ("1.0", ENVIRONMENT.version("torch"))
    assert live.origins == session.origins
    assert live.ceiling_origins == session.ceiling_origins
    assert [one.origin for one in live.points] == [one.origin for one in session.points]


def test_the_same_device_appends_to_an_opened_session(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path
):
    application = open_window(session_file)
    count = tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert application.model.session.path == session_file
    assert len(load(session_file).points) == 44 + count


def test_a_read_only_session_is_left_as_it_is(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path, monkeypatch: pytest.MonkeyPatch
):
    # Tests may run as root, who may write anything: ask as a user would be answered.
    monkeypatch.setattr(
        "roofscope.app.window.session_keeper.os.access", lambda path, mode: Path(path) != session_file
    )
    application = open_window(session_file)
    before = session_file.read_bytes()
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert application.model.session.path != session_file
    assert session_file.read_bytes() == before


def test_measure_this_machine_starts_from_the_example(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths
):
    from roofscope.tests.qt.conftest import write_session

    write_session(paths.example)
    before = paths.example.read_bytes()
    application = open_window()
    button = next(
        b for b in application.panes.cards.findChildren(QAbstractButton) if b.text().startswith("Measure")
    )
    button.click()
    assert application.controller.is_running
    until_idle(application, qtbot)
    assert application.model.session.path.parent == paths.sessions
    assert paths.example.read_bytes() == before
    assert "Measure this machine" not in card_of(application)


def test_a_trace_is_recorded_shown_and_written(open_window: OpenWindow, qtbot: QtBot, tmp_path: Path):
    application = open_window()
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    application.selection.select(1)
    press(application, CommandId.TRACE)
    until_idle(application, qtbot)
    view = application.panes.trace.view
    qtbot.waitUntil(lambda: view.model().rowCount() == 1)
    texts = [view.model().index(0, column).data() for column in range(5)]
    assert texts == ["invented", "2", "5.000 µs", "2.500 µs", "100 %"]
    application.panes.trace.files.export(tmp_path / "trace.json")
    application.panes.trace.files.export(tmp_path / "trace.json.gz")
    kept = application.model.session.path.read_bytes()
    application.panes.trace.files.export(application.model.session.path)
    assert application.model.session.path.read_bytes() == kept
    assert "does not end in .json or .json.gz" in application.panes.cards.notice_texts[-1]
    assert b'"traceEvents"' in (tmp_path / "trace.json").read_bytes()
    assert (tmp_path / "trace.json.gz").read_bytes()[:2] == b"\x1f\x8b"

    choice, session = application.panes.trace.record_options, application.model.session
    choice.menu().actions()[1].trigger()
    assert (choice.text(), choice.options) == ("With shapes and stacks", TraceOptions(stacks=True))
    timed = [point.implementation for point in session.points if point.measured]
    assert len(timed) > 1
    application.panes.results.view.selectAll()
    press(application, CommandId.TRACE)
    until_idle(application, qtbot)
    assert [trace.implementation for trace in session.traces[1:]] == timed


def test_closing_the_window_ends_the_worker_and_leaves_one_plain_file(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(mode="held")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    with qtbot.waitSignal(application.model.point_added):
        pass
    pid, path = application.link.worker_pid, application.model.session.path
    application.window.close()
    assert not Path(f"/proc/{pid}").exists()
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]
    assert load(path).points


def test_a_run_is_not_disturbed_by_another_session(open_window: OpenWindow, qtbot: QtBot, session_file: Path):
    application = open_window(mode="held")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    path = application.model.session.path
    application.controller.open(session_file)
    assert application.model.session.path == path
    assert "under way" in application.panes.cards.notice_texts[0]
    press(application, CommandId.STOP)
    until_idle(application, qtbot)


def test_no_devices_but_the_cpu(open_window: OpenWindow, qtbot: QtBot):
    application = open_window(devices=FakeDevices((FakeDevices().find()[1],)))
    assert application.panes.plan_bar.device_box.count() == 1
    assert application.panes.plan_bar.device_box.currentText().startswith("CPU")
    assert application.panes.strip._name.whole_text.startswith("CPU")


def test_columns_grow_with_what_comes_in(open_window: OpenWindow, qtbot: QtBot):
    application = open_window()
    view = application.panes.results.view
    application.panes.results.set_grouped(False)
    tick_only(application, "matmul")
    view.horizontalHeader().resizeSection(0, 31)  # by the user
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert view.columnWidth(0) == 31
    for column in range(1, 6):
        assert view.columnWidth(column) >= view.sizeHintForColumn(column)


@pytest.fixture
def own_kernels(tmp_path: Path) -> Path:
    """A folder with one kernel of the user's, called own_add."""
    folder = tmp_path / "kernels" / "own_add"
    shutil.copytree(LIBRARY / "vector_add", folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = folder / "spec.py"
    spec.write_text(spec.read_text().replace('"vector_add"', '"own_add"'))
    return folder.parent


def test_an_edited_kernel_is_measured_as_it_is_now(open_window: OpenWindow, qtbot: QtBot, own_kernels: Path):
    application = open_window(kernel_roots=(own_kernels,))
    count = tick_only(application, "own_add")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    eager = own_kernels / "own_add" / "eager.py"
    eager.write_text(eager.read_text() + "\n# edited\n")
    session = run_again(application, qtbot)
    assert len(session.points) == 2 * count
    hashes = {p.implementation.source_hash for p in session.points if p.implementation.stem == "eager"}
    assert len(hashes) == 2
    assert any("# edited" in source.text for key in hashes for source in session.sources[key])


def test_an_edited_spec_is_planned_and_drawn_as_it_is_now(
    open_window: OpenWindow, qtbot: QtBot, own_kernels: Path
):
    application = open_window(kernel_roots=(own_kernels,))
    count = tick_only(application, "own_add")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    spec = own_kernels / "own_add" / "spec.py"
    edited = spec.read_text().replace('flop_count="n"', 'flop_count="2*n"')
    spec.write_text(edited.replace("float32=1e-6", "float32=2.5e-6"))
    reference = own_kernels / "own_add" / "reference.py"
    reference.write_text(reference.read_text() + "\n# edited\n")
    session = run_again(application, qtbot)
    before, after = session.points[0].job, session.points[count].job
    assert after.work.flop_count == 2 * before.work.flop_count
    assert session.specs["own_add"].tolerance.float32 == 2.5e-6
    assert application.model.session.specs["own_add"].tolerance.float32 == 2.5e-6


def test_ceilings_are_measured_after_an_edit_too(open_window: OpenWindow, qtbot: QtBot, own_kernels: Path):
    application = open_window(kernel_roots=(own_kernels,))
    reference = own_kernels / "own_add" / "reference.py"
    reference.write_text(reference.read_text() + "\n# edited\n")
    press(application, CommandId.PROBE)
    until_idle(application, qtbot)
    assert application.panes.cards.notice_texts == []
    assert application.model.session.ceilings


def test_a_trace_of_edited_files_is_refused(open_window: OpenWindow, qtbot: QtBot, own_kernels: Path):
    application = open_window(kernel_roots=(own_kernels,))
    tick_only(application, "own_add")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    eager = own_kernels / "own_add" / "eager.py"
    eager.write_text(eager.read_text() + "\n# edited\n")
    point = next(p for p in application.model.session.points if p.implementation.stem == "eager")
    application.selection.select(point.number)
    press(application, CommandId.TRACE)
    until_idle(application, qtbot)
    assert "changed since it was measured" in application.panes.cards.notice_texts[0]


def test_two_windows_on_one_session_close_in_peace(open_window: OpenWindow, qtbot: QtBot, session_file: Path):
    first, second = open_window(session_file), open_window(session_file)
    for application in (first, second):
        tick_only(application, "softmax")
        press(application, CommandId.RUN)
        until_idle(application, qtbot)
    count = len(first.library.checked()["softmax"])
    first.window.close()
    second.window.close()
    assert len(load(session_file).points) == 44 + 2 * count
    assert not Path(f"{session_file}-wal").exists()


def test_run_looks_at_the_kernels_in_a_thread_and_stop_ends_that(
    open_window: OpenWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    application = open_window()
    tick_only(application, "softmax")
    looks, may_go_on = list[threading.Thread](), threading.Event()
    looked = application.folders.looked

    def look(*arguments: Any) -> Any:
        looks.append(threading.current_thread())
        may_go_on.wait()
        return looked(*arguments)

    monkeypatch.setattr(application.folders, "looked", look)
    try:
        press(application, CommandId.RUN)
        assert application.controller.is_running
        assert application.window.said == "Looking at the kernels..."
        press(application, CommandId.STOP)
        assert not application.controller.is_running
    finally:
        may_go_on.set()
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert application.model.session.points
    assert threading.main_thread() not in looks
