"""The measuring half of window_budgets: one part of the window's budgets, in a process of its own.

    python -P window_actions.py CHECKOUT PART REPEATS

The file is run by its path, so that one and the same file measures any checkout, which gives the package. It
prints a line of JSON a reading: what was done, seconds by the wall and seconds of the thread's own clock.
"""

import json
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["QT_QPA_PLATFORM"] = "offscreen"
runpy.run_path(str(Path(sys.argv[1], "main.py")))  # the checkout's folder becomes the package
sys.path.insert(0, str(Path(__file__).parent))

import event_loop  # noqa: E402
from many_points import replicas  # noqa: E402
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, QTimer  # noqa: E402
from PySide6.QtGui import QMouseEvent, QWheelEvent  # noqa: E402
from PySide6.QtWidgets import QApplication, QLineEdit  # noqa: E402

from roofscope.app.window.application import Application, build_window  # noqa: E402
from roofscope.profiling.paths import ASSETS, UserPaths  # noqa: E402
from roofscope.profiling.results.session_reader import load  # noqa: E402

if TYPE_CHECKING:
    from roofscope.profiling.results.session import Session

EXAMPLE = ASSETS / "sessions" / "h200.roofscope"
FRAME_S = 1 / 60
FRAMES = 40
_SORTED = (4, 5, 1, 6)  # columns: a time, a share, a name, a ratio
ARRIVAL_MS, ARRIVAL_S = 50, 4.0


def say(name: str, wall_s: float, cpu_s: float) -> None:
    print(json.dumps([name, wall_s, cpu_s]), flush=True)


def places() -> UserPaths:
    folder = Path(tempfile.mkdtemp(prefix="roofscope-budgets-"))
    return UserPaths(folder / "s", folder / "window.json", folder / "c", folder / "a")


def own_session() -> Path:
    """A copy of the example, which an action may write to."""
    copied = Path(tempfile.mkdtemp(prefix="roofscope-budgets-"), EXAMPLE.name)
    copied.write_bytes(EXAMPLE.read_bytes())
    return copied


def open_window() -> Application:
    """With tests' invented devices and their worker, which computes nothing."""
    from roofscope.tests.qt.stand_ins import FakeDevices, FakeTarget

    made = build_window(QApplication([]), places(), source=FakeDevices(), target=FakeTarget("quick"))
    made.start([own_session()])
    made.window.resize(1280, 800)
    made.window.show()
    event_loop.run_loop(until=lambda: made.panes.plan_bar.device() is not None)
    event_loop.longest_block(lambda: None)
    return made


def of_size(wanted: int) -> "Session":
    session = load(own_session())  # a pin is written into its file
    session.points = tuple(replicas(session.points, wanted))
    return session


