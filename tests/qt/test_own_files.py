"""File > Open kernel and drop: the form of a user's file, what it lacks, and its kernel in the library."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QDialogButtonBox, QLabel, QMainWindow

from roofscope.app.window import own_files
from roofscope.app.window.commands import CommandId
from roofscope.app.window.shell.kernel_folders_dialog import TrustDialog
from roofscope.app.window.shell.open_kernel_dialog import OpenKernelDialog
from roofscope.profiling.planning.derivation import Derivation, Question
from roofscope.profiling.planning.one_file import complete as completing
from roofscope.profiling.planning.one_file.form import read_form
from roofscope.profiling.planning.spec import TensorSpec, WorkFormula
from roofscope.tests.public_files import PUBLIC, Tried
from roofscope.tests.public_files import TUTORIALS as OF_TUTORIALS
from roofscope.tests.qt.conftest import OpenWindow, QtBot

TUTORIALS = Path(__file__).parents[1] / "data" / "tutorials"
FOUND = Derivation(
    WorkFormula("5*rows*cols", "rows*cols*s", "rows*cols*s"), (TensorSpec("y", ("rows", "cols")),)
)


@pytest.fixture(autouse=True)
def derived(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child with torch, which takes seconds to start, is tested by itself."""
    monkeypatch.setattr(completing, "derive", lambda _question: FOUND)


def drop(window: QMainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    none = Qt.KeyboardModifier.NoModifier
    event = QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, none)
    window.dropEvent(event)


