"""The source pane: what it shows of a point, beside what, and how it is read from the keyboard."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.source.highlight import Word, code_colours, highlighted
from roofscope.app.presentation.source.pages import Page
from roofscope.app.presentation.source.sheet import Ground, aligned_sheets, sheet_of
from roofscope.app.presentation.source.texts import Language, shown_text
from roofscope.app.presentation.tokens import DARK, LIGHT, Theme
from roofscope.app.window.application import Application
from roofscope.app.window.commands import CommandId
from roofscope.app.window.panes import source
from roofscope.app.window.panes.source import SourcePane
from roofscope.app.window.widgets.code_view import CodeView
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.contrast import contrast
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.sessions import make_session

H200 = ASSETS / "sessions" / "h200.roofscope"


@pytest.fixture
def application(open_window: OpenWindow) -> Application:
    return open_window(H200)


def point_of(application: Application, key: str) -> Point:
    return next(one for one in application.model.session.points if one.implementation.key == key)


def shown(application: Application, qtbot: QtBot, point: Point) -> SourcePane:
    """The pane in view with a point's source in both halves."""
    pane = application.panes.source
    application.window.docks["Source"].raise_()
    application.selection.select(point.number)
    qtbot.waitUntil(lambda: pane.left.sheet is not None)
    qtbot.waitUntil(lambda: pane.right.isHidden() or pane.right.sheet is not None)
    return pane


def turned(pane: SourcePane, qtbot: QtBot, page: Page) -> None:
    before = pane.left.sheet
    pane.show_page(page)
    assert pane.page is page
    qtbot.waitUntil(lambda: pane.left.sheet is not None and pane.left.sheet is not before)
    qtbot.waitUntil(lambda: pane.right.isHidden() or pane.right.sheet is not None)


def test_it_says_what_to_do_before_anything_is_selected(application: Application) -> None:
    application.window.docks["Source"].raise_()
    assert application.panes.source._stack.currentWidget() is application.panes.source._empty


def test_a_point_stands_beside_another_implementation_of_its_kernel(
    application: Application, qtbot: QtBot
) -> None:
    point = point_of(application, "softmax/triton_online")
    pane = shown(application, qtbot, point)
    [file] = application.model.session.sources[point.implementation.source_hash]
    assert pane.left.view.toPlainText() == file.text.removesuffix("\n")
    assert pane.other_box.currentText() == "eager PyTorch"
    qtbot.waitUntil(lambda: "torch.softmax" in pane.right.view.toPlainText())
    assert pane.lesson.text.startswith("Softmax in Triton for rows of any length")
    assert pane.lesson.isVisible()


