"""Folders of kernels in the window: nothing of one runs before it is trusted."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.settings import Settings
from roofscope.app.window.shell.kernel_folders_dialog import KernelFoldersDialog, TrustDialog
from roofscope.profiling.paths import LIBRARY, UserPaths
from roofscope.profiling.planning.survey import survey
from roofscope.profiling.planning.trust import Trust
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.qt.test_runs import press, tick_only, until_idle


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """One kernel of the user's, whose spec notes that it was run."""
    folder = tmp_path / "kernels" / "own_add"
    shutil.copytree(LIBRARY / "vector_add", folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = folder / "spec.py"
    text = spec.read_text().replace('"vector_add"', '"own_add"')
    spec.write_text(f"{text}\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    return folder.parent


def record(paths: UserPaths, *folders: Path) -> None:
    settings = Settings(paths.settings)
    settings.kernel_folders = folders


def names(application: Application) -> set[str]:
    return {kernel.spec.name for kernel in application.library.kernels}


def texts(widget: QWidget) -> str:
    return "\n".join(found.text() for found in widget.findChildren(QLabel) if found.isVisible())


def click(widget: QWidget, text: str) -> None:
    [button] = [one for one in widget.findChildren(QAbstractButton) if one.text() == text]
    button.click()


def dialog_of(application: Application, qtbot: QtBot, kind: type[QWidget]) -> QWidget:
    def shown() -> list[QWidget]:
        return [one for one in application.window.findChildren(kind) if one.isVisible()]

    qtbot.waitUntil(lambda: len(shown()) == 1)
    return shown()[0]


def test_a_folder_that_is_trusted_is_used_from_the_start(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, kernels: Path
):
    Trust(paths.trusted).add(survey(kernels))
    record(paths, kernels)
    application = open_window()
    qtbot.waitUntil(lambda: "own_add" in names(application))
    count = tick_only(application, "own_add")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    session = load(application.model.session.path)  # the worker was given the folder too
    assert len([point for point in session.points if point.measured]) == count
    assert application.panes.cards.notice_texts == []


def test_nothing_of_a_folder_that_is_not_trusted_runs(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, kernels: Path, tmp_path: Path
):
    record(paths, kernels, tmp_path / "gone")
    application = open_window()
    qtbot.waitUntil(lambda: len(application.panes.cards.notice_texts) == 2)
    first, second = application.panes.cards.notice_texts
    assert first.startswith(f"{kernels} is not used: it was not trusted yet.")
    assert second.startswith(f"{tmp_path / 'gone'} is not used: it cannot be read: ")
    press(application, CommandId.RUN)
    until_idle(application, qtbot)
    assert "own_add" not in names(application)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("answer", ["Trust", "Not now"])
def test_a_new_folder_is_shown_before_it_is_taken(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, kernels: Path, tmp_path: Path, answer: str
):
    application = open_window()
    application.folder_commands.look_at(kernels)
    dialog = dialog_of(application, qtbot, TrustDialog)
    said = texts(dialog)
    assert str(kernels) in said
    assert "1 kernel in " in said
    assert "eager.py" in said
    assert not (tmp_path / "ran").exists()
    click(dialog, answer)
    if answer == "Trust":
        qtbot.waitUntil(lambda: "own_add" in names(application))
        assert application.settings.kernel_folders == (kernels,)
    else:
        assert application.settings.kernel_folders == ()
        assert Trust(paths.trusted).folders == ()
        assert not (tmp_path / "ran").exists()


def test_a_folder_changed_by_others_is_used_no_longer(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, kernels: Path
):
    Trust(paths.trusted).add(survey(kernels))
    record(paths, kernels)
    application = open_window()
    qtbot.waitUntil(lambda: "own_add" in names(application))
    (kernels / "own_add" / "spec.py").chmod(0o666)
    press(application, CommandId.PROBE)
    until_idle(application, qtbot)
    assert "own_add" not in names(application)
    press(application, CommandId.KERNELS)
    dialog = dialog_of(application, qtbot, KernelFoldersDialog)
    assert "Not used: others may write to it." in texts(dialog)
    click(dialog, "Look...")
    click(dialog_of(application, qtbot, TrustDialog), "Trust")
    qtbot.waitUntil(lambda: "own_add" in names(application))


def test_a_folder_that_is_removed_is_used_no_longer(
    open_window: OpenWindow, qtbot: QtBot, paths: UserPaths, kernels: Path
):
    Trust(paths.trusted).add(survey(kernels))
    record(paths, kernels)
    application = open_window()
    qtbot.waitUntil(lambda: "own_add" in names(application))
    press(application, CommandId.KERNELS)
    dialog = dialog_of(application, qtbot, KernelFoldersDialog)
    click(dialog, "Remove")
    qtbot.waitUntil(lambda: "own_add" not in names(application))
    qtbot.waitUntil(lambda: "Only the program's own kernels" in texts(dialog))
    assert application.settings.kernel_folders == ()


def test_a_folder_added_during_a_run_is_taken_after_it(open_window: OpenWindow, qtbot: QtBot, kernels: Path):
    application = open_window(mode="slow")
    tick_only(application, "softmax")
    press(application, CommandId.RUN)
    application.folder_commands.trust(survey(kernels))
    qtbot.waitUntil(lambda: application.folder_commands._is_late)
    assert "own_add" not in names(application)
    press(application, CommandId.STOP)
    qtbot.waitUntil(lambda: "own_add" in names(application))


@pytest.mark.parametrize(("make", "words"), [(Path.mkdir, "holds no kernel"), (Path.touch, "cannot be read")])
def test_a_folder_without_a_kernel_is_said(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path, make: Callable[[Path], None], words: str
):
    make(tmp_path / "other")
    application = open_window()
    application.folder_commands.look_at(tmp_path / "other")
    qtbot.waitUntil(lambda: bool(application.panes.cards.notice_texts))
    assert words in application.panes.cards.notice_texts[0]


def test_the_library_says_what_is_wrong_with_folders(open_window: OpenWindow, kernels: Path):
    for name in ("a<b>", "c", "d", "e", "vector_add"):
        (kernels / name).mkdir()
        (kernels / name / "spec.py").write_text("exit()")
    (kernels / "own_add" / "util.py").symlink_to("nowhere")
    reasons = open_window(kernel_roots=(kernels,)).panes.library._reasons
    assert "a<b>/spec.py cannot be used: it ends the program" in reasons.text()
    assert "and 3 more problems" in reasons.text()
    assert "own_add/util.py is left out" in reasons.toolTip()
    assert f"vector_add stands for {LIBRARY / 'vector_add'}" in reasons.toolTip()
    assert "a&lt;b&gt;" in reasons.toolTip()
    assert reasons.textFormat() == Qt.TextFormat.PlainText