def test_a_dropped_file_is_asked_for_its_form_and_becomes_a_kernel(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    one = open_window()
    qtbot.waitUntil(lambda: bool(one.library.catalog.kernels))
    shutil.copy(TUTORIALS / "eager_softmax.py", tmp_path)
    drop(one.window, tmp_path / "eager_softmax.py")
    qtbot.waitUntil(lambda: bool(one.window.findChildren(OpenKernelDialog)))
    (dialog,) = one.window.findChildren(OpenKernelDialog)
    assert dialog.function.currentText() == "softmax"
    assert dialog.reference.text() == "torch.softmax(x, dim=-1)"
    assert dialog.inputs.text() == "x=4096x4096"
    assert dialog.call.text() == "softmax(x)"
    assert dialog.grid.isHidden()
    button = dialog.buttons.button(QDialogButtonBox.StandardButton.Open)
    dialog.inputs.setText("x=lots")
    button.click()
    qtbot.waitUntil(lambda: dialog._fault.text().startswith("--input 'x=lots' is no tensor"))
    assert not (tmp_path / "eager_softmax.roofscope.py").exists()
    dialog.inputs.setText("x=512x256")
    button.click()
    qtbot.waitUntil(lambda: one.library.catalog.kernel("eager_softmax.py") is not None)
    qtbot.waitUntil(
        lambda: [*filter(None, one.library.checked().values())] == [one.library.checked()["eager_softmax.py"]]
    )
    assert read_form(tmp_path / "eager_softmax.roofscope.py").sizes == {"rows": 512, "cols": 256}
    stems = [found.stem for found in one.library.checked()["eager_softmax.py"]]
    assert stems == ["eager", "compile_default", "eager_softmax"]
    qtbot.waitUntil(one.window.actions_of[CommandId.RUN].isEnabled)


def test_a_file_whose_form_is_there_is_only_trusted(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    one = open_window()
    qtbot.waitUntil(lambda: bool(one.library.catalog.kernels))
    source = tmp_path / "eager_softmax.py"
    shutil.copy(TUTORIALS / "eager_softmax.py", source)
    asked = own_files.Asked(source, ("softmax",), "torch.softmax(x, -1)", ("x=64x32",))
    assert not isinstance(own_files._made(asked), str)
    one.own_files.open(source)
    qtbot.waitUntil(lambda: bool(one.window.findChildren(TrustDialog)))
    (dialog,) = one.window.findChildren(TrustDialog)
    assert dialog.windowTitle() == "Trust this file?"
    assert one.library.catalog.kernel("eager_softmax.py") is None
    dialog._trust(own_files.survey_form(tmp_path / "eager_softmax.roofscope.py"))
    qtbot.waitUntil(lambda: one.library.catalog.kernel("eager_softmax.py") is not None)


def test_a_bare_kernel_is_asked_for_its_launch(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    one = open_window()
    shutil.copy(TUTORIALS / "vector_add.cu", tmp_path)
    one.own_files.open(tmp_path / "vector_add.cu")
    qtbot.waitUntil(lambda: bool(one.window.findChildren(OpenKernelDialog)))
    (dialog,) = one.window.findChildren(OpenKernelDialog)
    assert (dialog.grid.text(), dialog.block.text()) == ("cdiv(numElements, 256)", "256")
    assert not dialog.grid.isHidden()
    dialog.reject()


def test_of_a_package_the_first_files_are_named_and_all_in_the_tip(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    one = open_window()
    for number in range(20):
        (tmp_path / f"m{number}.py").write_text("")
    imports = "".join(f"import m{number}\n" for number in range(20))
    (tmp_path / "f.py").write_text(f"{imports}def f(x):\n    return x\n")
    one.own_files.open(tmp_path / "f.py")
    qtbot.waitUntil(lambda: bool(one.window.findChildren(OpenKernelDialog)))
    (dialog,) = one.window.findChildren(OpenKernelDialog)
    (said,) = (found for found in dialog.findChildren(QLabel) if "will run with all" in found.text())
    assert said.text().startswith("f.py, m0.py, m1.py, m2.py, m3.py and 16 files beside it will run")
    assert "m19.py" in said.toolTip()
    dialog.reject()


def test_a_file_without_a_function_is_a_notice(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    one = open_window()
    (tmp_path / "empty.py").write_text("x = 3\n")
    one.own_files.open(tmp_path / "empty.py")
    qtbot.waitUntil(
        lambda: any("no function that takes tensors" in text for text in one.panes.cards.notice_texts)
    )


@pytest.mark.parametrize("one", [*PUBLIC, *OF_TUTORIALS], ids=lambda one: one.name)
def test_a_public_file_or_a_tutorial_is_opened_by_drop(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: Tried
) -> None:
    """Each becomes a kernel with nothing but what the table says of it."""
    window = open_window()
    qtbot.waitUntil(lambda: bool(window.library.catalog.kernels))
    parts = Path(one.file).parts
    shutil.copytree(one.path.parents[len(parts) - 2], tmp_path / "data")
    source = tmp_path / "data" / Path(*parts[1:])
    drop(window.window, source)
    qtbot.waitUntil(lambda: bool(window.window.findChildren(OpenKernelDialog)))
    (dialog,) = window.window.findChildren(OpenKernelDialog)
    if one.function:
        dialog.function.setCurrentText(one.function)
        assert dialog.function.currentText() == one.function
    for field, text in (
        (dialog.reference, one.reference),
        (dialog.inputs, " ".join(one.inputs)),
        (dialog.call, one.call),
        (dialog.grid, one.grid),
        (dialog.block, one.block),
    ):
        if text:
            field.setText(text)
    monkeypatch.setattr(completing, "derive", lambda question: _derived(question, one))
    dialog.buttons.button(QDialogButtonBox.StandardButton.Open).click()
    qtbot.waitUntil(lambda: window.library.catalog.kernel(source.name) is not None)


def _derived(question: Question, one: Tried) -> Derivation:
    """As many outputs as the call writes to, of the first input's shape."""
    shape = question.inputs[0].shape
    count = 3 if one.file.endswith("layernorm_forward.cu") else 1
    outputs = tuple(TensorSpec(f"y{number}", shape) for number in range(count))
    return Derivation(WorkFormula("1", "1", "1"), outputs)
