"""Files that are saved while the window watches them, with a worker that computes nothing."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QToolButton
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.source.failing_line import failing_line
from roofscope.app.presentation.source.texts import files_of
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.settings import Settings
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.planning.file_watch import Saved
from roofscope.profiling.planning.survey import survey
from roofscope.profiling.planning.trust import Trust
from roofscope.profiling.results.outcome import Cancelled, Failed
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow, marker_of
from roofscope.tests.qt.test_reach import dialog_of
from roofscope.tests.qt.test_runs import press, tick_only, until_idle
from roofscope.tests.worker.toys import REFERENCE, add_toy

VERSION = "def run(x):\n    return x * 2\n# {time} s\n"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = add_toy(tmp_path / "mine", "toy", REFERENCE)
    for name in ("triton_a.py", "triton_b.py"):
        (folder / name).write_text(VERSION.format(time="4e-3"))
    return folder


class Live:
    """A window that watches, with one point of each version of the toy but torch.compile's."""

    def __init__(self, application: Application, qtbot: QtBot, toy: Path) -> None:
        self.application, self.qtbot, self.toy = application, qtbot, toy
        self.switch(True)

    def switch(self, on: bool) -> None:
        action = self.application.window.actions_of[CommandId.LIVE]
        if action.isChecked() != on:
            action.trigger()
        self.qtbot.waitUntil(lambda: self.application.live_edit.is_watching == on)

    @property
    def points(self) -> tuple[Point, ...]:
        return self.application.model.session.points

    def save(self, name: str = "triton_a.py", text: str = "", time: str = "2e-3") -> None:
        """As an editor does that writes in place."""
        (self.toy / name).write_text(text or VERSION.format(time=time))

    def until_points(self, count: int) -> Point:
        """The newest of so many, when the run that brought it is over."""
        self.qtbot.waitUntil(lambda: len(self.points) >= count)
        until_idle(self.application, self.qtbot)
        assert len(self.points) == count, [point.label for point in self.points]
        return self.points[-1]

    def said(self, words: str) -> None:
        self.qtbot.waitUntil(lambda: words in self.application.window.said)


@pytest.fixture
def live(open_window: OpenWindow, qtbot: QtBot, toy: Path) -> Live:
    return opened(open_window, qtbot, toy, "reads")


def opened(open_window: OpenWindow, qtbot: QtBot, toy: Path, mode: str) -> Live:
    application = open_window(mode=mode, kernel_roots=(toy.parent,))
    qtbot.waitUntil(lambda: "toy" in {kernel.spec.name for kernel in application.library.kernels})
    tick_only(application, "toy")
    for name in ("small", "large"):  # the toy has the first one only
        application.panes.plan_bar.presets[name].click()
    found = Live(application, qtbot, toy)
    if mode == "reads":
        press(application, CommandId.RUN)
        qtbot.waitUntil(lambda: len(found.points) == 4)  # eager, compiled, a and b
        until_idle(application, qtbot)
    return found


def test_a_saved_version_alone_is_measured_again_and_its_old_point_is_a_ghost(live: Live):
    worker, before = live.application.link.worker_pid, live.points
    ceilings = len(live.application.model.session.ceilings)
    live.save(time="2e-3")
    point = live.until_points(5)
    old = next(one for one in before if one.implementation.stem == "triton_a")
    assert point.implementation.stem == "triton_a"
    assert point.measured
    assert point.measured.time.median_s == pytest.approx(2e-3)
    assert point.job.workload == old.job.workload
    assert live.application.link.worker_pid == worker  # the warm one
    assert len(live.application.model.session.ceilings) == ceilings
    scene = live.application.panes.chart.scene
    live.qtbot.waitUntil(lambda: live.application.panes.chart.scene.point(point.number) is not None)
    scene = live.application.panes.chart.scene
    assert point.number in {one.number for one in scene.points}
    assert old.number in {one.number for one in scene.ghosts}
    assert [[one.number for one in trail] for trail in scene.trails] == [[old.number, point.number]]
    assert live.application.selection.number == point.number
    live.said("2.00× ± ")
    assert load(live.application.model.session.path).points == live.points


def test_an_atomic_replace_is_a_save(live: Live):
    part = live.toy / ".triton_a.py.swp"
    part.write_text(VERSION.format(time="3e-3"))
    part.replace(live.toy / "triton_a.py")
    point = live.until_points(5)
    assert point.implementation.stem == "triton_a"
    assert point.measured
    assert point.measured.time.median_s == pytest.approx(3e-3)


