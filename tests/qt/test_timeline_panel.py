"""The timeline under keys and pointer, as a user has it: a panel without the rest of the window."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from roofscope.app.presentation.formatting import time_text
from roofscope.app.presentation.timeline.colours import fill
from roofscope.app.presentation.timeline.hits import Chosen
from roofscope.app.presentation.timeline.placing import strip_of
from roofscope.app.presentation.timeline.rows import Track, track_of
from roofscope.app.presentation.timeline.stacked import Stack, stacked
from roofscope.app.presentation.timeline.state import Timeline
from roofscope.app.presentation.timeline.viewport import fitted
from roofscope.app.presentation.tokens import LIGHT
from roofscope.app.window.timeline.gutter import menu_of
from roofscope.app.window.timeline.panel import TimelinePanel
from roofscope.app.window.timeline.side import AREA, COMPARED, KERNELS, SLICE
from roofscope.profiling.traces.columns import Category
from roofscope.profiling.traces.summary import totals_of
from roofscope.tests.trace_events import recorded

Key = Qt.Key
LEFT, NONE_HELD = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
MAIN, AUTOGRAD = "thread 502 (python3)", "thread 532 (pt_autograd_0)"


@pytest.fixture(scope="module")
def tracks() -> tuple[Track, ...]:
    return tuple(track_of(recorded(name), name) for name in ("eager", "compiled"))


@pytest.fixture
def panel(tracks: tuple[Track, ...], qtbot: QtBot) -> Iterator[TimelinePanel]:
    panel, host = TimelinePanel(LIGHT), QWidget()
    qtbot.addWidget(host)
    layout = QVBoxLayout(host)
    layout.addWidget(panel.search)  # which stands in the bar of the pane
    layout.addWidget(panel)
    host.resize(1280, 900)
    panel.show_stack(Stack(tracks[:1]), totals_of(tracks[0].trace).kernels)
    host.show()
    qtbot.waitExposed(host)
    panel.canvas.setFocus()
    qtbot.waitUntil(panel.canvas.hasFocus)
    yield panel
    host.close()


def press(panel: TimelinePanel, *keys: Qt.Key, held: Qt.KeyboardModifier = NONE_HELD) -> Timeline:
    for key in keys:
        QTest.keyClick(panel.canvas, key, held)
    return panel.canvas.timeline


def kernels_of(panel: TimelinePanel) -> list[Chosen]:
    slices = panel.canvas.timeline.tracks[0].trace.slices
    return [Chosen(0, at) for at in np.flatnonzero(slices.category == Category.KERNEL).tolist()]


def place_of(panel: TimelinePanel, chosen: Chosen) -> QPoint:
    """The middle of a slice on the canvas."""
    canvas = panel.canvas
    strip = strip_of(canvas.rows(), canvas.timeline, chosen)
    assert strip is not None
    begin, end = canvas.timeline.span_of(chosen)
    x = canvas.timeline.view.x_of((begin + end) / 2, canvas.plot.width())
    return QPointF(canvas.plot.left() + x, canvas.plot.top() + strip[0] + strip[1] / 2).toPoint()


def name_place(panel: TimelinePanel, title: str) -> QPoint:
    """On the name of a lane."""
    row = next(row for row in panel.canvas.rows() if row.row.title == title)
    return QPoint(30, round(panel.canvas.plot.top() + row.top + 5))


def lanes(panel: TimelinePanel) -> list[str]:
    return [row.title for row in panel.canvas.timeline.rows]


def turn(panel: TimelinePanel, at: QPointF, angle: int, held: Qt.KeyboardModifier) -> None:
    none, phase = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
    place = QPointF(panel.canvas.mapToGlobal(at.toPoint()))
    event = QWheelEvent(at, place, QPoint(), QPoint(0, angle), none, held, phase, False)
    QApplication.sendEvent(panel.canvas, event)


def choose_from_menu(panel: TimelinePanel, title: str, text: str) -> None:
    """Of the right click; not shown, because a menu takes the keyboard of a screen that is not there."""
    row = next(row for row in panel.canvas.timeline.rows if row.title == title)
    menu = menu_of(panel.canvas, panel.canvas.timeline, row)
    next(action for action in menu.actions() if action.text() == text).trigger()
    menu.deleteLater()


# Moving


def test_w_and_s_come_nearer_and_go_farther_round_the_middle(panel: TimelinePanel) -> None:
    before = panel.canvas.timeline.view
    near = press(panel, Key.Key_W).view
    assert near.span == pytest.approx(0.7 * before.span)
    assert near.begin + near.span / 2 == pytest.approx(before.begin + before.span / 2)
    assert press(panel, Key.Key_S).view.span == pytest.approx(before.span)


def test_a_and_d_go_to_the_left_and_to_the_right(panel: TimelinePanel) -> None:
    before = press(panel, Key.Key_W, Key.Key_W, Key.Key_W).view
    assert press(panel, Key.Key_D).view.begin == pytest.approx(before.begin + 0.15 * before.span)
    assert press(panel, Key.Key_A).view.begin == pytest.approx(before.begin)
    assert press(panel, *[Key.Key_A] * 50).view.begin == pytest.approx(panel.canvas.timeline.whole.begin)


def test_the_wheel_scrolls_and_with_ctrl_comes_nearer_at_the_pointer_and_with_shift_goes_sideways(
    panel: TimelinePanel,
) -> None:
    panel.window().resize(1280, 300)
    QTest.qWait(0)
    canvas, at = panel.canvas, QPointF(600, 150)
    turn(panel, at, -120, NONE_HELD)
    assert canvas.scrolled > 0
    turn(panel, at, 120, NONE_HELD)
    assert canvas.scrolled == 0

    def time_there() -> float:
        return canvas.timeline.view.time_at(at.x() - canvas.plot.left(), canvas.plot.width())

    before, there = canvas.timeline.view, time_there()
    turn(panel, at, 240, Qt.KeyboardModifier.ControlModifier)
    near = canvas.timeline.view
    assert near.span < 0.8 * before.span
    assert time_there() == pytest.approx(there)
    turn(panel, at, -120, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.timeline.view.begin == pytest.approx(near.begin + 0.1 * near.span)


def test_a_drag_with_shift_moves_what_is_under_the_pointer(panel: TimelinePanel) -> None:
    canvas = panel.canvas
    before = press(panel, Key.Key_W, Key.Key_W).view
    shift = Qt.KeyboardModifier.ShiftModifier
    QTest.mousePress(canvas, LEFT, shift, QPoint(600, 100))
    QTest.mouseMove(canvas, QPoint(500, 100))
    QTest.mouseRelease(canvas, LEFT, shift, QPoint(500, 100))
    assert canvas.timeline.view.begin == pytest.approx(before.begin + 100 / canvas.plot.width() * before.span)
    assert canvas.timeline.area is None


def test_the_timeline_keeps_its_keys_from_the_window_and_gives_it_the_others(panel: TimelinePanel) -> None:
    def is_taken(key: Qt.Key, held: Qt.KeyboardModifier = NONE_HELD) -> bool:
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, held)
        event.ignore()
        QApplication.sendEvent(panel.canvas, event)
        return event.isAccepted()

    assert all(map(is_taken, (Key.Key_F, Key.Key_W, Key.Key_Comma, Key.Key_Slash, Key.Key_N)))
    assert not is_taken(Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert not is_taken(Key.Key_R)


# Choosing


def test_a_click_chooses_and_comma_and_full_stop_go_along_the_lane(panel: TimelinePanel) -> None:
    kernels = kernels_of(panel)
    timeline = panel.canvas.timeline
    timeline.look(fitted(*timeline.span_of(kernels[9])))
    QTest.mouseClick(panel.canvas, LEFT, NONE_HELD, place_of(panel, kernels[9]))
    assert timeline.chosen == kernels[9]
    assert panel.side.segments.index == SLICE
    assert press(panel, Key.Key_Period).chosen == kernels[10]
    assert press(panel, Key.Key_Comma, Key.Key_Comma).chosen == kernels[8]
    assert press(panel, Key.Key_Escape).chosen is None


def test_what_is_drawn_where_a_slice_lies_has_its_colour(panel: TimelinePanel) -> None:
    """Boxes with a name, those without, and columns: each is found by the pointer where it is painted."""
    canvas, timeline = panel.canvas, panel.canvas.timeline
    kernel = kernels_of(panel)[40]
    for around in (1.0, 60.0):
        begin, end = timeline.span_of(kernel)
        middle, span = (begin + end) / 2, (end - begin) * around
        timeline.look(fitted(middle - span / 2, middle + span / 2))
        place = place_of(panel, kernel)
        assert canvas.slice_at(QPointF(place)) == kernel
        box = QRect(place.x() - 3, place.y() - 4, 6, 1)
        image = canvas.grab(box).toImage()
        name, category = timeline.tracks[0].trace.slices.name[kernel.slice], Category.KERNEL
        expected = QColor(fill_of(timeline, int(name), category))
        colours = {image.pixelColor(x, 0).name() for x in range(image.width())}
        assert expected.name() in colours


def fill_of(timeline: Timeline, name: int, category: Category) -> str:
    return fill(LIGHT, category, timeline.tracks[0].labels[name])


def test_f_fits_the_chosen_slice_and_then_all(panel: TimelinePanel) -> None:
    timeline = panel.canvas.timeline
    timeline.choose(kernels_of(panel)[9])
    assert press(panel, Key.Key_F).view == fitted(*timeline.span_of(kernels_of(panel)[9]))
    assert press(panel, Key.Key_F).view.span == pytest.approx(timeline.whole.span)
    begin, end = timeline.span_of(kernels_of(panel)[3])
    timeline.look(fitted(begin - 20 * (end - begin), end + 20 * (end - begin)))
    QTest.mouseDClick(panel.canvas, LEFT, NONE_HELD, place_of(panel, kernels_of(panel)[3]))
    assert timeline.view == fitted(begin, end)


def test_up_and_down_go_out_and_in_and_brackets_go_to_the_launch_and_back(panel: TimelinePanel) -> None:
    kernel = kernels_of(panel)[9]
    timeline = panel.canvas.timeline
    timeline.show(kernel)
    slices = timeline.tracks[0].trace.slices
    launch = press(panel, Key.Key_BracketLeft).chosen
    assert launch is not None
    assert slices.category[launch.slice] in (Category.RUNTIME, Category.DRIVER)
    assert panel.side.to_target.isEnabled()
    outer = press(panel, Key.Key_Up).chosen
    assert outer is not None
    assert slices.depth[outer.slice] == slices.depth[launch.slice] - 1
    assert press(panel, Key.Key_Down).chosen == launch
    assert press(panel, Key.Key_BracketRight).chosen == kernel
    QTest.mouseClick(panel.side.to_source, LEFT)
    assert timeline.chosen == launch


# Searching


def test_slash_searches_and_n_goes_to_the_next_hit(panel: TimelinePanel, qtbot: QtBot) -> None:
    press(panel, Key.Key_Slash)
    qtbot.waitUntil(panel.search.hasFocus)
    QTest.keyClicks(panel.search, "aten::addmm")
    QTest.keyClick(panel.search, Key.Key_Return)
    timeline = panel.canvas.timeline
    assert panel.hit_text.text() == "1 of 12"
    first = timeline.chosen
    assert press(panel, Key.Key_N).chosen != first
    assert panel.hit_text.text() == "2 of 12"
    shift = Qt.KeyboardModifier.ShiftModifier
    assert press(panel, Key.Key_N, held=shift).chosen == first
    press(panel, Key.Key_N, held=shift)
    assert panel.hit_text.text() == "12 of 12"


def test_a_kernel_of_the_table_is_found_in_the_timeline(panel: TimelinePanel) -> None:
    table = panel.side.kernels
    index = table.model().index(2, 0)
    QTest.mouseClick(table.viewport(), LEFT, NONE_HELD, table.visualRect(index).center())
    timeline = panel.canvas.timeline
    assert timeline.chosen is not None
    assert timeline.tracks[0].trace.name_of(timeline.chosen.slice) == panel.side.table.name_at(2)


# Areas


def test_a_drag_over_a_lane_sums_up_its_slices(panel: TimelinePanel, qtbot: QtBot) -> None:
    canvas, timeline = panel.canvas, panel.canvas.timeline
    kernels = kernels_of(panel)[:6]
    spans = [timeline.span_of(one) for one in kernels]
    timeline.look(fitted(spans[0][0], spans[-1][1]))
    first, last = place_of(panel, kernels[0]), place_of(panel, kernels[-1])
    QTest.mousePress(canvas, LEFT, NONE_HELD, QPoint(first.x() - 1, first.y()))
    QTest.mouseMove(canvas, QPoint(last.x(), last.y()))
    QTest.mouseRelease(canvas, LEFT, NONE_HELD, last)
    assert timeline.area is not None
    assert timeline.chosen is None
    qtbot.waitUntil(lambda: panel.side.segments.index == AREA)
    rows = {row[0]: row[1:] for row in map(_cells, _items(panel.side.area))}
    trace, area = timeline.tracks[0].trace, timeline.area
    meant: list[int] = [
        at
        for at in np.flatnonzero(trace.slices.lane == trace.slices.lane[kernels[0].slice]).tolist()
        if timeline.span_of(Chosen(0, at))[0] < area.end and timeline.span_of(Chosen(0, at))[1] > area.begin
    ]

    def label(at: int) -> str:
        return timeline.tracks[0].labels[int(trace.slices.name[at])]

    counts = Counter(map(label, meant))
    assert {name: int(row[0]) for name, row in rows.items()} == counts
    first_name = label(kernels[0].slice)
    times = [int(trace.slices.duration_ns[at]) for at in meant if label(at) == first_name]
    assert rows[first_name][1] == time_text(sum(times) * 1e-9)
    press(panel, Key.Key_F)
    assert timeline.view == fitted(timeline.area.begin, timeline.area.end)


def _items(tree: QTreeWidget) -> list[QTreeWidgetItem]:
    found = (tree.topLevelItem(place) for place in range(tree.topLevelItemCount()))
    return [item for item in found if item is not None]


def _cells(item: QTreeWidgetItem) -> list[str]:
    return [item.text(column) for column in range(item.columnCount())]


# Lanes


def test_a_lane_is_closed_pinned_hidden_and_moved_by_its_name(panel: TimelinePanel) -> None:
    before = panel.canvas.content_height
    QTest.mouseClick(panel.canvas, LEFT, NONE_HELD, name_place(panel, MAIN))
    assert panel.canvas.content_height < before
    QTest.mouseClick(panel.canvas, LEFT, NONE_HELD, name_place(panel, MAIN))
    assert panel.canvas.content_height == before
    QTest.mouseClick(panel.canvas, LEFT, NONE_HELD, name_place(panel, MAIN))
    choose_from_menu(panel, AUTOGRAD, "Move up")
    assert lanes(panel).index(AUTOGRAD) < lanes(panel).index(MAIN)
    choose_from_menu(panel, AUTOGRAD, "Pin to the top")
    assert lanes(panel)[0] == AUTOGRAD
    choose_from_menu(panel, AUTOGRAD, "Hide")
    assert AUTOGRAD not in lanes(panel)


# Stacks


def test_a_stack_shows_both_traces_on_one_scale_with_what_tells_them_apart(
    panel: TimelinePanel, tracks: tuple[Track, ...]
) -> None:
    panel.show_stack(stacked(tracks), totals_of(tracks[0].trace).kernels)
    assert panel.side.segments.index == COMPARED
    assert panel.side.sentences.text().startswith("compiled takes")
    assert panel.side.compared.topLevelItemCount() > 20
    titles = lanes(panel)
    assert titles.index("eager: GPU 0") < titles.index("compiled: GPU 0")
    panel.show_stack(Stack(tracks[:1]), totals_of(tracks[0].trace).kernels)
    assert panel.side.segments.index == KERNELS
    assert not panel.side.segments.button(COMPARED).isVisible()
