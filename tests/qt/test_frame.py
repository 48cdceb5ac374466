"""The window's frame: its first size, where panes stand, what is remembered of that, and layouts by name."""

from itertools import combinations
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QDockWidget,
    QFileDialog,
    QFrame,
    QHeaderView,
    QLabel,
    QLineEdit,
    QProgressBar,
    QScrollArea,
    QTabBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from roofscope.app.window.commands import CommandId
from roofscope.app.window.palette_entries import entries
from roofscope.app.window.shell.details_fold import Fold
from roofscope.app.window.shell.docks import Layout
from roofscope.app.window.shell.main_window import first_size
from roofscope.app.window.widgets.edge_button import EdgeButton
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.supervision.run_events import Progressed
from roofscope.tests.qt.conftest import OpenWindow


class ShowWatch(QObject):
    """The order in which widgets are shown, by their object names."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.shown.append(watched.objectName() or type(watched).__name__)
        return False


def test_a_window_that_nobody_arranged_is_not_remembered_as_arranged(
    open_window: OpenWindow, session_file: Path
) -> None:
    first = open_window(session_file)
    first.window.close()
    assert first.settings.layout[1].isEmpty()
    second = open_window(session_file)
    small = second.panes.results.height()
    second.window.resize(2560, 1440)
    QApplication.processEvents()
    assert second.panes.results.height() > small


def test_the_layout_for_analysing_is_remembered_as_one_and_goes_on_to_suit_the_window(
    open_window: OpenWindow, session_file: Path
) -> None:
    first = open_window(session_file)
    first.window.choose_layout(Layout.ANALYSE)
    first.window.choose_layout(Layout.PRESENT)  # with which no window begins
    first.window.close()
    assert first.settings.layout[1].isEmpty()
    second = open_window(session_file)
    assert second.window.layout_shown is Layout.ANALYSE
    assert second.window.actions_of[CommandId.LAYOUT_ANALYSE].isChecked()
    assert second.window.docks["Library"].isHidden()
    assert not second.window.docks["Details"].isHidden()
    small = second.panes.results.height()
    second.window.resize(2560, 1440)
    QApplication.processEvents()
    assert second.panes.results.height() > small
    second.window.docks["Library"].show()  # the user's own word
    second.window.close()
    third = open_window(session_file)
    assert not third.window.docks["Library"].isHidden()


def test_the_palette_goes_to_every_pane_also_where_it_is_folded(
    open_window: OpenWindow, session_file: Path, qtbot: QtBot
) -> None:
    application = open_window(session_file)
    window = application.window
    window.show()
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    assert window.docks["Details"].isHidden()
    panes = {
        entry.name: entry
        for entry in entries(application, application.commands.why_not)
        if entry.name.startswith("Go to pane")
    }
    assert len(panes) == len(window.docks)
    for title, dock in window.docks.items():
        panes[f"Go to pane: {title}"].act()
        QApplication.processEvents()
        assert not dock.visibleRegion().isEmpty(), title
        qtbot.waitUntil(lambda dock=dock: dock.isAncestorOf(QApplication.focusWidget() or window))
    assert window.details.is_open
    assert all(not edge.isVisible() for edge in window.findChildren(EdgeButton))
    application.selection.select(application.table.point_at(0).number)
    application.selection.select(None)
    assert window.details.is_open  # the user opened them


@pytest.mark.parametrize(
    ("screen", "size"),
    [
        (QRect(0, 0, 1280, 800), None),  # the whole of it, the status bar included
        (QRect(0, 0, 1280, 720), None),  # 2560x1440 at 200 %
        (QRect(0, 27, 1280, 773), None),
        (QRect(0, 0, 1920, 1080), QSize(1536, 864)),
        (QRect(0, 0, 1600, 900), QSize(1280, 800)),
        (QRect(0, 0, 2560, 1440), QSize(2048, 1152)),
    ],
)
def test_the_first_window_suits_the_screen(screen: QRect, size: QSize | None) -> None:
    assert first_size(screen) == size
    assert size is None or (size.width() <= screen.width() and size.height() < screen.height())


def test_the_table_shows_on_a_screen_at_twice_the_size(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    application.window.resize(1280, 720)
    QApplication.processEvents()
    view = application.panes.results.view
    row_height = view.verticalHeader().defaultSectionSize()
    assert application.window.size() == QSize(1280, 720)
    assert view.viewport().height() >= 2 * row_height
    status = application.window.statusBar()
    assert status.mapTo(application.window, QPoint(0, status.height())).y() <= 720


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
def test_a_floating_pane_comes_back_above_the_window(
    open_window: OpenWindow, session_file: Path, qapp: QApplication
) -> None:
    first = open_window(session_file)
    first.window.docks["Library"].setFloating(True)
    first.window.docks["Library"].move(90_000, 90_000)
    first.window.close()
    watch = ShowWatch()
    qapp.installEventFilter(watch)
    second = open_window(session_file)
    qapp.removeEventFilter(watch)
    dock = second.window.docks["Library"]
    assert dock.isFloating()
    assert watch.shown[-1] == "Library"  # what is shown later lies above
    assert dock.screen().availableGeometry().intersects(dock.geometry())


def test_details_give_the_chart_their_room_until_something_is_selected(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    window, chart = application.window, application.panes.chart
    dock = window.docks["Details"]
    QApplication.processEvents()
    assert dock.isHidden()
    wide, ranges = chart.plot.view.box.width, (chart.plot.view.x, chart.plot.view.y)
    application.selection.select(application.table.point_at(0).number)
    QApplication.processEvents()
    assert dock.isVisible()
    assert chart.plot.view.box.width < wide - 200
    assert (chart.plot.view.x, chart.plot.view.y) == ranges
    application.selection.select(None)
    assert dock.isHidden()
    assert window.arrangement.isEmpty()  # nobody arranged that


def test_details_wait_for_a_second_click(open_window: OpenWindow, session_file: Path, qtbot: QtBot) -> None:
    application = open_window(session_file)
    details = application.window.details
    details.follow(True, by_click=True)
    assert not details.is_open
    qtbot.waitUntil(lambda: details.is_open)


def test_details_that_the_user_closed_stay_closed_until_the_user_opens_them(
    open_window: OpenWindow, session_file: Path
) -> None:
    first = open_window(session_file)
    first.selection.select(first.table.point_at(0).number)
    first.window.docks["Details"].close()
    first.selection.select(first.table.point_at(1).number)
    assert not first.window.details.is_open
    first.window.close()
    second = open_window(session_file)
    second.selection.select(second.table.point_at(0).number)
    assert second.window.details.wish is Fold.FOLDED
    assert not second.window.details.is_open
    second.window.docks["Details"].toggleViewAction().trigger()
    assert second.window.details.is_open


def test_layouts_put_panes_where_the_work_needs_them(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    window, actions = application.window, application.window.actions_of
    font = application.panes.chart.plot.text_font.height
    actions[CommandId.LAYOUT_ANALYSE].trigger()
    assert window.docks["Library"].isHidden()
    assert window.details.is_open
    actions[CommandId.LAYOUT_PRESENT].trigger()
    assert actions[CommandId.LAYOUT_PRESENT].isChecked()
    assert not any(dock.isVisible() for dock in window.docks.values())
    assert not application.panes.plan_bar.isVisible()
    assert application.panes.chart.plot.text_font.height > 1.3 * font
    actions[CommandId.LAYOUT_MEASURE].trigger()
    assert window.docks["Library"].isVisible()
    assert application.panes.plan_bar.isVisible()
    assert window.statusBar().isVisible()
    assert application.panes.chart.plot.text_font.height == pytest.approx(font)


def test_a_window_closed_while_presenting_comes_back_with_its_panes(
    open_window: OpenWindow, session_file: Path
) -> None:
    first = open_window(session_file)
    first.window.actions_of[CommandId.LAYOUT_PRESENT].trigger()
    first.window.close()
    second = open_window(session_file)
    assert second.window.docks["Library"].isVisible()
    assert second.panes.plan_bar.isVisible()
    assert second.window.statusBar().isVisible()


def test_ctrl_tab_goes_round_the_panes(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    window, panes = application.window, application.panes
    window.activateWindow()
    panes.chart.setFocus()
    met = []
    for _ in range(5):
        window.actions_of[CommandId.NEXT_PANE].trigger()
        focused = window.focusWidget()
        parts = {
            "plan": panes.plan_bar,
            "library": panes.library,
            "chart": panes.chart,
            "results": panes.results,
        }
        met.append(
            next(name for name, pane in parts.items() if pane is focused or pane.isAncestorOf(focused))
        )
    assert met[:4] == ["results", "plan", "library", "chart"]
    window.actions_of[CommandId.PREVIOUS_PANE].trigger()
    assert window.focusWidget() is panes.chart


def test_f11_takes_the_whole_screen_and_gives_it_back(open_window: OpenWindow) -> None:
    window = open_window().window
    window.actions_of[CommandId.FULL_SCREEN].trigger()
    assert window.isFullScreen()
    window.actions_of[CommandId.FULL_SCREEN].trigger()
    assert not window.isFullScreen()


def test_the_tabs_of_panes_have_a_name(open_window: OpenWindow) -> None:
    bars = [bar for bar in open_window().window.findChildren(QTabBar) if bar.isVisible()]
    assert bars
    assert all(bar.accessibleName() for bar in bars)


@pytest.mark.parametrize("points", [9, 12, 16, 20])
def test_the_window_suits_every_font(
    open_window: OpenWindow, session_file: Path, qapp: QApplication, points: int
) -> None:
    usual = qapp.font()
    font = QFont(usual)
    font.setPointSize(points)
    qapp.setFont(font)
    try:
        application = open_window(session_file)
        application.selection.select(application.table.point_at(0).number)
        window, panes = application.window, application.panes
        QApplication.processEvents()
        assert window.height() == 800
        assert window.width() == 1280 or points > 16
        bar = panes.plan_bar
        shown = [bar._run_button, bar._stop_button, bar.device_box, bar.choices.more, bar._message]
        places = [QRect(one.mapTo(bar, QPoint()), one.size()) for one in shown if one.isVisible()]
        assert all(bar.rect().contains(place) for place in places)
        assert not any(a.intersects(b) for a, b in combinations(places, 2))
        assert panes.details.title_font().pointSizeF() > points
        for label in panes.details.findChildren(QLabel):
            if label.isVisible() and label.wordWrap():
                assert label.height() >= label.heightForWidth(label.width()) - 1, label.text()
        content = panes.details.findChild(QScrollArea)
        assert content.widget().width() <= content.viewport().width()
        for cell in panes.strip.findChildren(QLabel):
            if cell.isVisible() and not isinstance(cell, ElidedLabel):
                assert cell.width() >= cell.sizeHint().width(), cell.text()
        row = panes.results.view.verticalHeader().defaultSectionSize()
        assert row >= panes.results.view.fontMetrics().height()
    finally:
        qapp.setFont(usual)


@pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)
def test_what_the_bar_has_no_room_for_is_behind_one_button(open_window: OpenWindow) -> None:
    application = open_window()
    window, bar = application.window, application.panes.plan_bar
    window.resize(2560, 1440)
    QApplication.processEvents()
    assert not bar.choices.folded
    assert not bar.choices.more.isVisible()
    window.resize(1024, 700)
    QApplication.processEvents()
    assert "Regime" in bar.choices.folded
    assert bar.choices.more.text().startswith("Options")
    bar.choices.open_popup()
    sustained = bar.regimes[Regime.SUSTAINED]
    assert sustained.isVisible()
    QTest.mouseClick(sustained, Qt.MouseButton.LeftButton)
    assert "sustained" in bar.choices.more.text()
    choice = bar.choice()
    assert choice is not None
    assert choice.regime is Regime.SUSTAINED
    QTest.keyClick(bar.choices.popup, Qt.Key.Key_Escape)
    assert not bar.choices.popup.isVisible()


def test_the_progress_takes_the_choices_room(open_window: OpenWindow) -> None:
    bar = open_window().panes.plan_bar
    height, stop = bar.height(), bar._stop_button.pos()
    bar.set_running(True)
    bar.show_progress(Progressed(12, 48, "softmax / triton online", "", Stage.BUILD, 120.0))
    QApplication.processEvents()
    assert bar._message.text() == bar._message.whole_text  # all of it can be read
    assert (bar.height(), bar._stop_button.pos()) == (height, stop)
    bar.set_running(False)
    assert bar.device_box.isVisible()


def test_every_widget_that_takes_the_keyboard_or_scrolls_has_a_name(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    application.selection.select(application.table.point_at(0).number)
    window = application.window
    kinds = (QAbstractButton, QLineEdit, QComboBox, QAbstractScrollArea, QProgressBar, QTabBar, QDockWidget)
    of_qt = ("qt_", "ScrollLeftButton", "ScrollRightButton")
    nameless = [
        widget
        for widget in window.findChildren(QWidget)
        if isinstance(widget, kinds)
        and not isinstance(widget, QHeaderView)
        and not (widget.accessibleName() or (isinstance(widget, QAbstractButton) and widget.text()))
        and not widget.objectName().startswith(of_qt)
        and not isinstance(widget.parent(), QAbstractItemView | QComboBox | QLineEdit)
        and type(widget.parent()) is not QFrame  # the list that a box opens
    ]
    assert [(type(one).__name__, type(one.parent()).__name__, one.objectName()) for one in nameless] == [], (
        nameless
    )


@pytest.mark.parametrize("theme", [CommandId.THEME_LIGHT, CommandId.THEME_DARK, CommandId.THEME_CONTRAST])
def test_the_buttons_of_the_file_dialog_can_be_seen(
    open_window: OpenWindow, qtbot: QtBot, theme: CommandId
) -> None:
    application = open_window()
    window = application.window
    window.actions_of[theme].trigger()
    qtbot.waitUntil(lambda: not window.restyling.is_under_way)
    window.actions_of[CommandId.OPEN].trigger()
    dialog = window.findChild(QFileDialog)
    try:
        buttons = [button for button in dialog.findChildren(QToolButton) if button.objectName()]
        assert len(buttons) >= 5
        text = application.theme_switch.theme.text
        for button in buttons:
            image = button.icon().pixmap(16, 16).toImage()
            colours = {image.pixelColor(x, y).name() for x in range(16) for y in range(16)}
            assert text in colours, button.objectName()
        frame = application.panes.chart.plot.getPlotItem().getViewBox().rbScaleBox.pen()
        assert frame.color().name() == application.theme_switch.theme.accent
    finally:
        dialog.reject()
        window.actions_of[CommandId.THEME_SYSTEM].trigger()


def test_what_is_selected_while_presenting_leaves_the_chart_alone(
    open_window: OpenWindow, session_file: Path
) -> None:
    application = open_window(session_file)
    docks = application.window.docks
    application.window.actions_of[CommandId.LAYOUT_PRESENT].trigger()
    for number in (application.table.point_at(0).number, None):
        application.selection.select(number)
        QApplication.processEvents()
        assert all(dock.isHidden() for dock in docks.values())
    application.selection.select(application.table.point_at(0).number)
    application.window.actions_of[CommandId.LAYOUT_MEASURE].trigger()
    assert not docks["Details"].isHidden()


def test_text_grows_in_the_chart_after_it_was_presented(open_window: OpenWindow, session_file: Path) -> None:
    application = open_window(session_file)
    actions, chart = application.window.actions_of, application.panes.chart
    before = chart.font().pointSizeF()
    for command in (CommandId.LAYOUT_PRESENT, CommandId.LAYOUT_MEASURE, CommandId.LARGER):
        actions[command].trigger()
    assert chart.font().pointSizeF() > before
    actions[CommandId.USUAL_SIZE].trigger()
