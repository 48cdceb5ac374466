"""What the palette offers: every command, then kernels and points of the session."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtGui import QKeySequence

from roofscope.app.presentation.formatting import size_and_fill_text, time_text
from roofscope.app.presentation.search_text import spellings
from roofscope.app.window.commands import COMMANDS, Command, CommandId, plain_text
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.shell.main_window import MainWindow, Panes
from roofscope.app.window.shell.palette import Entry
from roofscope.profiling.results.session import Point

_REMEMBERED = 12


class PaletteParts(Protocol):
    settings: Settings
    model: SessionModel
    selection: Selection
    window: MainWindow
    panes: Panes


def entries(parts: PaletteParts, why_not: Callable[[CommandId], str]) -> Sequence[Entry]:
    """Those that were used last come first."""
    recent = parts.settings.habits.commands
    order = {name: number for number, name in enumerate(recent)}
    commands = sorted(COMMANDS, key=lambda command: order.get(command.id, len(order)))
    return (
        *(_of_command(parts, command, why_not(command.id)) for command in commands if _is_offered(command)),
        *_of_examples(parts),
        *_of_panes(parts),
        *_of_kernels(parts),
        *(_of_point(parts, point) for point in parts.model.session.points),
    )


def keys_text(command: Command) -> str:
    """Its keys as this desktop writes them."""
    keys = QKeySequence(command.keys, QKeySequence.SequenceFormat.PortableText)
    return keys.toString(QKeySequence.SequenceFormat.NativeText)


def _is_offered(command: Command) -> bool:
    return command.id is not CommandId.PALETTE  # which is open


def _of_command(parts: PaletteParts, command: Command, why_not: str) -> Entry:
    action = parts.window.actions_of[command.id]
    if not action.isEnabled() and not why_not:
        why_not = "This cannot be done now."

    def act() -> None:
        habits = parts.settings.habits
        others = [name for name in habits.commands if name != command.id]
        parts.settings.habits = replace(habits, commands=(command.id, *others)[:_REMEMBERED])
        action.trigger()

    groups = (command.menu, command.inside) if command.inside else (command.menu,)
    name = ": ".join((*groups, action.text().removesuffix("..."))).replace("&", "")
    return Entry(name, act, command.tip, keys_text(command), why_not, plain_text(command))


def _of_examples(parts: PaletteParts) -> Iterator[Entry]:
    for action in parts.window.example_menu.actions():
        yield Entry(f"Open example: {action.text()}", action.trigger, "A session that came with the program")


def _of_panes(parts: PaletteParts) -> Iterator[Entry]:
    for title in parts.window.docks:

        def show(title: str = title) -> None:
            parts.window.show_pane(title)
            parts.window.focus_pane(title)

        yield Entry(f"Go to pane: {title}", show, f"Show the pane {title}", "pane")


def _of_kernels(parts: PaletteParts) -> Iterator[Entry]:
    names = dict.fromkeys(point.job.workload.kernel for point in parts.model.session.points)
    for name in names:
        hint = f"Show only {name} in the chart; Esc shows all again"
        isolate = lambda name=name: parts.panes.chart.isolate(name)  # noqa: E731
        yield Entry(f"Go to kernel: {name}", isolate, hint, "kernel", also=spellings(name))


def _of_point(parts: PaletteParts, point: Point) -> Entry:
    workload = point.job.workload
    measured = point.measured
    time = time_text(measured.time.median_s) if measured else "no time"
    name = f"{point.implementation.title}, {workload.dtype.label} {size_and_fill_text(workload)}"
    also = f"{spellings(point.implementation.key)} {workload.size_label}"
    return Entry(name, lambda: parts.selection.select(point.number), "Select this point", time, also=also)