def test_a_half_written_file_is_measured_when_it_is_whole(live: Live):
    path = live.toy / "triton_a.py"
    with path.open("w") as file:  # which empties it
        file.write("def run(x):\n")
        file.flush()
        file.write("    return x * 2\n# 5e-3 s\n")
    point = live.until_points(5)
    assert point.measured
    assert point.measured.time.median_s == pytest.approx(5e-3)


def test_a_half_written_file_that_rests_costs_no_point_and_the_whole_one_is_measured(live: Live):
    """As of an editor that writes in parts over a slow disk: nobody can know that more is to come."""
    old = next(one for one in live.points if one.implementation.stem == "triton_a")
    with (live.toy / "triton_a.py").open("w") as file:
        file.write("def run(x):\n    BROKEN")
        file.flush()
        half = live.until_points(5)
        assert isinstance(half.outcome, Failed)
        live.qtbot.waitUntil(lambda: live.application.panes.chart.scene.point(old.number) is not None)
        file.seek(0)
        file.truncate()
        file.write(VERSION.format(time="5e-3"))
    whole = live.until_points(6)
    assert whole.measured
    assert whole.measured.time.median_s == pytest.approx(5e-3)


def test_of_twenty_saves_in_a_second_the_last_one_is_what_stays(live: Live, qtbot: QtBot):
    worker = live.application.link.worker_pid
    for number in range(20):
        part = live.toy / f".triton_a.{number}"
        part.write_text(VERSION.format(time=f"{number + 1}e-4"))
        part.replace(live.toy / "triton_a.py")
        qtbot.wait(50)
    live.save(time="7e-3")
    qtbot.waitUntil(lambda: bool(live.points[-1].measured) and live.points[-1].measured.time.median_s > 6e-3)
    until_idle(live.application, qtbot)
    kernel = live.application.library.catalog.kernel("toy")
    assert kernel
    assert live.points[-1].implementation == kernel.implementation("triton_a")
    new = live.points[4:]
    assert {one.implementation.stem for one in new} == {"triton_a"}
    assert all(one.measured or isinstance(one.outcome, Cancelled) for one in new)
    assert len({one.implementation.source_hash for one in new if one.measured}) == len(
        [one for one in new if one.measured]
    )
    assert live.application.link.worker_pid == worker


def test_a_deleted_file_keeps_its_point_and_one_that_comes_back_is_measured(live: Live):
    count = live.application.table.rowCount()
    (live.toy / "triton_a.py").unlink()
    live.said("toy/triton_a is gone; its points stay.")
    assert len(live.points) == live.application.table.rowCount() == count
    live.save(time="1e-3")
    assert live.until_points(5).implementation.stem == "triton_a"


def test_a_renamed_file_is_measured_under_its_new_name(live: Live):
    (live.toy / "triton_a.py").rename(live.toy / "triton_c.py")
    point = live.until_points(5)
    assert point.implementation.stem == "triton_c"
    assert point.job.workload == live.points[0].job.workload


def test_a_file_that_does_not_compile_keeps_its_point_and_names_its_line(live: Live):
    old = next(one for one in live.points if one.implementation.stem == "triton_a")
    live.application.selection.select(old.number)
    live.save(text="def run(x):\n    return BROKEN\n")
    point = live.until_points(5)
    assert isinstance(point.outcome, Failed)
    session = live.application.model.session
    found = failing_line(point.outcome, files_of(session, point))
    assert found
    assert (found.name, found.line) == ("triton_a.py", 2)
    assert live.application.selection.number == point.number  # the Source pane follows, and marks the line
    live.said("build error at triton_a.py:2: SyntaxError: invented (its time stays 4.000 ms")
    live.qtbot.waitUntil(
        lambda: old.number in {one.number for one in live.application.panes.chart.scene.points}
    )
    source = live.application.panes.source
    live.application.window.docks["Source"].raise_()
    live.qtbot.waitUntil(lambda: source.left.sheet is not None and bool(source.left.sheet.changes))
    live.save(time="3e-3")
    mended = live.until_points(6)
    assert live.application.selection.number == mended.number
    assert [one.measured is None for one in live.points[-2:]] == [True, False]


def test_a_selected_point_of_another_version_stays_selected(live: Live):
    other = next(one for one in live.points if one.implementation.stem == "triton_b")
    live.application.selection.select(other.number)
    live.save()
    live.until_points(5)
    assert live.application.selection.number == other.number


