"""Marks in the trace of a point: asked for on the timeline, kept with what the user says of the point."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QInputDialog

from roofscope.app.presentation.timeline.moments import moment_at, shown_moments
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.timeline.canvas import TimelineCanvas
from roofscope.profiling.results.marks import MOST_MOMENT_NOTE, Moment
from roofscope.profiling.results.session import Point, TraceInfo

_NO_SESSION = "Only the trace of a point keeps marks; this one is a file of its own."


class TraceMarking(QObject):
    """``marked`` follows when a mark was set or taken away: it can be undone where it is kept."""

    marked = Signal(int, object, str)  # the point's number, its Mark from now on, what Undo says
    refused = Signal(str)

    def __init__(self, model: SessionModel, canvas: TimelineCanvas) -> None:
        super().__init__(canvas)
        self._model, self._canvas = model, canvas
        self._of: tuple[Point, TraceInfo] | None = None
        canvas.mark_wanted.connect(self._ask)
        canvas.mark_dropped.connect(self._drop)
        model.marks_changed.connect(self.show)

    def follow(self, point: Point | None, trace: TraceInfo | None) -> None:
        """Whose trace is shown; None for a file."""
        self._of = (point, trace) if point and trace else None
        self.show()

    def show(self) -> None:
        timeline = self._canvas.timeline
        if self._of is None or not timeline.tracks:
            timeline.mark(())
            return
        point, trace = self._of
        moments = self._model.mark(point.number).moments
        timeline.mark(shown_moments(timeline.tracks[0], moments, trace.number))

    def set_mark(self, time: float, note: str) -> None:
        """At a time of the timeline."""
        if self._of is not None and self._canvas.timeline.tracks:
            point, trace = self._of
            moment = moment_at(self._canvas.timeline.tracks[0], trace.number, time, note.strip())
            mark = self._model.mark(point.number).with_moment(moment)
            self.marked.emit(point.number, mark, "mark in the trace")

    def _ask(self, time: float) -> None:
        if self._of is None:
            self.refused.emit(_NO_SESSION)
            return
        dialog = QInputDialog(self._canvas)
        dialog.setWindowTitle("Mark")
        dialog.setLabelText("What is to be remembered of this time, or nothing")
        dialog.textValueSelected.connect(lambda note: self.set_mark(time, note[:MOST_MOMENT_NOTE]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _drop(self, moment: Moment) -> None:
        if self._of is not None:
            number = self._of[0].number
            self.marked.emit(number, self._model.mark(number).without_moment(moment), "removal of a mark")
