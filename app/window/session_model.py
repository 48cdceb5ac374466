"""The session that the window shows, as one observable value."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Signal

from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.generated import CodeInfo
from roofscope.profiling.results.marks import Mark, with_mark
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Origin, Point, Session, TraceInfo
from roofscope.profiling.roofline.roofline import Ceiling


class SessionModel(QObject):
    """Holds the session; views redraw on its signals, the controller feeds it.

    Recorded and live sessions take the same road: a loaded file is one ``replaced``, a live run
    is a stream of ``point_added`` and ``ceilings_changed``.
    """

    replaced = Signal()  # another session: forget everything
    point_added = Signal(object)  # Point
    ceilings_changed = Signal()
    environment_changed = Signal()
    trace_added = Signal(object)  # TraceInfo
    proof_added = Signal(object)  # Proof
    code_added = Signal(object)  # CodeInfo
    marks_changed = Signal()
    counters_changed = Signal(int)  # the number of the point that was counted
    points_changed = Signal()  # some were deleted, or brought back

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._by_number: tuple[tuple[Point, ...], dict[int, Point]] = ((), {})

    @property
    def session(self) -> Session:
        return self._session

    def replace(self, session: Session) -> None:
        self._session = session
        self._by_number = (), {}  # which hold the points of the one before
        self.replaced.emit()

    def know_environment(self, origin: Origin) -> None:
        """Where results come from, from now on; those that are here keep their own."""
        self._session.know(origin)
        self.environment_changed.emit()

    def show_device(self, device: Device) -> None:
        """Of several devices of the session show this one's ceilings and points in the chart."""
        if self._session.device and self._session.device.uuid != device.uuid:
            self._session.show(device)
            self.ceilings_changed.emit()
            self.environment_changed.emit()

    def add_kernel(self, spec: KernelSpec) -> None:
        self._session.specs = {**self._session.specs, spec.name: spec}  # a thread may read those there were

    def add_sources(self, implementation: Implementation, files: tuple[SourceFile, ...]) -> None:
        """The files that a point was measured with."""
        self._session.sources = {**self._session.sources, implementation.source_hash: files}

    def add_point(self, point: Point) -> None:
        before, known = self._by_number
        is_known = before is self._session.points
        self._session.points = (*self._session.points, point)
        if is_known:
            known[point.number] = point
            self._by_number = self._session.points, known
        self.point_added.emit(point)

    def add_ceiling(self, ceiling: Ceiling, origin: int | None = None) -> None:
        self._session.ceiling_origins = (*self._session.ceiling_origins, origin)
        self._session.ceilings = (*self._session.ceilings, ceiling)
        self.ceilings_changed.emit()

    def add_proof(self, proof: Proof) -> None:
        self._session.proofs = (*self._session.proofs, proof)
        self.proof_added.emit(proof)

    def add_trace(self, trace: TraceInfo) -> None:
        self._session.traces = (*self._session.traces, trace)
        self.trace_added.emit(trace)

    def add_code(self, code: CodeInfo) -> None:
        self._session.codes = (*self._session.codes, code)
        self.code_added.emit(code)

    def set_mark(self, number: int, mark: Mark) -> None:
        """What the user says of a point from now on."""
        self._session.marks = with_mark(self._session.marks, number, mark)
        self.marks_changed.emit()

    def set_counters(self, number: int, counters: Counters) -> None:
        """What was counted of a point, from now on."""
        self._session.counters = {**self._session.counters, number: counters}
        self.counters_changed.emit(number)

    def delete(self, marks: Mapping[int, Mark]) -> bool:
        """Leave these points out; the marks say so."""
        self._session.delete(marks)
        self.points_changed.emit()
        return bool(marks)

    def bring_back(self, numbers: Sequence[int]) -> bool:
        """Have these points again, at their places."""
        is_done = self._session.bring_back(frozenset(numbers))
        self.points_changed.emit()
        return is_done

    def mark(self, number: int) -> Mark:
        return self._session.marks.get(number, Mark())

    def point(self, number: int) -> Point | None:
        points, known = self._session.points, self._by_number
        if known[0] is not points:
            self._by_number = known = points, {point.number: point for point in points}
        return known[1].get(number)

    def trace_of(self, point: Point) -> TraceInfo | None:
        """The newest trace of the point's implementation on its workload."""

        def same(job: Job) -> bool:
            return job.workload == point.job.workload and job.device == point.job.device

        return next(
            (
                trace
                for trace in reversed(self._session.traces)
                if trace.implementation == point.implementation and same(trace.job)
            ),
            None,
        )
