"""The window as a person uses it: files, selection, keys, names, layout."""

import sqlite3
from pathlib import Path

import msgspec
import PySide6
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.roofline.caption import target_text
from roofscope.app.presentation.tokens import DARK, LIGHT
from roofscope.app.window.application import Application
from roofscope.app.window.chart.hover_card import point_html
from roofscope.app.window.commands import CommandId
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS, UserPaths
from roofscope.profiling.planning.plan import TOUR
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Failed, Measured, Skipped
from roofscope.tests.qt.conftest import OpenWindow, write_session
from roofscope.tests.qt.stand_ins import FakeDevices
from roofscope.tests.sessions import DEVICE

CTRL = Qt.KeyboardModifier.ControlModifier


def drop(application: Application, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    where, button, modifiers = QPoint(50, 50), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    # Qt 6.12 takes a QPointF and warns of the QPoint that Qt up to 6.11 wants. To try and see which ends the
    # process where much is loaded: Shiboken cannot always say what is wrong with an argument.
    place = QPointF(where) if PySide6.__version_info__ >= (6, 12) else where
    enter = QDragEnterEvent(place, Qt.DropAction.CopyAction, data, button, modifiers)
    QApplication.sendEvent(application.window, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(
        application.window, QDropEvent(QPointF(where), Qt.DropAction.CopyAction, data, button, modifiers)
    )


def notices(application: Application) -> list[str]:
    return application.panes.cards.notice_texts


def test_a_session_given_on_the_command_line_fills_the_panes(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    assert application.table.rowCount() == 44
    assert "invented" in application.window.windowTitle()
    assert notices(application) == []


def test_a_dropped_session_opens(open_window: OpenWindow, session_file: Path, qtbot: QtBot):
    application = open_window()
    assert application.table.rowCount() == 0
    drop(application, session_file)
    qtbot.waitUntil(lambda: application.table.rowCount() == 44, timeout=60_000)


def _foreign(path: Path) -> None:
    path.write_text("no database")


def _other_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()


def _truncated(path: Path) -> None:
    write_session(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _absent(path: Path) -> None:
    assert not path.exists()


@pytest.mark.parametrize("spoil", [_foreign, _other_database, _truncated, _absent])
def test_a_bad_file_gives_one_sentence_and_changes_nothing(
    open_window: OpenWindow, session_file: Path, tmp_path: Path, spoil: object, qtbot: QtBot
):
    application = open_window(session_file)
    bad = tmp_path / "bad.roofscope"
    spoil(bad)
    drop(application, bad)
    qtbot.waitUntil(lambda: len(notices(application)) == 1, timeout=60_000)
    assert notices(application)[0].endswith(".")
    assert "bad.roofscope" in notices(application)[0]
    assert application.table.rowCount() == 44
    buttons = application.panes.cards.findChildren(QAbstractButton)
    next(button for button in buttons if button.accessibleName() == "Close this message").click()
    assert notices(application) == []
    assert not application.panes.cards.isVisible()


def test_table_details_and_selection_are_one(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    view = application.panes.results.view
    point = next(p for p in application.model.session.points if p.implementation.provider is Provider.TRITON)
    application.selection.select(point.number)
    rows = application.panes.results.rows
    assert view.selectionModel().selectedRows()[0].row() == rows.row_of(point.number)
    texts = [label.text() for label in application.panes.details.findChildren(QLabel)]
    assert any("Triton" in text for text in texts)
    view.selectRow(3)
    assert application.selection.number == rows.number_at(3) != point.number
    application.panes.results._filter.setText("nothing has this")
    assert application.selection.number is not None  # what was chosen stays in the details


def test_another_session_shows_no_point_that_nobody_chose(open_window: OpenWindow):
    sessions = ASSETS / "sessions"
    application = open_window(sessions / "h200.roofscope")
    application.selection.select(70)
    assert application.controller.open(sessions / "h200-tour.roofscope")
    assert application.model.point(70) is not None  # the number alone does not tell
    assert application.selection.number is None
    assert application.panes.results.view.selectionModel().selectedRows() == []
    assert application.panes.details._stack.currentWidget() is application.panes.details._empty


def test_chart_card_and_details_agree_on_a_point_over_the_ceiling_of_its_mix(open_window: OpenWindow):
    application = open_window(ASSETS / "sessions" / "h200.roofscope")
    session = application.model.session
    point = next(p for p in session.points if (verdict(p, session).fraction_of_roof or 0) > 1)
    application.selection.select(point.number)
    target = application.panes.chart.scene.target
    assert target is not None
    assert "to DRAM write" in target_text(target)
    told = "of the DRAM write ceiling"
    assert told in point_html(point, session, LIGHT)
    details = application.panes.details
    details.set_open(("What limits it",))
    assert any(told in text.text() for text in details.findChildren(QLabel))


def test_a_card_over_the_chart_shows_all_of_its_text(open_window: OpenWindow, qtbot: QtBot):
    """In the window's own style: without it the layout's hint is high enough."""
    application = open_window(ASSETS / "sessions" / "h200.roofscope")
    chart = application.panes.chart
    text = chart.card.findChild(QLabel)
    assert text is not None

    def has_card(number: int) -> bool:
        """A chart that moves as the window comes to rest is no longer where the pointer was sent."""
        QTest.mouseMove(chart.plot.viewport(), QPoint(1, 1))
        QTest.mouseMove(chart.plot.viewport(), chart.plot.viewport_place(number).toPoint())
        return chart.card.isVisible()

    for number in (point.number for point in chart.scene.points):
        QTest.mouseMove(chart.plot.viewport(), chart.plot.viewport_place(number).toPoint())
        if not chart.card.isVisible():
            qtbot.waitUntil(lambda number=number: has_card(number))
        assert text.height() >= text.heightForWidth(text.width())


def test_a_failed_point_shows_its_log_and_offers_no_trace(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
):
    application = open_window(session_file)
    failed = next(p for p in application.model.session.points if getattr(p.outcome, "log", ""))
    application.selection.select(failed.number)
    log = application.panes.details.findChild(QPlainTextEdit)
    qtbot.waitUntil(log.isVisible)
    assert log.toPlainText() == failed.outcome.log
    assert not application.window.actions_of[CommandId.TRACE].isEnabled()
    measured = next(p for p in application.model.session.points if p.measured)
    application.selection.select(measured.number)
    assert not log.isVisible()
    assert application.window.actions_of[CommandId.TRACE].isEnabled()


def test_a_skipped_point_is_no_failure(open_window: OpenWindow, session_file: Path, qtbot: QtBot):
    application = open_window(session_file)
    block = application.panes.details.why
    for kind, state in ((Failed, "bad"), (Skipped, ""), (Measured, "")):
        point = next(p for p in application.model.session.points if isinstance(p.outcome, kind))
        application.selection.select(point.number)
        qtbot.waitUntil(application.panes.details.isVisible)
        assert block.isVisible()
        assert len(block.texts) == (4 if kind is Measured else 3)
        assert (block.property("state") or "") == state


def test_the_details_say_whom_a_speed_up_is_over(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    rows = [application.table.row(row) for row in range(application.table.rowCount())]
    row = next(row for row in rows if row.speed_up and not row.speed_up.is_baseline)
    application.selection.select(row.point.number)
    texts = [text.text() for text in application.panes.details.findChildren(QLabel)]
    assert any(text.startswith("over eager PyTorch: ") for text in texts)


def test_no_trace_is_offered_of_another_machines_point(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file, devices=FakeDevices((cpu_device(),)))
    application.selection.select(next(p for p in application.model.session.points if p.measured).number)
    assert not application.window.actions_of[CommandId.TRACE].isEnabled()
    assert "is not in this machine" in application.panes.trace._empty.text()
    for pane in (application.panes.details, application.panes.trace):
        button = next(b for b in pane.findChildren(QAbstractButton) if b.text() == "Record trace")
        assert not button.isEnabled()
        assert "NVIDIA H200, which is not in this machine" in button.toolTip()


def test_ctrl_c_copies_the_table_as_text_and_html(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    application.window.actions_of[CommandId.COPY].trigger()
    data = QGuiApplication.clipboard().mimeData()
    lines = data.text().splitlines()
    assert lines[0].startswith("Kernel\tImplementation")
    assert len(lines) == 45
    assert data.html().count("<tr>") == 45
    application.window.actions_of[CommandId.COPY_MARKDOWN].trigger()
    text = QGuiApplication.clipboard().text()
    assert text.splitlines()[1].startswith("| --- |")
    assert "NVIDIA H200" in text.splitlines()[-1]


def test_copy_takes_the_selected_rows_only(open_window: OpenWindow, session_file: Path, qtbot: QtBot):
    application = open_window(session_file)
    view = application.panes.results.view
    view.setFocus()
    view.selectRow(1)
    QTest.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(view, Qt.Key.Key_C, CTRL)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 3


def test_pinning_changes_the_baseline(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    measured = next(p for p in application.model.session.points if p.measured)
    application.selection.select(measured.number)
    application.window.actions_of[CommandId.PIN].trigger()
    assert application.table.pinned == measured.number
    assert application.panes.results._baseline.currentText().startswith("pinned: gelu")
    baseline = application.panes.results._baseline
    QApplication.processEvents()
    needed = baseline.fontMetrics().horizontalAdvance(baseline.currentText())
    assert baseline.width() > needed + 30  # frame and arrow
    application.window.actions_of[CommandId.PIN].trigger()
    assert application.table.pinned is None


def test_the_library_search_hides_what_does_not_match(open_window: OpenWindow):
    application = open_window()
    pane = application.panes.library
    pane._search.setText("softmax triton")
    model, tree = application.library, pane.tree
    shown = [
        model.index(child, 0, model.index(row, 0)).data()
        for row in range(model.rowCount())
        if not tree.isRowHidden(row, model.index(row, 0).parent())
        for child in range(model.rowCount(model.index(row, 0)))
        if not tree.isRowHidden(child, model.index(row, 0))
    ]
    assert shown
    assert all("Triton" in text for text in shown)


def test_all_ticks_what_the_search_shows_and_says_what_it_hides(open_window: OpenWindow):
    pane = open_window().panes.library
    before = pane._count.whole_text
    chosen = int(before.split()[0])
    pane._search.setText("dequantize")
    assert pane._count.whole_text == f"{chosen} chosen, {chosen} hidden"
    pane._all.click()
    found = {kernel for kernel, checked in pane._model.checked().items() if checked and kernel not in TOUR}
    assert found
    assert all("dequantize" in kernel for kernel in found)
    assert f"hides {chosen} of them" in pane._count.toolTip()
    pane._none.click()
    pane._search.clear()
    assert pane._count.whole_text == before


def test_a_filter_that_matches_nothing_says_so_and_can_be_cleared(
    open_window: OpenWindow, session_file: Path
):
    application = open_window(session_file)
    results, library = application.panes.results, application.panes.library
    for line, nothing, shown in (
        (results._filter, results._nothing, results.view),
        (library._search, library._nothing, library.tree),
    ):
        assert not nothing.isVisible()
        line.setText("zebra")
        assert nothing.isVisible()
        assert not shown.isVisible()
        assert any("zebra" in text.text() for text in nothing.findChildren(QLabel))
        nothing.findChild(QAbstractButton).click()
        assert line.text() == ""
        assert shown.isVisible()


def test_filtering_shows_the_selected_row_or_the_first(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    results, view = application.panes.results, application.panes.results.view
    chosen = application.table.point_at(43).implementation.kernel
    other = application.table.point_at(0).implementation.kernel
    application.selection.select(application.table.point_at(43).number)
    assert view.rowAt(0) > 0
    results._filter.setText(other)
    assert view.rowAt(0) == 0
    results._filter.setText(chosen)
    row = results.rows.row_of(application.selection.number)
    assert view.rowAt(0) <= row <= view.rowAt(view.viewport().height() - 1)
    results._filter.clear()
    row = results.rows.row_of(application.selection.number)
    assert view.rowAt(0) <= row <= view.rowAt(view.viewport().height() - 1)


def test_find_goes_to_the_pane_that_has_the_focus(open_window: OpenWindow, session_file: Path, qtbot: QtBot):
    application = open_window(session_file)
    application.window.activateWindow()
    application.panes.results.view.setFocus()
    application.window.actions_of[CommandId.FIND].trigger()
    assert application.window.focusWidget() is application.panes.results._filter
    application.window.actions_of[CommandId.FIND].trigger()
    assert application.window.focusWidget() is application.panes.library._search
    application.window.actions_of[CommandId.FIND].trigger()
    assert application.window.focusWidget() is application.panes.library._search
    application.panes.chart.setFocus()
    application.window.show_pane("Log")  # in front of the results
    application.window.actions_of[CommandId.FIND].trigger()
    assert application.window.focusWidget() is application.panes.results._filter
    assert application.panes.results._filter.visibleRegion()


def test_own_sizes_are_checked_while_typing(open_window: OpenWindow):
    application = open_window()
    bar, run = application.panes.plan_bar, application.window.actions_of[CommandId.RUN]
    bar.own_sizes.setText("rows=12")
    assert run.isEnabled()
    assert "Left out" in bar._message.whole_text
    assert bar.choice().own_sizes == ({"rows": 12},)
    bar.own_sizes.setText("rows=")
    assert not run.isEnabled()
    assert "rows=" in bar._message.whole_text
    assert bar.own_sizes.property("state") == "bad"
    bar.own_sizes.clear()
    assert run.isEnabled()
    assert bar.own_sizes.property("state") == ""


def test_own_sizes_that_are_none_start_no_run(open_window: OpenWindow):
    application = open_window()
    application.panes.plan_bar.own_sizes.setText("what")
    application.commands.measure_here()  # a card's button, which stays while Run is off
    assert not application.controller.is_running
    assert ["'what' is no size" in notice for notice in notices(application)] == [True]


def test_the_device_decides_sizes_and_what_can_run(open_window: OpenWindow):
    application = open_window()
    bar = application.panes.plan_bar
    assert bar.choice().presets == ("large",)
    bar.device_box.setCurrentIndex(1)
    assert bar.choice().device == "cpu"
    assert bar.choice().presets == ("medium",)
    chosen = [i.provider for found in application.library.checked().values() for i in found]
    assert set(chosen) == {Provider.EAGER, Provider.COMPILE}
    assert "GPU" in application.panes.library._reasons.text()


def test_the_strip_reads_the_device(open_window: OpenWindow):
    devices = FakeDevices()
    application = open_window(devices=devices)
    assert devices.reading_count >= 1
    strip = application.panes.strip
    assert "H200" in strip._name.whole_text
    assert strip._cells["power"].text() == "412 / 700 W"
    assert strip._events.text() == "power cap"
    assert not strip._cells["temperature"].isVisible()


def test_the_first_start_shows_the_example(open_window: OpenWindow, paths: UserPaths):
    write_session(paths.example)
    application = open_window()
    assert application.table.rowCount() == 44
    buttons = [b.text() for b in application.panes.cards.findChildren(QAbstractButton)]
    assert "Measure this machine" in buttons
    assert application.settings.recent_sessions == ()


def test_the_last_session_opens_again(open_window: OpenWindow, session_file: Path, paths: UserPaths):
    write_session(paths.example)
    first = open_window(session_file)
    first.window.close()
    assert open_window().model.session.path == session_file


def test_a_session_left_by_a_crash_shows_every_committed_point(
    open_window: OpenWindow, session_file: Path, tmp_path: Path
):
    import shutil

    from roofscope.profiling.results.session_writer import SessionStore
    from roofscope.tests.sessions import make_session

    store = SessionStore.append(session_file)
    point = make_session().points[0]
    store.add_outcome(point.job, point.implementation, point.outcome)
    left = tmp_path / "left.roofscope"
    shutil.copy(session_file, left)
    store.close()
    assert open_window(left).table.rowCount() == 45


def test_an_export_does_not_replace_the_open_session(open_window: OpenWindow, tmp_path: Path):
    """Which may have any name."""
    named = tmp_path / "points.csv"
    write_session(named)
    kept = named.read_bytes()
    application = open_window(named)
    application.commands.export(named)
    assert named.read_bytes() == kept
    assert "would be lost" in notices(application)[0]


def test_themes_change_at_once_and_are_remembered(open_window: OpenWindow):
    application = open_window()
    actions = application.window.actions_of
    actions[CommandId.THEME_DARK].trigger()
    assert application.theme_switch.theme == DARK
    QApplication.processEvents()
    assert application.window.palette().window().color().name() == DARK.window
    assert actions[CommandId.THEME_DARK].isChecked()
    application.window.close()
    again = open_window()
    assert again.theme_switch.theme == DARK
    again.window.actions_of[CommandId.THEME_LIGHT].trigger()
    assert again.theme_switch.theme == LIGHT


def test_a_moved_dock_is_remembered_and_put_back(open_window: OpenWindow):
    application = open_window()
    application.window.docks["Library"].hide()
    application.window.close()
    again = open_window()
    assert not again.window.docks["Library"].isVisible()
    again.window.actions_of[CommandId.RESET_LAYOUT].trigger()
    assert again.window.docks["Library"].isVisible()
    assert again.window.dockWidgetArea(again.window.docks["Library"]) is Qt.DockWidgetArea.LeftDockWidgetArea


@pytest.mark.parametrize("suffix", ["png", "svg", "csv", "json"])
def test_export_writes_each_kind(
    open_window: OpenWindow, qtbot: QtBot, session_file: Path, tmp_path: Path, suffix: str
):
    application = open_window(session_file)
    path = tmp_path / f"out.{suffix}"
    application.commands.export(path)
    assert application.window.said == f"Writing {path.name}..."  # and nothing has held the window up
    qtbot.waitUntil(lambda: str(path) in application.window.said)
    assert path.stat().st_size > 1000


def test_export_to_an_unknown_kind_or_place_gives_one_sentence(
    open_window: OpenWindow, qtbot: QtBot, tmp_path: Path
):
    application = open_window()
    application.commands.export(tmp_path / "out.docx")
    application.commands.export(tmp_path / "no" / "out.csv")
    qtbot.waitUntil(lambda: len(notices(application)) == 2)
    assert [text.endswith(".") for text in notices(application)] == [True, True]


def test_save_as_carries_on_in_the_copy(open_window: OpenWindow, session_file: Path, tmp_path: Path):
    application = open_window(session_file)
    copy = tmp_path / "copy.roofscope"
    application.controller.save_as(copy)
    assert application.model.session.path == copy
    application.controller.open(session_file)
    application.controller.open(copy)
    assert application.table.rowCount() == 44
    assert application.settings.recent_sessions[:2] == (copy, session_file)


def test_every_interactive_widget_has_a_name(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    application.panes.cards.notice("Something.")
    interactive = (QAbstractButton, QLineEdit, QComboBox, QAbstractItemView, QPlainTextEdit, QProgressBar)
    nameless = [
        widget
        for widget in application.window.findChildren(QWidget)
        if isinstance(widget, interactive)
        and not isinstance(widget, QHeaderView)
        and not _belongs_to_qt(widget)
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
    ]
    assert [f"{type(w).__name__} in {type(w.parent()).__name__}" for w in nameless] == []


def test_everything_is_reached_by_the_keyboard(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    reached = set()
    application.panes.plan_bar.device_box.setFocus()
    for _ in range(120):
        reached.add(application.window.focusWidget())
        QTest.keyClick(application.window.focusWidget(), Qt.Key.Key_Tab)
    panes = application.panes
    wanted = {
        panes.plan_bar.own_sizes,
        panes.plan_bar._run_button,
        panes.library._search,
        panes.library.tree,
        panes.results._filter,
        panes.results.view,
    }
    assert wanted <= reached


def _belongs_to_qt(widget: QWidget) -> bool:
    """Parts that Qt makes inside its own widgets; it names or hides them itself."""
    inside = (QComboBox, QTabBar)
    name = type(widget).__name__
    return (
        widget.objectName().startswith("qt_")
        or name in ("QLineEditIconButton", "QTableCornerButton", "QDockWidgetTitleButton")
        or widget.metaObject().className()
        in ("QLineEditIconButton", "QTableCornerButton", "QDockWidgetTitleButton")
        or isinstance(widget.parent(), inside)
        or isinstance(widget.parent() and widget.parent().parent(), QComboBox)
    )


def test_the_doctor_opens_at_once_and_fills(open_window: OpenWindow, qtbot: QtBot):
    from roofscope.app.window.shell.doctor_dialog import DoctorDialog

    application = open_window()
    application.window.actions_of[CommandId.DOCTOR].trigger()
    dialog = application.window.findChild(DoctorDialog)
    qtbot.waitUntil(lambda: "Looking" not in dialog._summary.text())
    assert {"Python", "Screen", "Triton"} <= {shown.text() for shown in dialog.findChildren(QLabel)}
    dialog.accept()


def test_a_session_of_another_device_can_be_looked_at(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file, devices=FakeDevices((FakeDevices().find()[1],)))
    assert application.model.session.device == DEVICE
    assert application.panes.plan_bar.device().id == "cpu"
    measured = next(p for p in application.model.session.points if p.measured)
    application.selection.select(measured.number)
    assert "NVIDIA H200" in application.window.actions_of[CommandId.TRACE].toolTip()


def test_a_copy_of_no_rows_leaves_the_clipboard_as_it_is(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    clipboard = QGuiApplication.clipboard()
    clipboard.setText("mine")
    application.table.set_filter("no row has this")
    application.panes.results.copy()
    application.panes.results.copy_markdown()
    assert clipboard.text() == "mine"
    application.table.set_filter("")
    application.panes.results.copy_markdown()
    assert clipboard.text().startswith("| Kernel")


def test_the_button_that_unpins_says_so(open_window: OpenWindow, session_file: Path):
    application = open_window(session_file)
    pin = application.window.actions_of[CommandId.PIN]
    first, second = (application.table.point_at(row) for row in (0, 1))
    application.selection.select(first.number)
    pin.trigger()
    assert pin.text() == "Un&pin"
    assert any(button.text() == "Unpin" for button in application.panes.details.findChildren(QPushButton))
    application.selection.select(second.number)
    assert pin.text() == "&Pin"
    application.selection.select(first.number)
    pin.trigger()
    assert pin.text() == "&Pin"
    assert application.table.pinned is None


def test_a_gpu_of_the_same_name_is_another(open_window: OpenWindow, session_file: Path):
    twin = msgspec.structs.replace(DEVICE, uuid="GPU-another")
    application = open_window(session_file, devices=FakeDevices((twin,)))
    assert application.panes.chart.bar.heading.texts[1] == "but Run uses another NVIDIA H200"
    assert application.controller.why_no_trace((twin,)).startswith(
        "This point was measured on another NVIDIA H200, which is not in this machine"
    )
    application.library.set_all(True)
    assert "the open one belongs to another NVIDIA H200" in application.panes.plan_bar._message.whole_text