def part_start(_: int) -> None:
    """First paint; the parent knows when it started this process."""

    class Painted(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and not times:
                times.extend((time.monotonic(), time.process_time()))
            return False

    app, times = QApplication([]), list[float]()
    made = build_window(app, places())
    made.start([EXAMPLE])
    painted = Painted()
    made.window.installEventFilter(painted)
    made.window.show()
    event_loop.run_loop(until=lambda: bool(times))
    say("painted", *times)
    made.window.close()


def part_actions(repeats: int) -> None:
    made = open_window()
    for name, act, until in actions(made):
        for _ in range(repeats):
            say(name, *event_loop.longest_block(act, until=until))
    made.window.close()


def part_crowd(repeats: int) -> None:
    """What is done to the window as a whole, with 10,000 points in it."""
    made = open_window()
    session = made.model.session  # of the file that the window has read, so that a pin need not read it again
    session.points = tuple(replicas(session.points, 10_000))
    made.model.replace(session)
    event_loop.run_loop(until=lambda: made.table.rows.is_whole)
    event_loop.longest_block(lambda: None)
    numbers = count(1, 7)
    say("10,000 rows: selection", *event_loop.longest_block(lambda: made.selection.select(next(numbers))))
    for name, act in whole_window(made):
        for _ in range(repeats * 2):
            say(f"10,000 rows: {name}", *event_loop.longest_block(act))
    made.window.close()


def whole_window(made: Application) -> Iterator[tuple[str, Callable[[], object]]]:
    from roofscope.app.presentation.roofline.scene import ChartY
    from roofscope.app.window.commands import CommandId

    actions, turn = made.window.actions_of, count()
    layouts = (CommandId.LAYOUT_ANALYSE, CommandId.LAYOUT_PRESENT, CommandId.LAYOUT_MEASURE)
    numbers = [point.number for point in made.model.session.points if point.measured]

    def choose_layout() -> None:
        actions[layouts[next(turn) % 3]].trigger()

    def resize_text() -> None:
        sizes = (made.text_size.larger, made.text_size.smaller)
        sizes[next(turn) % 2]()

    yield "layout", choose_layout
    yield "text size", resize_text
    yield "height on the chart", lambda: made.panes.chart.set_y(tuple(ChartY)[next(turn) % 2])
    made.selection.select(numbers[0])
    yield "pin", actions[CommandId.PIN].trigger


def actions(made: Application) -> Iterator[tuple[str, Callable[[], object], Callable[[], bool]]]:
    from roofscope.app.window.commands import CommandId

    window, filter_line, turn = made.window, line_of(made), count()
    numbers = [point.number for point in made.model.session.points if point.measured]
    folder = Path(tempfile.mkdtemp(prefix="roofscope-budgets-"))

    def at_once() -> bool:
        return True

    clipboard = QApplication.clipboard()

    def export(kind: str) -> tuple[Callable[[], object], Callable[[], bool]]:
        """Drawn beside the window, until the file is there: what comes next must not meet its end."""
        file = folder / f"a.{kind}"

        def act() -> None:
            file.unlink(missing_ok=True)
            made.commands.export(file)

        return act, file.exists

    def has_image() -> bool:
        content = clipboard.mimeData()
        return content is not None and content.hasImage()

    def copy_image() -> None:
        clipboard.clear()
        made.panes.chart.copy_image()

    def trigger(*commands: CommandId) -> Callable[[], object]:
        def act() -> None:
            window.actions_of[commands[next(turn) % len(commands)]].trigger()

        return act

    yield "selection", lambda: made.selection.select(numbers[next(turn) * 7 % len(numbers)]), at_once
    yield "sort", lambda: sort(made, next(turn)), at_once
    yield "filter key", lambda: filter_line.setText(("s", "so", "sof", "")[next(turn) % 4]), at_once
    filter_line.setText("")
    yield "PNG", *export("png")
    yield "SVG", *export("svg")
    yield "copy image", copy_image, has_image
    yield "copy rows", trigger(CommandId.COPY), at_once
    for name, act in whole_window(made):
        yield name, act, at_once
    files = [own_session(), own_session()]
    dropped: list[Path] = []

    def drop() -> None:
        dropped.append(files[len(dropped) % 2])
        made.window.file_dropped.emit(dropped[-1])

    yield "session opens", drop, lambda: made.model.session.path in dropped[-1:]
    yield "theme", trigger(CommandId.THEME_DARK, CommandId.THEME_LIGHT), at_once
    yield "Run", trigger(CommandId.RUN), lambda: not made.controller.is_running


def line_of(made: Application) -> QLineEdit:
    return made.panes.results.findChildren(QLineEdit)[0]


def sort(made: Application, turn: int) -> None:
    order = Qt.SortOrder.DescendingOrder if turn % 2 else Qt.SortOrder.AscendingOrder
    made.panes.results.view.sortByColumn(_SORTED[turn // 2 % len(_SORTED)], order)


def part_arriving(repeats: int) -> None:
    """Points at 20 a second, first into 300 and then into 10,000."""
    made = open_window()
    for wanted in (300, 10_000):
        session = of_size(wanted + 1000)
        session.points, coming = session.points[:wanted], iter(session.points[wanted:])
        made.model.replace(session)
        event_loop.run_loop(until=lambda: True)
        event_loop.longest_block(lambda: None)
        for _ in range(repeats):
            timer = QTimer(interval=ARRIVAL_MS)
            timer.timeout.connect(lambda coming=coming: made.model.add_point(next(coming)))
            ended = time.monotonic() + ARRIVAL_S
            block = event_loop.longest_block(timer.start, until=lambda ended=ended: time.monotonic() > ended)
            timer.stop()
            say(f"points at 20 a second into {wanted:,}", *block)
    made.window.close()


def part_frames(repeats: int) -> None:
    made = open_window()
    for wanted in (300, 10_000):
        made.model.replace(of_size(wanted))
        event_loop.longest_block(lambda: None)
        for _ in range(repeats):
            for name, frames in (("pan", pan(made)), ("zoom", zoom(made))):
                for wall_s, cpu_s in frames:
                    say(f"{name}, {wanted:,} points", wall_s, cpu_s)
    made.window.close()


def pan(made: Application) -> Iterator[tuple[float, float]]:
    port, left = made.panes.chart.plot.viewport(), Qt.MouseButton.LeftButton
    middle = QPointF(port.rect().center())

    def send(kind: QEvent.Type, place: QPointF, button: Qt.MouseButton, held: Qt.MouseButton) -> None:
        event = QMouseEvent(
            kind, place, QPointF(port.mapToGlobal(place)), button, held, Qt.KeyboardModifier.NoModifier
        )
        QApplication.sendEvent(port, event)

    send(QEvent.Type.MouseButtonPress, middle, left, left)
    for step in range(FRAMES):
        place = middle + QPointF(3 * (step if step < FRAMES // 2 else FRAMES - step), 0)
        yield framed(
            made, lambda place=place: send(QEvent.Type.MouseMove, place, Qt.MouseButton.NoButton, left)
        )
    send(QEvent.Type.MouseButtonRelease, middle, left, Qt.MouseButton.NoButton)


def zoom(made: Application) -> Iterator[tuple[float, float]]:
    port = made.panes.chart.plot.viewport()
    middle = QPointF(port.rect().center())
    for step in range(FRAMES):
        angle = QPoint(0, 30 if step < FRAMES // 2 else -30)
        event = QWheelEvent(
            middle,
            QPointF(port.mapToGlobal(middle)),
            QPoint(),
            angle,
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        yield framed(made, lambda event=event: QApplication.sendEvent(port, event))


def framed(made: Application, act: Callable[[], object]) -> tuple[float, float]:
    """One frame: the event, what it queues, and the paint; then the rest of the screen's turn passes."""
    wall_s, cpu_s = time.perf_counter(), time.thread_time()
    act()
    QApplication.processEvents()
    made.panes.chart.plot.viewport().repaint()
    spent_s = time.perf_counter() - wall_s
    cpu_s = time.thread_time() - cpu_s
    time.sleep(max(0.0, FRAME_S - spent_s))
    return spent_s, cpu_s


def part_table(repeats: int) -> None:
    made, rows = open_window(), "10,000 rows"
    line = line_of(made)
    for _ in range(repeats):
        session = of_size(10_000)
        say(f"{rows}: table opens", *table_opens(session))
        opened = event_loop.longest_block(lambda s=session: made.model.replace(s))
        say(f"{rows}: window opens", *opened)
    time_sorts(made, rows, repeats)
    for _ in range(repeats):
        for text in ("s", "so", "sof", "soft", "soft t", ""):
            block = event_loop.longest_block(lambda text=text: line.setText(text))
            say(f"{rows}: filter key", *block)
    made.window.close()


def part_many(repeats: int) -> None:
    made = open_window()
    session = of_size(100_000)
    say("100,000 rows: window opens", *event_loop.longest_block(lambda: made.model.replace(session)))
    time_sorts(made, "100,000 rows", repeats)
    made.window.close()


def time_sorts(made: Application, rows: str, repeats: int) -> None:
    """The first sort of each column, which makes its keys, is another reading."""
    for turn in range(4 * max(2, repeats)):
        name = f"{rows}: sort" if turn >= 8 else f"{rows}: first sort of a column"
        block = event_loop.longest_block(lambda turn=turn: sort(made, turn))
        say(name, *block)


def table_opens(session: "Session") -> tuple[float, float]:
    """The model of the table alone, and the rows that a view asks for first."""
    from roofscope.app.window.session_model import SessionModel
    from roofscope.app.window.tables.point_table import PointTable

    wall_s, cpu_s = time.perf_counter(), time.thread_time()
    table = PointTable(SessionModel(session))
    for row in range(30):
        for column in range(table.columnCount()):
            table.index(row, column).data()
    return time.perf_counter() - wall_s, time.thread_time() - cpu_s


PARTS = {
    "start": part_start,
    "actions": part_actions,
    "arriving": part_arriving,
    "frames": part_frames,
    "table": part_table,
    "crowd": part_crowd,
    "many": part_many,
}

if __name__ == "__main__":
    PARTS[sys.argv[2]](int(sys.argv[3]))
    os._exit(0)  # what Qt frees in an order of its own is no matter of the budgets
