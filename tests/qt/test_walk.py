"""What a newcomer's clicks and keys met on the way through docs/first-session.md."""

import shutil

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.window.application import Application
from roofscope.app.window.panes.fold import Fold
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shell.projection_dialog import ProjectionDialog
from roofscope.app.window.widgets.choice_box import ChoiceBox
from roofscope.profiling.paths import ASSETS, UserPaths
from roofscope.profiling.results.session_reader import load
from roofscope.tests.qt.conftest import OpenWindow
from roofscope.tests.qt.keyboard import focus, press_keys, tab_until, type_into

SESSIONS = ASSETS / "sessions"
BOUND_THERE = 6  # a column of the projection


@pytest.fixture
def application(open_window: OpenWindow) -> Application:
    return open_window(SESSIONS / "h200.roofscope")


def details_of(application: Application, qtbot: QtBot, number: int) -> QScrollArea:
    application.selection.select(number)
    application.window.show_pane("Details")
    found = application.panes.details.findChild(QScrollArea)
    assert found is not None
    qtbot.waitUntil(lambda: found.isVisible() and found.verticalScrollBar().maximum() > 0)
    return found


def test_another_point_is_shown_from_its_beginning(application: Application, qtbot: QtBot) -> None:
    first, second = [point.number for point in application.model.session.points if point.measured][:2]
    bar = details_of(application, qtbot, first).verticalScrollBar()
    bar.setValue(bar.maximum())
    application.panes.details.set_open(())  # the same point, drawn again
    assert bar.value() > 0
    application.selection.select(second)
    assert bar.value() == 0


def test_a_point_of_another_session_is_shown_from_its_beginning(
    application: Application, qtbot: QtBot
) -> None:
    number = next(point.number for point in application.model.session.points if point.measured)
    bar = details_of(application, qtbot, number).verticalScrollBar()
    bar.setValue(bar.maximum())
    application.commands.sessions.open(SESSIONS / "h200-tour.roofscope")
    qtbot.waitUntil(lambda: application.model.session.path.stem == "h200-tour")
    application.selection.select(number)
    assert bar.value() == 0


def test_a_filter_that_another_session_empties_shows_no_button_to_empty_it(
    application: Application, qtbot: QtBot
) -> None:
    field = application.panes.results.findChild(QLineEdit)
    assert field is not None
    before = field.grab().toImage()
    field.setText("softmax")
    qtbot.wait(400)  # its clear button fades in
    application.commands.sessions.open(SESSIONS / "h200-gelu.roofscope")
    qtbot.waitUntil(lambda: application.model.session.path.stem == "h200-gelu")
    assert not field.text()
    qtbot.waitUntil(lambda: field.grab().toImage() == before)


def test_tab_never_leads_behind_another_pane(application: Application, qtbot: QtBot) -> None:
    window = application.window
    window.resize(1280, 800)
    window.show_pane("Results")
    start = application.panes.results.view
    start.setFocus()
    seen: list[QWidget] = []
    for _ in range(400):
        qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        found = QApplication.focusWidget()
        assert found is not None
        docks = [dock for dock in window.docks.values() if dock.isAncestorOf(found)]
        assert all(not dock.visibleRegion().isEmpty() for dock in docks), found.accessibleName()
        if found in seen:
            break
        seen.append(found)
    assert len(seen) > 10


def test_tab_goes_through_the_details_from_top_to_bottom(application: Application, qtbot: QtBot) -> None:
    point = next(point.number for point in application.model.session.points if point.measured)
    area = details_of(application, qtbot, point)
    folds = area.findChildren(Fold)
    assert len(folds) > 3
    folds[1].button.setChecked(True)  # what it holds is made now
    content = area.widget()
    buttons = [one for one in content.findChildren(QAbstractButton) if not isinstance(one.parent(), Fold)]
    first = next(one for one in buttons if one.isEnabled() and one.isVisible())
    first.setFocus()
    tops: list[int] = []
    while content.isAncestorOf(found := QApplication.focusWidget() or content):
        tops.append(found.mapTo(content, found.rect().topLeft()).y())
        qtbot.keyClick(found, Qt.Key.Key_Tab)
        if len(tops) > 100:
            break
    assert len(tops) >= len(folds)
    assert tops == sorted(tops)
    assert tops[-1] >= folds[-1].button.mapTo(content, folds[-1].button.rect().topLeft()).y()


@pytest.mark.parametrize(
    ("typed", "chosen"), [("RTX 4090", "RTX 4090"), ("4090", "RTX 4090"), ("b200", "B200")]
)
def test_a_gpu_is_chosen_by_typing_its_name(qtbot: QtBot, typed: str, chosen: str) -> None:
    dialog = ProjectionDialog(SessionModel(load(SESSIONS / "h200-gelu.roofscope")), Selection())
    qtbot.addWidget(dialog)
    dialog.show()
    line = dialog.choice.lineEdit()
    assert isinstance(line, QLineEdit)
    line.selectAll()
    qtbot.keyClicks(line, typed)
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert dialog.choice.currentText() == chosen
    assert dialog.isVisible()  # Enter is no Close
    line.selectAll()
    qtbot.keyClicks(line, "no such GPU")
    dialog.view.setFocus()
    line.editingFinished.emit()  # as the focus of a window that is active does
    assert dialog.choice.currentText() == chosen