def test_a_file_saved_as_it_was_measures_nothing(live: Live):
    text = (live.toy / "triton_a.py").read_text()
    (live.toy / "triton_a.py").write_text(text)
    live.said("toy/triton_a.py was saved as it was; its times stay.")
    assert not live.application.controller.is_running
    assert len(live.points) == 4


def test_an_edit_of_the_reference_concerns_every_version(live: Live):
    live.save("reference.py", REFERENCE + "# 1\n")
    live.until_points(7)
    assert {one.implementation.stem for one in live.points[-3:]} == {"eager", "triton_a", "triton_b"}
    assert len({one.job.id for one in live.points[-3:]}) == 1  # timed in turn


def test_an_edit_of_eager_builds_no_compiled_version(live: Live):
    live.save("eager.py", REFERENCE + "# 1e-3 s\n")
    assert live.until_points(5).implementation.stem == "eager"


def test_a_spec_that_breaks_is_said_and_its_kernel_is_back_when_it_is_mended(live: Live):
    text = (live.toy / "spec.py").read_text()
    live.save("spec.py", "def (:\n")
    live.said("toy/spec.py cannot be used: line 1: invalid syntax. Its points stay.")
    assert "toy" not in {kernel.spec.name for kernel in live.application.library.kernels}
    live.save("spec.py", text)
    names = lambda: {kernel.spec.name for kernel in live.application.library.kernels}  # noqa: E731
    live.qtbot.waitUntil(lambda: "toy" in names())
    assert len(live.points) == 4


def test_while_it_is_off_a_save_measures_nothing(live: Live):
    live.switch(False)
    live.save()
    live.switch(True)  # what was edited meanwhile is nothing new
    live.save("triton_b.py")
    assert live.until_points(5).implementation.stem == "triton_b"


def test_a_second_save_supersedes_the_run_of_the_first(open_window: OpenWindow, qtbot: QtBot, toy: Path):
    live = opened(open_window, qtbot, toy, "held")  # holds each second implementation until it is cancelled
    live.save("reference.py", REFERENCE + "# 1\n")
    qtbot.waitUntil(lambda: len(live.points) == 1)  # the next one is held
    assert live.application.controller.is_live
    pid = live.application.link.worker_pid
    live.save("reference.py", REFERENCE + "# 2\n")
    qtbot.waitUntil(lambda: any(isinstance(one.outcome, Cancelled) for one in live.points))
    marker_of(live.application._paths).touch()
    until_idle(live.application, qtbot)
    first, second = live.points[0].job.id, live.points[-1].job.id
    stems = [(one.job.id, one.implementation.stem, one.measured is not None) for one in live.points]
    assert first != second
    assert {stem for job, stem, is_measured in stems if is_measured and job == second} == {
        "eager",
        "triton_a",
        "triton_b",
    }
    assert live.application.link.worker_pid == pid


def save_before_it_is_read(live: Live, count: int) -> None:
    """As often, a version is saved while the worker still has to read what was saved before it.

    No look sees it, so that it is the worker that finds other files than the window knows.
    """
    looks, left = live.application.live_edit._looks, [count]

    def again(_: object) -> None:
        if left[0]:
            left[0] -= 1
            live.save("triton_a.py", time=f"{1 + left[0]}e-3")

    live.application.controller.catalog_changed.connect(again)
    live.save("reference.py", REFERENCE + "# 1\n")
    looks.blockSignals(True)
    live.application.live_edit._take_saved(Saved(frozenset({live.toy / "reference.py"})))


def test_what_the_first_save_had_not_measured_is_measured_when_a_second_one_comes_before_it_is_read(
    live: Live,
):
    save_before_it_is_read(live, 1)
    live.until_points(7)
    assert {one.implementation.stem for one in live.points[-3:]} == {"eager", "triton_a", "triton_b"}
    assert len({one.job.id for one in live.points[-3:]}) == 1
    newest = next(one for one in live.points[-3:] if one.implementation.stem == "triton_a")
    assert newest.measured
    assert newest.measured.time.median_s == pytest.approx(1e-3)
    assert not [text for text in live.application.panes.cards.notice_texts if "differ" in text]