def test_another_one_can_be_chosen_and_stays_chosen(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    index = pane.other_box.findText("CUDA cluster")
    pane.other_box.setCurrentIndex(index)
    pane.other_box.activated.emit(index)
    qtbot.waitUntil(lambda: "over_cluster" in pane.right.view.toPlainText())
    application.selection.select(point_of(application, "softmax/eager").number)
    qtbot.waitUntil(lambda: "torch.softmax" in pane.left.view.toPlainText())
    assert pane.other_box.currentText() == "CUDA cluster"
    pane.other_box.setCurrentIndex(0)
    pane.other_box.activated.emit(0)
    qtbot.waitUntil(pane.right.isHidden)
    assert Page.DIFFERENCE not in [pane.tabs.tabText(index) for index in range(pane.tabs.count())]


def test_the_difference_is_aligned_and_scrolls_together(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    turned(pane, qtbot, Page.DIFFERENCE)
    qtbot.waitUntil(lambda: pane.right.sheet is not None and pane.next_button.isEnabled())
    left, right = pane.left.sheet, pane.right.sheet
    assert left is not None
    assert right is not None
    assert len(left.lines) == len(right.lines)
    bar = pane.left.view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    assert bar.value() > 0
    assert pane.right.view.verticalScrollBar().value() == bar.value()
    pane.go_to_next_change()
    first = pane.left.view.textCursor().blockNumber()
    pane.go_to_next_change()
    assert pane.left.view.textCursor().blockNumber() != first
    assert pane.right.view.textCursor().blockNumber() == pane.left.view.textCursor().blockNumber()


def test_a_short_text_does_not_hold_a_long_one_back(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    bar = pane.left.view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(bar.maximum())
    assert bar.value() == bar.maximum()
    assert pane.right.view.verticalScrollBar().maximum() < bar.value()


def test_a_launch_is_told_in_facts(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    turned(pane, qtbot, Page.LAUNCH)
    text = pane.left.view.toPlainText()
    assert text.startswith("_softmax\n")
    assert "Registers" in text


def test_find_opens_within_counts_and_goes_round(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    view, search = pane.left.view, pane.search
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert search.isVisible()
    search.line.setText("tl.load")
    assert search.count.text() == "2 found"
    first = view.textCursor().selectionStart()
    assert view.textCursor().selectedText() == "tl.load"
    search.go_on()
    second = view.textCursor().selectionStart()
    assert second > first
    search.go_on()
    assert view.textCursor().selectionStart() == first
    search.go_back()
    assert view.textCursor().selectionStart() == second
    search.line.setText("no such words")
    assert search.count.text() == "not found"
    qtbot.keyClick(search.line, Qt.Key.Key_Escape)
    assert search.isHidden()


def test_what_is_copied_is_the_text_and_nothing_else(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, point_of(application, "softmax/cuda_cluster"))
    files = application.model.session.sources[
        point_of(application, "softmax/cuda_cluster").implementation.source_hash
    ]
    pane.left.view.selectAll()
    pane.left.view.copy()
    copied = QGuiApplication.clipboard().text()
    for file in files:
        assert file.text.strip() in copied
    assert "cuda_cluster.cu\n" not in copied.split("//")[0]  # the heading is no part of it


def test_the_users_own_file_is_opened(application: Application, qtbot: QtBot) -> None:
    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    asked: list[Path] = []
    pane.open_asked.disconnect()
    pane.open_asked.connect(asked.append)
    assert pane.open_button.isEnabled()
    pane.open_button.click()
    assert [path.name for path in asked] == ["triton_online.py"]
    assert asked[0].is_file()


def written(path: Path, *codes: Code) -> Path:
    """A session with a failed point, and generated code of a measured one; names and logs are hostile."""
    measured = make_session().points[0]
    other = replace(measured.implementation, variant="<b>x</b>", source_hash="other")
    log = 'File "/x/eager.py", line 2, in run\nNameError: \x1b[31m<b>no</b>'
    with SessionStore.create(path) as store:
        store.add_sources(measured.implementation, [SourceFile("eager.py", "", "import torch\nfail()\n")])
        store.add_outcome(
            measured.job,
            measured.implementation,
            Failed(FailureKind.BUILD_ERROR, Stage.BUILD, "No.", log),
        )
        store.add_code(measured.job, measured.implementation, codes)
        store.add_outcome(measured.job, other, measured.outcome)
    return path


def test_the_failing_line_is_marked_with_what_was_said_of_it(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    application = open_window(written(tmp_path / "a.roofscope"))
    pane = shown_left(application, qtbot, 1)
    assert pane.left.sheet is not None
    [line] = [line for line in pane.left.sheet.lines if line.ground is Ground.FAILING]
    assert (line.number, line.text) == (2, "fail()")
    assert line.tip == "NameError: \\x1b[31m<b>no</b>"
    assert pane.next_button.isEnabled()
    assert "did not keep the files" in pane.right.said


def shown_left(application: Application, qtbot: QtBot, number: int) -> SourcePane:
    pane = application.panes.source
    application.window.docks["Source"].raise_()
    application.selection.select(number)
    qtbot.waitUntil(lambda: pane.left.sheet is not None and "import" in pane.left.view.toPlainText())
    qtbot.waitUntil(lambda: not pane.right.said.startswith("Reading"))
    return pane


def test_generated_code_has_a_page_a_kind(open_window: OpenWindow, qtbot: QtBot, tmp_path: Path) -> None:
    codes = (Code(CodeKind.PTX, "k", "ret;\x1b[2J"), Code(CodeKind.SASS, "k", "EXIT ;"))
    application = open_window(written(tmp_path / "a.roofscope", *codes))
    pane = shown_left(application, qtbot, 1)
    qtbot.waitUntil(lambda: pane.tabs.count() == 5)
    assert [pane.tabs.tabText(index) for index in range(5)] == [
        "Source",
        "Difference",
        "Launch",
        "PTX",
        "SASS",
    ]
    pane.show_page(Page.PTX)
    qtbot.waitUntil(lambda: pane.left.view.toPlainText() == "ret;\\x1b[2J")
    qtbot.waitUntil(lambda: "kept no generated code" in pane.right.said)


def test_code_that_comes_while_its_point_is_shown_gets_its_page(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.roofscope")
    application = open_window(path)
    pane = shown_left(application, qtbot, 1)
    point = application.model.session.points[0]
    with SessionStore.append(path) as store:
        kept = store.add_code(point.job, point.implementation, [Code(CodeKind.TTIR, "k", "module {}")])
    application.model.add_code(kept)
    qtbot.waitUntil(lambda: "TTIR" in [pane.tabs.tabText(index) for index in range(pane.tabs.count())])


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_words_can_be_read_on_every_ground(theme: Theme) -> None:
    colours = code_colours(theme)
    marks = (colours.removed, colours.removed_mark, colours.added, colours.added_mark, colours.failing)
    for ground in (theme.surface, theme.window, *marks):
        for colour in (*colours.words.values(), theme.text):
            assert contrast(colour, ground) >= 4.5, (colour, ground)
    for ground in (theme.surface, theme.window, colours.removed, colours.added):
        assert contrast(theme.text_muted, ground) >= 4.5, ground  # the numbers


def test_only_lines_in_view_are_coloured(qapp: QApplication, qtbot: QtBot) -> None:
    """Ten thousand lines at once would hold the window up for half a second."""
    source = shown_text("a.py", "\n".join(f"x = {number}  # a number" for number in range(10_000)))
    view = CodeView("source", LIGHT)
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show_sheet(sheet_of([source]))
    view.grab()
    assert 0 < len(view._painted) < 200
    formats = view.document().firstBlock().layout().formats()
    colours = code_colours(LIGHT).words
    assert [(one.start, one.length, one.format.foreground().color().name()) for one in formats][-1] == (
        7,
        10,
        colours[Word.COMMENT].lower(),
    )
    view.go_to(9_000)
    view.grab()
    assert 9_000 in view._painted
    assert len(view._painted) < 400
    view.set_theme(DARK)
    view.grab()
    assert len(view._painted) < 200


def test_words_are_known_in_every_language() -> None:
    texts = {
        "a.py": ("def run(x):  # c", Word.KEYWORD),
        "a.cu": ('__global__ void k(float* x) { asm("x"); }', Word.STRING),
        "a.ptx": ("add.f32 %f1, %f2, 0f00000000; // c", Word.COMMENT),
        "a.ttir": ("%0 = arith.addf %1, %2 : tensor<8xf32>", Word.KEYWORD),
        "a.ll": ("%1 = add i32 %0, 1 ; c", Word.COMMENT),
        "a.sass": ("        /*0010*/  MOV R1, c[0x0][0x28] ;", Word.COMMENT),
    }
    for name, (text, expected) in texts.items():
        language = {"a.ttir": Language.MLIR, "a.ll": Language.LLVM}.get(name)
        [runs] = highlighted(shown_text(name, text, language))
        assert expected in {word for _, _, word in runs}, (name, runs)
        assert all(text[start : start + count].strip() for start, count, _ in runs)


def test_both_sides_of_a_difference_have_as_many_lines() -> None:
    left = [shown_text("a.cu", "1\n2\n3"), shown_text("a.py", "x")]
    right = [shown_text("b.py", "x\ny")]
    one, other = aligned_sheets(left, right)
    assert len(one.lines) == len(other.lines)
    assert [line.text for line in other.lines if line.ground is Ground.HEADING] == ["b.py", "nothing"]


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_run_keeps_generated_code_where_it_is_asked_to(
    open_window: OpenWindow, qtbot: QtBot, is_asked: bool
) -> None:
    application = open_window()
    action = application.window.actions_of[CommandId.KEEP_CODE]
    assert action.isCheckable()
    assert not action.isChecked()
    if is_asked:
        action.trigger()
    library = application.library
    library.set_all(False)
    for row in range(library.rowCount()):
        index = library.index(row, 0)
        if index.data() == "gelu":
            library.setData(index, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    application.commands.run()
    qtbot.waitUntil(lambda: bool(application.model.session.points) and not application.controller.is_running)
    session = application.model.session
    assert len(session.codes) == (len(session.points) if is_asked else 0)
    assert all(point.job.keeps_code is is_asked for point in session.points)


def test_a_page_that_cannot_be_laid_out_is_a_sentence(
    application: Application, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RecursionError("too deep")

    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    monkeypatch.setattr(source, "spread_of", failing)
    pane.show_page(Page.LAUNCH)
    qtbot.waitUntil(lambda: pane.left.said == "This page cannot be shown: RecursionError: too deep")


def test_nothing_is_looked_for_while_the_pane_is_out_of_view(application: Application, qtbot: QtBot) -> None:
    pane = application.panes.source
    application.selection.select(point_of(application, "softmax/triton_online").number)
    assert pane._point is None
    application.window.docks["Source"].raise_()
    qtbot.waitUntil(lambda: pane.left.sheet is not None)


def test_kernels_within_inductors_code_have_their_own_colours() -> None:
    kernel = "r'''\n#include <x>\nint a = 1;  // c\n''')"
    text = f"import torch\nk = async_compile.cpp_pybinding([], {kernel}\ny = 1\n"
    runs = highlighted(shown_text("graph", text, Language.INDUCTOR))
    assert len(runs) == 6
    assert runs[2][0][2] is Word.META
    assert runs[3][-1][2] is Word.COMMENT
    assert runs[5][0][2] is Word.NUMBER


def test_the_difference_of_two_equal_texts_says_that_there_is_none(
    application: Application, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out = source._laid_out
    monkeypatch.setattr(
        source, "_laid_out", lambda session, page, point, _other: laid_out(session, page, point, point)
    )
    pane = shown(application, qtbot, point_of(application, "softmax/triton_online"))
    turned(pane, qtbot, Page.DIFFERENCE)
    qtbot.waitUntil(lambda: pane.next_button.text() == "No difference")
    assert not pane.next_button.isEnabled()
    turned(pane, qtbot, Page.SOURCE)
    qtbot.waitUntil(lambda: pane.next_button.text() == "Next change")
