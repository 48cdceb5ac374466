"""Several GPUs in the window, and GPUs on which somebody else computes; devices and workers are invented."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QAbstractButton, QMessageBox
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.devices.sharing import Sharing
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.qt.stand_ins import FakeDevices
from roofscope.tests.qt.test_runs import press, tick_only, until_idle
from roofscope.tests.sessions import DEVICE

TWIN = replace(DEVICE, id="cuda:1", uuid="GPU-twin")
COMPUTING = Sharing((4711,), (4711,), 0.97, is_computing=True)


def two_gpus() -> FakeDevices:
    return FakeDevices((DEVICE, TWIN, cpu_device()))


def choose_all(application: Application) -> None:
    box = application.panes.plan_bar.device_box
    box.setCurrentIndex(box.findText("All 2 GPUs"))


def run_on_all(application: Application, qtbot: QtBot) -> int:
    count = tick_only(application, "softmax", "gelu", "matmul")
    choose_all(application)
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    return count


def test_all_gpus_are_offered_where_there_are_several(open_window: OpenWindow) -> None:
    one, two = open_window(), open_window(devices=two_gpus())
    assert one.panes.plan_bar.device_box.findText("All 2 GPUs") == -1
    assert two.panes.plan_bar.run_devices() == (DEVICE,)
    choose_all(two)
    assert two.panes.plan_bar.run_devices() == (DEVICE, TWIN)
    assert "on all 2 GPUs at once" in two.panes.plan_bar._message.whole_text


def test_a_run_on_all_gpus_is_one_session(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = open_window(devices=two_gpus())
    count = run_on_all(application, qtbot)
    assert application.panes.cards.notice_texts == []
    session = load(application.model.session.path)
    assert len(session.points) == application.table.rowCount() == count
    assert [device.uuid for device in session.devices] == [DEVICE.uuid, TWIN.uuid]
    used = {device.uuid for point in session.points if (device := session.device_of(point))}
    assert used == {DEVICE.uuid, TWIN.uuid}
    for point in session.points:
        device = session.device_of(point)
        assert device is not None
        assert {ceiling.device_uuid for ceiling in session.roofline_of(point).ceilings} == {device.uuid}
    # And once more, then on one of the two: all into the same file, whose ceilings are known.
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    application.panes.plan_bar.device_box.setCurrentIndex(1)
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    again = load(application.model.session.path)
    assert again.path == session.path
    assert len(again.points) == 3 * count
    assert len(again.ceilings) == len(session.ceilings)
    assert application.panes.cards.notice_texts == []


def test_the_chart_shows_one_device_and_follows_the_selection(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = open_window(devices=two_gpus())
    run_on_all(application, qtbot)
    chart, model = application.panes.chart, application.model
    assert chart.bar.devices.isVisible()

    def shown() -> set[str]:
        numbers = [point.number for point in (*chart.scene.points, *chart.scene.strip)]
        points = [model.point(number) for number in numbers]
        return {point.job.device for point in points if point}

    of_twin = next(p.number for p in model.session.points if p.job.device == TWIN.id and p.measured)
    application.selection.select(of_twin)
    qtbot.waitUntil(lambda: shown() == {TWIN.id})
    assert chart.bar.devices.currentText() == TWIN.id
    assert {line.ceiling.device_uuid for line in chart.scene.lines} == {TWIN.uuid}
    application.selection.select(None)
    chart.bar.devices.setCurrentIndex(0)
    chart.bar.devices.activated.emit(0)
    qtbot.waitUntil(lambda: shown() == {DEVICE.id})
    assert {line.ceiling.device_uuid for line in chart.scene.lines} == {DEVICE.uuid}
    assert load(model.session.path).points == model.session.points


def test_stop_ends_all(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = open_window(mode="held", devices=two_gpus())
    tick_only(application, "softmax", "gelu", "matmul")
    choose_all(application)
    press(application, CommandId.RUN)
    qtbot.waitUntil(lambda: len({point.job.device for point in application.model.session.points}) == 2)
    press(application, CommandId.STOP)
    until_idle(application, qtbot)
    assert len({point.job.id for point in application.model.session.points}) == 2


def test_one_device_shows_no_choice_of_devices(open_window: OpenWindow, session_file: Path) -> None:
    assert not open_window(session_file).panes.chart.bar.devices.isVisible()


def answer(application: Application, qtbot: QtBot, text: str) -> QMessageBox:
    """Press the button of the question, which comes after a longer look."""
    qtbot.waitUntil(lambda: application.shared_gpu.question is not None)
    box = application.shared_gpu.question
    assert box is not None
    button: QAbstractButton = next(one for one in box.buttons() if text in one.text())
    button.click()
    return box


def test_it_asks_before_it_measures_where_others_compute(open_window: OpenWindow, qtbot: QtBot) -> None:
    devices = FakeDevices()
    devices.others = COMPUTING
    application = open_window(devices=devices)
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    assert not application.controller.is_running
    box = answer(application, qtbot, "Cancel")
    assert "4711" in box.text()
    assert "computes on NVIDIA H200 (cuda:0)" in box.text()
    assert not application.controller.is_running
    press(application, CommandId.RUN)
    answer(application, qtbot, "nevertheless")
    qtbot.waitUntil(lambda: application.controller.is_running or application.table.rowCount() > 0)
    until_idle(application, qtbot)
    assert application.table.rowCount() > 0


def test_memory_alone_is_said_and_measured(open_window: OpenWindow, qtbot: QtBot) -> None:
    devices = FakeDevices()
    devices.others = Sharing((4711,), utilization=0.0)
    application = open_window(devices=devices)
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    assert application.controller.is_running
    until_idle(application, qtbot)
    [notice] = application.panes.cards.notice_texts
    assert notice.startswith("Process 4711 holds memory on NVIDIA H200 (cuda:0)")


@pytest.mark.parametrize("command", [CommandId.RUN, CommandId.PROBE, CommandId.TRACE])
def test_all_that_measures_asks_where_others_compute(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path, command: CommandId
) -> None:
    devices = FakeDevices()
    application = open_window(session_file, devices=devices)
    tick_only(application, "softmax")
    point = next(point for point in application.model.session.points if point.measured)
    application.selection.select(point.number)
    devices.others = COMPUTING
    press(application, command)
    answer(application, qtbot, "Cancel")
    assert not application.controller.is_running
    assert application.link.worker_pid is None


def test_a_restart_asks_where_others_compute(open_window: OpenWindow, qtbot: QtBot) -> None:
    devices = FakeDevices()
    application = open_window(devices=devices)
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    devices.others = COMPUTING
    application.panes.cards.restart_asked.emit()
    answer(application, qtbot, "Cancel")
    assert not application.controller.is_running