def test_files_that_are_never_read_as_they_are_here_are_said_and_not_tried_for_ever(live: Live):
    save_before_it_is_read(live, 20)
    live.qtbot.waitUntil(
        lambda: any("differ from those here" in text for text in live.application.panes.cards.notice_texts)
    )
    until_idle(live.application, live.qtbot)
    assert len(live.points) == 4


def test_a_save_during_a_run_of_the_plan_waits_for_its_end(
    open_window: OpenWindow, qtbot: QtBot, toy: Path, paths: UserPaths
):
    live = opened(open_window, qtbot, toy, "held")
    press(live.application, CommandId.RUN)
    qtbot.waitUntil(lambda: len(live.points) == 1)
    live.save("triton_b.py")
    live.said("toy/triton_b.py was saved; it is measured after this run.")
    assert not live.application.controller.is_live
    marker_of(paths).touch()
    qtbot.waitUntil(lambda: len(live.points) == 5)
    until_idle(live.application, qtbot)
    assert live.points[-1].implementation.stem == "triton_b"
    assert len({one.job.id for one in live.points}) == 2


def test_a_stop_ends_what_a_save_has_begun(open_window: OpenWindow, qtbot: QtBot, toy: Path):
    live = opened(open_window, qtbot, toy, "held")
    live.save("reference.py", REFERENCE + "# 1\n")
    qtbot.waitUntil(lambda: len(live.points) == 1)
    press(live.application, CommandId.STOP)
    until_idle(live.application, qtbot)
    assert not live.application.controller.is_live


def test_what_was_never_measured_is_measured_by_the_plan_bar(live: Live, qtbot: QtBot):
    live.application.controller.new_session(None)
    live.save(time="6e-3")
    point = live.until_points(1)
    assert point.implementation.stem == "triton_a"
    assert point.measured
    assert point.measured.time.median_s == pytest.approx(6e-3)


def test_the_switch_is_off_at_first_is_remembered_and_shows_in_the_plan_bar(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths
):
    application = open_window()
    [button] = [
        one for one in application.panes.plan_bar.findChildren(QToolButton) if one.text() == "On save"
    ]
    assert not button.isChecked()
    assert not Settings(paths.settings).habits.measures_on_save
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert application.window.actions_of[CommandId.LIVE].isChecked()
    assert button.isChecked()
    assert button.text() == "On save"
    assert "measured at once" in application.window.said
    assert Settings(paths.settings).habits.measures_on_save
    again = open_window()
    assert again.live_edit.is_on
    qtbot.waitUntil(lambda: again.live_edit.is_watching)


def test_the_settings_switch_it_and_the_button_says_that_nothing_is_watched(
    open_window: OpenWindow, paths: UserPaths
):
    application = open_window()
    action = application.window.actions_of[CommandId.LIVE]
    [button] = [
        one for one in application.panes.plan_bar.findChildren(QToolButton) if one.text() == "On save"
    ]
    assert "Now off: files are not watched" in button.toolTip()
    application.window.actions_of[CommandId.SETTINGS].trigger()
    dialog = dialog_of(application)
    [box] = [one for one in dialog.findChildren(QCheckBox) if one.accessibleName() == "Measure when saved"]
    assert not box.isChecked()
    QTest.mouseClick(box, Qt.MouseButton.LeftButton)
    assert application.live_edit.is_on
    assert "Now on: files are watched" in button.toolTip()
    assert Settings(paths.settings).habits.measures_on_save
    action.trigger()
    assert not box.isChecked()
    dialog.close()


def test_a_folder_that_is_no_longer_trusted_is_not_run_because_a_file_of_it_changed(
    open_window: OpenWindow, qtbot: QtBot, toy: Path, paths: UserPaths, tmp_path: Path
):
    Trust(paths.trusted).add(survey(toy.parent))
    settings = Settings(paths.settings)
    settings.kernel_folders = (toy.parent,)
    settings.habits = replace(settings.habits, measures_on_save=True)
    application = open_window(mode="reads")
    qtbot.waitUntil(lambda: "toy" in {kernel.spec.name for kernel in application.library.kernels})
    live = Live(application, qtbot, toy)
    Trust(paths.trusted).remove(toy.parent)
    live.save("spec.py", f"{(toy / 'spec.py').read_text()}\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    qtbot.waitUntil(lambda: any("is not used" in text for text in application.panes.cards.notice_texts))
    assert not (tmp_path / "ran").exists()
    assert not live.points
    assert "toy" not in {kernel.spec.name for kernel in application.library.kernels}
