"""What is done with points: pin, note, hide, trace, count, measure again. The first three can be undone."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog

from roofscope.app.presentation.formatting import counted_text
from roofscope.app.window.commands import CommandId
from roofscope.app.window.controller import Controller
from roofscope.app.window.counting import Counting
from roofscope.app.window.debugging import Debugging
from roofscope.app.window.editor import open_in_editor
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.app.window.shell.main_window import MainWindow, Panes
from roofscope.app.window.shell.mark_dialog import MarkDialog
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.tables.point_table import PointTable
from roofscope.app.window.undo import UndoSteps
from roofscope.profiling.paths import is_file
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.debugging import Finding
from roofscope.profiling.results.marks import Mark, tags_of
from roofscope.profiling.results.session import Point, timestamp

# What the context menu of a row offers beside copying.
OF_A_POINT = (
    CommandId.PIN,
    CommandId.NOTE,
    CommandId.HIDE,
    CommandId.DELETE,
    CommandId.TRACE,
    CommandId.COUNT,
    CommandId.COUNTERS_FROM,
    CommandId.TRY_AGAIN,
    CommandId.DEBUG,
)


class PointParts(Protocol):
    model: SessionModel
    selection: Selection
    shown: ShownPoints
    table: PointTable
    controller: Controller
    window: MainWindow
    panes: Panes
    shared_gpu: SharedGpu
    debugging: Debugging
    counting: Counting


class PointCommands(QObject):
    def __init__(self, parts: PointParts, steps: UndoSteps) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self._steps = steps

    @property
    def handlers(self) -> Mapping[CommandId, Callable[[], object]]:
        return {
            CommandId.PIN: self._pin,
            CommandId.NOTE: self._note,
            CommandId.HIDE: self._hide,
            CommandId.SHOW_HIDDEN: self._show_hidden,
            CommandId.DELETE: self._delete,
            CommandId.BRING_BACK: self._bring_back,
            CommandId.TRACE: self._trace,
            CommandId.COUNT: self._count,
            CommandId.TRY_AGAIN: self._try_again,
            CommandId.TUNING: self._show_tuning,
            CommandId.DEBUG: self._debug,
        }

    @property
    def selected(self) -> Point | None:
        number = self._parts.selection.number
        return self._parts.model.point(number) if number is not None else None

    def retry(self, points: Sequence[Point]) -> None:
        """Measure these once more, also where they are paused."""
        devices = self._parts.panes.plan_bar.devices
        own = [self._parts.model.session.own_device(devices, point) for point in points]

        def measure() -> None:
            self._parts.panes.cards.forget_worker()
            self._parts.controller.try_again(points, devices)

        self._parts.shared_gpu.ask([device for device in dict.fromkeys(own) if device], measure)

    def _try_again(self) -> None:
        if point := self.selected:
            self.retry([point])

    @property
    def to_debug(self) -> Implementation | None:
        """The selected point's, else the one that the library is at."""
        point = self.selected
        return point.implementation if point else self._parts.panes.library.current

    def _debug(self) -> None:
        implementation = self.to_debug
        if implementation and self._parts.debugging.start(implementation, self.selected):
            self._parts.window.show_pane("Debug")

    def show_finding(self, finding: Finding) -> None:
        """The line in the Source pane where the selected point has that file, else the file in the editor."""
        where, report = finding.where, self._parts.panes.debug.report
        if where is None or report is None:
            return
        if self._parts.panes.source.show_line(report.implementation, where.name, where.number):
            self._parts.window.show_pane("Source")
        elif is_file(Path(where.file)):
            open_in_editor(Path(where.file))
        else:
            self._parts.window.say(f"{where.name} is not on this machine.")

    def _trace(self) -> None:
        """Of the selected point, and of the rows selected beside it that have a time on its device."""
        parts, point = self._parts, self.selected
        if not point:
            return
        devices = parts.panes.plan_bar.devices
        device = parts.model.session.own_device(devices, point)
        found = (parts.model.point(number) for number in sorted(self._chosen()))
        others = [one for one in found if one and one.measured and one != point]
        own = [point, *(one for one in others if parts.model.session.own_device(devices, one) == device)]

        def trace() -> None:
            self.show_trace()
            parts.controller.trace(own, devices, parts.panes.trace.record_options.options)

        parts.shared_gpu.ask([device] if device else [], trace)

    def _count(self) -> None:
        parts, point = self._parts, self.selected
        if not point:
            return
        device = parts.model.session.own_device(parts.panes.plan_bar.devices, point)
        parts.shared_gpu.ask([device] if device else [], lambda: parts.counting.start(point))

    def show_trace(self) -> None:
        """Bring the pane of the selected point's trace to the front."""
        self._parts.window.show_pane("Trace")

    def _show_tuning(self) -> None:
        self._parts.window.show_pane("Tuning")
        self._parts.window.focus_pane("Tuning")

    def _pin(self) -> None:
        """Or unpin."""
        if point := self.selected:
            mark = self._parts.model.mark(point.number)
            if mark.is_pinned:
                self._mark("unpin", point.number, mark.unpinned())
            else:
                self._mark("pin", point.number, mark.pinned(timestamp()))

    def _note(self) -> None:
        if point := self.selected:
            model = self._parts.model
            known = tags_of(model.session.marks.values())
            dialog = MarkDialog(point.label, model.mark(point.number), known, self._parts.window)

            def closed(result: int) -> None:
                if result == QDialog.DialogCode.Accepted and dialog.mark != model.mark(point.number):
                    self._mark("note", point.number, dialog.mark)

            dialog.finished.connect(closed)
            dialog.open()

    def mark(self, number: int, wanted: Mark, text: str) -> None:
        """Say this of a point; ``text`` is what Undo would take back."""
        self._mark(text, number, wanted)

    def _mark(self, text: str, number: int, wanted: Mark) -> None:
        before, give = self._parts.model.mark(number), self._parts.controller.mark
        self._steps.take(text, lambda: give(number, wanted), lambda: give(number, before))

    def _hide(self) -> None:
        """The rows that are selected, or the one point."""
        numbers = self._chosen()
        wanted = self._parts.shown.filter.without(numbers)
        self._parts.shown.show(wanted)
        count = counted_text(len(wanted.put_aside), "point")
        self._parts.window.say(f"{count} hidden; Ctrl+Shift+H shows all again, Ctrl+Z the last.")

    def _show_hidden(self) -> None:
        self._parts.shown.show(replace(self._parts.shown.filter, put_aside=frozenset()))

    def _delete(self) -> None:
        """The rows that are selected, or the one point. They stay in the file."""
        numbers, controller = sorted(self._chosen()), self._parts.controller
        following = self._next_of(numbers)
        count = counted_text(len(numbers), "point")

        def delete() -> bool:
            if not controller.delete(numbers):
                return False
            self._parts.selection.select(following)
            return True

        def bring_back() -> bool:
            if not controller.bring_back_points(numbers):
                return False
            self._parts.selection.select(numbers[0])
            return True

        self._steps.take(f"deletion of {count}", delete, bring_back)
        if self._parts.model.point(numbers[0]) is None:
            self._parts.window.say(f"{count} deleted; Ctrl+Z brings {_them(len(numbers))} back.")

    def _next_of(self, numbers: Sequence[int]) -> int | None:
        """What is selected when these are gone: the row below, else the one above."""
        table = self._parts.table
        rows = [row for number in numbers if (row := table.row_of(number)) is not None]
        near = (*(row + 1 for row in rows[-1:]), *(row - 1 for row in rows[:1]))
        found = [table.point_at(row).number for row in near if 0 <= row < table.rowCount()]
        return next((number for number in found if number not in numbers), None)

    def _bring_back(self) -> None:
        controller = self._parts.controller
        numbers = tuple(one.point.number for one in self._parts.model.session.deleted)
        text = f"return of {counted_text(len(numbers), 'point')}"
        self._steps.take(
            text, lambda: controller.bring_back_points(numbers), lambda: controller.delete(numbers)
        )

    def _chosen(self) -> frozenset[int]:
        results, table = self._parts.panes.results, self._parts.table
        chosen = sorted({index.row() for index in results.view.selectionModel().selectedRows()})
        rows = results.rows.table_rows(chosen)
        point = self.selected
        found = {table.point_at(row).number for row in rows}
        return frozenset(found or ({point.number} if point else ()))


def _them(count: int) -> str:
    return "it" if count == 1 else "them"