def test_a_box_has_room_for_its_longest_entry_and_else_an_ellipsis(
    application: Application, qtbot: QtBot
) -> None:
    application.window.resize(2560, 1440)
    boxes = [box for box in application.window.findChildren(ChoiceBox) if box.isVisible() and box.count()]
    assert len(boxes) > 3
    for box in boxes:
        width = box.fontMetrics().horizontalAdvance(box.currentText())
        whole = box.grab().toImage()
        assert box.sizeHint().width() > width + 20
        box.setFixedWidth(box.sizeHint().width() // 2)
        narrow = box.grab().toImage()
        assert narrow.width() < whole.width()


def go_to_row(application: Application, words: str, implementation: str, sizes: str) -> list[str]:
    """Filter, and go down to the row; the sentences of its details."""
    press_keys(application, "Ctrl+F")
    type_into(words)
    QTest.keyClick(focus(), Qt.Key.Key_Down)
    view = application.panes.results.view
    assert QApplication.focusWidget() is view
    QTest.keyClick(view, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    for _ in range(view.model().rowCount()):
        shown = [one.text() for one in application.panes.details.findChildren(QLabel)]
        if implementation in shown and any(text.startswith(sizes) for text in shown):
            return list(application.panes.details.why.texts)
        QTest.keyClick(focus(), Qt.Key.Key_Down)
    raise AssertionError(f"No row is {implementation} at {sizes}")


def test_the_first_session_by_the_keyboard_alone(
    open_window: OpenWindow, paths: UserPaths, qtbot: QtBot
) -> None:
    """All questions of the document in one window; the test gives no widget the focus."""
    paths.example.parent.mkdir(parents=True)
    for name in ("h200", "h200-gelu"):
        shutil.copy(SESSIONS / f"{name}.roofscope", paths.example.with_name(f"{name}.roofscope"))
    application = open_window()
    window, panes = application.window, application.panes
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is panes.chart)
    size = "bf16, rows=32768, cols=4096"
    limit, cost, *_ = go_to_row(application, "softmax", "softmax / eager PyTorch", size)
    assert limit.startswith("How it reads memory limits it, or")
    assert "292.4 µs of its 416.0 µs" in cost
    assert "2.7 µs" in go_to_row(application, "softmax", "softmax / Triton online", size)[1]
    qtbot.waitUntil(window.isActiveWindow)
    for _ in range(6):
        press_keys(application, "Ctrl+Tab")
        if panes.details.isAncestorOf(QApplication.focusWidget() or window):
            break
    qtbot.waitUntil(lambda: all(fold.isVisible() for fold in panes.details.findChildren(Fold)))
    tab_until("Work and roof: show or fold")
    QTest.keyClick(focus(), Qt.Key.Key_Space)
    assert any(one.text().startswith("268 MB") for one in panes.details.findChildren(QLabel))

    from_palette(application, qtbot, "open example h200-gelu")
    qtbot.waitUntil(lambda: application.model.session.path.stem == "h200-gelu")
    window.activateWindow()  # as a desktop does where a dialog closes
    qtbot.waitUntil(lambda: QApplication.focusWidget() is panes.results.view)
    evidence = go_to_row(application, "textbook", "gelu / CUDA textbook", "fp32")[2]
    assert "line 14" in evidence

    press_keys(application, "Ctrl+J")
    [dialog] = window.findChildren(ProjectionDialog)
    qtbot.waitUntil(lambda: dialog.isAncestorOf(QApplication.focusWidget() or window))
    qtbot.wait(50)  # the name is chosen whole
    type_into("RTX 4090")
    QTest.keyClick(focus(), Qt.Key.Key_Return)
    assert dialog.choice.currentText() == "RTX 4090"
    assert dialog.table.index(0, BOUND_THERE).data() == "≥ 533 µs"
    QTest.keyClick(focus(), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not dialog.isVisible())

    window.activateWindow()
    from_palette(application, qtbot, "open example h200 ")
    qtbot.waitUntil(lambda: application.model.session.path.stem == "h200")
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is panes.results.view)
    go_to_row(application, "softmax", "softmax / torch.compile", "bf16, rows=8192, cols=16384")
    from_palette(application, qtbot, "go to pane compile")
    window.activateWindow()
    qtbot.waitUntil(lambda: bool(panes.compile_lab.visibleRegion()))
    qtbot.waitUntil(lambda: panes.compile_lab.isAncestorOf(QApplication.focusWidget() or window))
    assert any("0.861" in one.text() for one in panes.compile_lab.findChildren(QLabel))
    limit, *_ = go_to_row(application, "matmul bf16", "matmul / CUDA wgmma", "bf16, m=8192, n=8192, k=8192")
    assert limit.startswith("Power limits it")


def from_palette(application: Application, qtbot: QtBot, words: str) -> None:
    qtbot.waitUntil(application.window.isActiveWindow)
    press_keys(application, "Ctrl+Shift+P")
    qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit))
    type_into(words)
    QTest.keyClick(focus(), Qt.Key.Key_Return)


def test_the_keyboard_stays_with_a_group_of_facts_that_is_drawn_again(
    application: Application, qtbot: QtBot
) -> None:
    number = next(point.number for point in application.model.session.points if point.measured)
    area = details_of(application, qtbot, number)
    fold = area.findChildren(Fold)[2].button
    fold.setFocus()
    application.panes.details.set_open(())
    name = fold.accessibleName()
    del fold

    def has_keys() -> bool:
        focused = QApplication.focusWidget()
        return focused is not None and focused.accessibleName() == name

    assert not has_keys()
    qtbot.waitUntil(has_keys)


def test_another_session_takes_the_keyboard_from_the_details_straight_to_the_rows(
    open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = open_window(ASSETS / "sessions" / "h200-gelu.roofscope")
    panes = application.panes
    application.selection.select(6)
    panes.details.setFocus()
    taken: list[int] = []
    monkeypatch.setattr(panes.details, "setFocus", lambda *_: taken.append(1))
    application.model.replaced.emit()
    assert application.selection.number is None
    assert application.window.focusWidget() is panes.results.view
    assert not taken
