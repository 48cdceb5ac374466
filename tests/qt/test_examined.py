"""A window without a GPU: what needs one is interpreted and compiled, and nothing says a time."""

import shutil
from pathlib import Path

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS, UserPaths
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Examined
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.qt.stand_ins import FakeDevices
from roofscope.tests.qt.test_runs import press, tick_only, until_idle


def labels_of(application: Application) -> list[str]:
    details = application.panes.details
    return [label.text() for label in details.findChildren(QLabel) if label.isVisibleTo(details)]


def test_a_laptop_is_offered_it_and_runs_it(open_window: OpenWindow, qtbot: QtBot, paths: UserPaths) -> None:
    application = open_window(devices=FakeDevices((cpu_device(),)))
    bar, library = application.panes.plan_bar, application.library
    qtbot.waitUntil(lambda: bool(library.kernels))
    tick_only(application, "vector_add")
    assert "Without a GPU, choose GPU code" in application.watch.sentence
    assert {one.provider for one in library.checked()["vector_add"]} <= {Provider.EAGER, Provider.COMPILE}
    assert bar.architecture_box.isVisibleTo(bar)
    bar.choose_architecture("sm_89")
    tick_only(application, "vector_add")
    chosen = library.checked()["vector_add"]
    assert {Provider.TRITON, Provider.CUDA} <= {one.provider for one in chosen}
    assert "sm_89, untimed" in application.watch.sentence
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    points = application.model.session.points
    examined = [point for point in points if isinstance(point.outcome, Examined)]
    assert {point.implementation.provider for point in examined} == {Provider.TRITON, Provider.CUDA}
    assert all(point.job.architecture == "sm_89" for point in points)
    drawn = {point.number for point in application.panes.chart.scene.points}
    assert drawn.isdisjoint(point.number for point in examined)


def test_the_choice_is_kept_and_a_gpu_hides_it(open_window: OpenWindow, qtbot: QtBot) -> None:
    application = open_window()
    bar = application.panes.plan_bar
    assert not bar.architecture_box.isVisibleTo(bar)
    bar.choose_architecture("sm_80")
    assert bar.architecture() == ""
    bar.device_box.setCurrentIndex(1)
    assert bar.architecture() == "sm_80"
    application.window.close()
    again = open_window()
    assert again.panes.plan_bar.chosen_architecture == "sm_80"


def test_the_time_of_another_machine_stands_beside_it_and_is_marked(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths
) -> None:
    paths.example.parent.mkdir(parents=True)
    shutil.copy(ASSETS / "sessions" / "h200.roofscope", paths.example)
    application = open_window(devices=FakeDevices((cpu_device(),)))
    bar = application.panes.plan_bar
    qtbot.waitUntil(lambda: bool(application.library.kernels))
    application.controller.new_session(bar.device())
    bar.choose_architecture("sm_90")
    tick_only(application, "vector_add")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    point = next(
        point
        for point in application.model.session.points
        if point.implementation.key == "vector_add/triton_tiles"
    )
    application.selection.select(point.number)
    qtbot.waitUntil(lambda: any(text.startswith("NVIDIA H200: ") for text in labels_of(application)))
    shown = labels_of(application)
    assert shown[shown.index("Here") + 1] == "none: it did not run on a GPU"
    assert shown[shown.index("Recorded") + 1].startswith("NVIDIA H200: ")


def test_an_older_settings_file_has_no_architecture(paths: UserPaths, open_window: OpenWindow) -> None:
    Path(paths.settings).write_text("{}")
    assert open_window().panes.plan_bar.chosen_architecture == ""
