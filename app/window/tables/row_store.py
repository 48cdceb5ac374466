"""Rows of a session's points, each made when it is first asked for, and what they are sorted and searched by.

Judging a point and comparing it with its baseline takes 0.15 ms: 10,000 at once would hold the window up for
more than a second. So rows are made for those that are looked at, and then for all while nobody waits.
"""

import time
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.point_columns import COLUMNS, Key, RestsOn
from roofscope.app.presentation.point_row import NOT_JUDGED, PointRow
from roofscope.app.presentation.search_text import search_text
from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.presentation.why import limited_by_text
from roofscope.app.window.tables.search_texts import SearchTexts
from roofscope.app.window.tables.sort_keys import SortKeys
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.comparison import Baselines, BreakEven, Payback, SpeedUp, comparable
from roofscope.profiling.analysis.verdict import Verdict, VerdictKind, verdict
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point, Session

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

_NO_MARK = Mark()
_AT_ONCE = 150  # rows that a sort or a search makes without asking: a fortieth of a second
_TIME = next(i for i, column in enumerate(COLUMNS) if column.title == "Time")


class RowStore:
    """Rows by their index, which is the order of arrival; groups are workloads, by the order of theirs."""

    def __init__(
        self, session: Session, provider: Provider = Provider.EAGER, pinned: tuple[int, ...] = ()
    ) -> None:
        self._session = session
        self._provider = provider
        self.pinned = pinned
        self.judged_count = 0  # since the store was made: a test watches it
        self.points: list[Point] = []
        self.members: list[list[int]] = []  # of each group
        self._group_of: list[int] = []
        self._groups: dict[str, int] = {}  # by what is comparable
        self._group_of_job: dict[int, int] = {}  # by the job's identity: the points keep it alive
        self._indices: dict[int, int] = {}  # by the point's number
        self._verdicts: list[Verdict | None] = []
        self._ratios: list[tuple[SpeedUp | None, Payback] | None] = []
        self._rows: list[PointRow | None] = []
        self._of_kernel: dict[str, list[int]] = {}  # indices: what limits a point shows beside other types
        self._cases: dict[str, Cases] = {}  # by kernel
        self._unmade: set[int] = set()
        self._untold: set[int] = set()  # rows made since, whose words the texts do not have yet
        self._compared: dict[int, tuple[Baselines, BreakEven]] = {}  # of each group
        self._keys: dict[int, SortKeys] = {}  # by column
        self.texts = SearchTexts()
        self._left_out: set[int] = set()  # indices of points that were deleted since
        self._traced = _traced(session)
        self._marks = dict(session.marks)
        for point in session.points:
            self._append(point)

    def __len__(self) -> int:
        """Those deleted since too: the index of a point stays."""
        return len(self.points)

    @property
    def count(self) -> int:
        """Of the points that the session has."""
        return len(self.points) - len(self._left_out)

    def add(self, point: Point) -> int:
        """One more row; speed-ups of its workload are made again when they are asked for."""
        index = self._append(point)
        self.forget_ratios(self._group_of[index])
        self._forget_limits(point.implementation.kernel)
        for column, keys in list(self._keys.items()):
            if COLUMNS[column].rests_on is RestsOn.CEILINGS:
                del self._keys[column]
            else:
                keys.add(self._key(column, index))
        return index

    def _append(self, point: Point) -> int:
        index, job = len(self.points), id(point.job)
        if job not in self._group_of_job:
            self._group_of_job[job] = self._groups.setdefault(comparable(point), len(self._groups))
        group = self._group_of_job[job]
        if group == len(self.members):
            self.members.append([])
        self.points.append(point)
        self._group_of.append(group)
        self.members[group].append(index)
        self._indices[point.number] = index
        self._of_kernel.setdefault(point.implementation.kernel, []).append(index)
        self._verdicts.append(None)
        self._ratios.append(None)
        self._rows.append(None)
        self._unmade.add(index)
        return index

    @property
    def groups(self) -> Integers:
        """The group of each row."""
        return np.array(self._group_of, dtype=np.int64)

    def group_of(self, index: int) -> int:
        return self._group_of[index]

    def index_of(self, number: int) -> int | None:
        index = self._indices.get(number)
        return None if index in self._left_out else index

    def lacks_points(self) -> bool:
        return any(point.number not in self._indices for point in self._session.points)

    def know_points(self) -> list[int]:
        """After some were deleted or brought back: the rows of their workloads."""
        there = {point.number for point in self._session.points}
        left_out = {index for number, index in self._indices.items() if number not in there}
        changed, self._left_out = left_out ^ self._left_out, left_out
        groups = {self._group_of[index] for index in changed}
        for group in groups:
            of_group = (index for index, one in enumerate(self._group_of) if one == group)
            self.members[group] = [index for index in of_group if index not in left_out]
            self.forget_ratios(group)
        for kernel in {self.points[index].implementation.kernel for index in changed}:
            self._forget_limits(kernel)
        if changed:  # of a row that was never made there is no key
            self._keys.clear()
        self._unmade -= left_out
        return [index for group in sorted(groups) for index in self.members[group]]

    def row(self, index: int) -> PointRow:
        made = self._rows[index]
        if made is None:
            point = self.points[index]
            ratios = self._ratios[index] or self._compare(index)
            made = PointRow(
                point,
                self.verdict(index),
                *ratios,
                has_trace=self._has_trace(index),
                mark=self._mark_of(point),
                limited_by=self._limited_by(index),
            )
            self._ratios[index], self._rows[index] = ratios, made
            self._unmade.discard(index)
            self._untold.add(index)
        return made

    def verdict(self, index: int) -> Verdict:
        """Found once for all who ask: the rows, the chart and the search."""
        judged = self._verdicts[index]
        if judged is None:
            self.judged_count += 1
            judged = self._verdicts[index] = verdict(self.points[index], self._session)
        return judged

    def _limited_by(self, index: int) -> str:
        point = self.points[index]
        kernel = point.implementation.kernel
        if kernel not in self._cases:
            there = (one for one in self._of_kernel[kernel] if one not in self._left_out)
            self._cases[kernel] = Cases(self._session, [self.points[one] for one in there])
        return limited_by_text(point, self.verdict(index), self._cases[kernel])

    def _compare(self, index: int) -> tuple[SpeedUp | None, Payback]:
        group = self._group_of[index]
        if group not in self._compared:
            points = [self.points[member] for member in self.members[group]]
            self._compared[group] = Baselines(points, self._provider, self.pinned), BreakEven(points)
        baselines, break_even = self._compared[group]
        return baselines.speed_up(self.points[index]), break_even.calls(self.points[index])

    # What is no longer so

    def compare_with(self, provider: Provider, pinned: tuple[int, ...]) -> list[int] | None:
        """Another baseline; a pinned one is that of its own workload. The rows that change; None: all."""
        found = map(self.index_of, {*self.pinned, *pinned} if pinned != self.pinned else ())
        groups = sorted({self._group_of[index] for index in found if index is not None})
        self.pinned = pinned
        if provider is not self._provider:
            self._provider = provider
            groups = list(range(len(self.members)))
        for group in groups:
            self.forget_ratios(group)
        if len(groups) == len(self.members):
            return None
        return [index for group in groups for index in self.members[group]]

    def forget_ratios(self, group: int) -> None:
        self._compared.pop(group, None)
        for index in self.members[group]:
            self._ratios[index] = self._rows[index] = None
        self._unmade.update(self.members[group])
        self._forget_keys(RestsOn.OTHERS)

    def _forget_limits(self, kernel: str) -> None:
        """Another point of it may explain one that no roof does."""
        self._cases.pop(kernel, None)
        for index in self._of_kernel[kernel]:
            judged = self._verdicts[index]
            if judged and judged.kind is VerdictKind.UNKNOWN and index not in self._left_out:
                self._rows[index] = None
                self._unmade.add(index)

    def forget_verdicts(self) -> None:
        self._cases.clear()
        self._verdicts = [None] * len(self)
        self._rows = [None] * len(self)
        self._unmade = set(range(len(self))) - self._left_out
        self.texts.forget_verdicts()
        self._untold.clear()
        self._forget_keys(RestsOn.CEILINGS)

    def know_traces(self) -> list[int]:
        """The rows of which there is a trace that there was not."""
        before, self._traced = self._traced, _traced(self._session)
        new = self._traced - before
        rows = [index for index in range(len(self)) if new and self._trace_key(index) in new]
        for index in rows:
            self._rows[index] = None
        self._unmade.update(rows)
        self._forget_keys(RestsOn.TRACES)
        return rows

    def know_marks(self) -> list[int]:
        """The rows of which the user says something else than before."""
        before, self._marks = self._marks, dict(self._session.marks)
        numbers = [one for one in before | self._marks if before.get(one) != self._marks.get(one)]
        rows = [index for number in numbers if (index := self._indices.get(number)) is not None]
        for index in rows:
            self._rows[index] = None
            self.texts.say(index, self._mark_of(self.points[index]))
        self._unmade.update(rows)
        self._forget_keys(RestsOn.MARKS)
        return rows

    def _mark_of(self, point: Point) -> Mark:
        return self._marks.get(point.number, _NO_MARK)

    def _has_trace(self, index: int) -> bool:
        return bool(self._traced) and self._trace_key(index) in self._traced

    def _trace_key(self, index: int) -> tuple[str, str, str]:
        point = self.points[index]
        return point.implementation.key, point.job.workload.label, point.job.device

    def _forget_keys(self, of: RestsOn) -> None:
        for column in [column for column in self._keys if COLUMNS[column].rests_on is of]:
            del self._keys[column]

    # Made in advance

    @property
    def is_whole(self) -> bool:
        return not self._unmade and not self._untold

    def make_more(self, for_s: float) -> None:
        """Make rows and then their texts until the time is spent or all are there."""
        ends = time.perf_counter() + for_s
        while time.perf_counter() < ends:
            if self._unmade:
                self.row(self._unmade.pop())  # the first of a set that was large is a long walk away
            elif not self._add_text():
                if not self._untold:
                    return
                self._tell(self._untold.pop())

    def _make_few(self) -> None:
        if self._unmade and len(self._unmade) <= _AT_ONCE:
            for index in list(self._unmade):
                self.row(index)

    # Order and filter

    def keys(self, column: int) -> Floats:
        """A number a row by which the column sorts; NaN, which sorts last, for what is not known yet."""
        rests_on = COLUMNS[column].rests_on
        if column not in self._keys:
            if rests_on.is_slow:
                self._make_few()
            keys = SortKeys([self._key(column, index) for index in range(len(self))])
            if rests_on.is_slow and self._unmade:
                return keys.numbers()  # for now
            self._keys[column] = keys
        return self._keys[column].numbers()

    def _key(self, column: int, index: int) -> Key:
        if COLUMNS[column].rests_on.is_slow:
            made = self._rows[index]
            return COLUMNS[column].key(made) if made else None
        return COLUMNS[column].key(self._plain_row(index))

    def _plain_row(self, index: int) -> PointRow:
        """What is known at once."""
        point = self.points[index]
        return PointRow(point, NOT_JUDGED, None, has_trace=self._has_trace(index), mark=self._mark_of(point))

    def order(self, indices: Integers, column: int, *, descending: bool) -> Integers:
        """These rows by a column, equal ones in the order given."""
        keys = self.keys(column)[indices]
        return indices[np.argsort(-keys if descending else keys, kind="stable")]

    def by_time(self) -> Integers:
        """The rank of each row's time."""
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[np.argsort(self.keys(_TIME), kind="stable")] = np.arange(len(self))
        return ranks

    def kept(self, wanted: ViewFilter) -> Mask:
        """Which rows the filter lets through."""
        mask = np.ones(len(self), dtype=np.bool_)
        mask[list(self._left_out)] = False
        if wanted.kernels is not None:
            mask &= self._mask(point.job.workload.kernel in wanted.kernels for point in self.points)
        if wanted.dtype is not None:
            mask &= self._mask(point.job.workload.dtype is wanted.dtype for point in self.points)
        if wanted.hidden:
            mask &= self._mask(point.implementation.provider not in wanted.hidden for point in self.points)
        if wanted.put_aside:
            mask &= self._mask(point.number not in wanted.put_aside for point in self.points)
        if words := wanted.text.lower().split():
            mask &= self._searched().found(words)
        return mask

    def text_of(self, point: Point) -> str:
        """What typed words are looked for in; of a point that is not here too."""
        index = self._indices.get(point.number)
        if index is None:
            return search_text(point, verdict(point, self._session), self._mark_of(point))
        return self._searched().text(index)

    def _searched(self) -> SearchTexts:
        """The texts of all rows, with what limits those that are made; of many of these not all at once."""
        self._make_few()
        while self._add_text():
            pass
        for _ in range(min(_AT_ONCE, len(self._untold))):
            self._tell(self._untold.pop())
        return self.texts

    def _tell(self, index: int) -> None:
        if made := self._rows[index]:
            self.texts.judge(index, made.point, made.verdict, made.limited_by)

    def _add_text(self) -> bool:
        """Of one row more; False where those of all are there."""
        index = len(self.texts)
        if index < len(self):
            point = self.points[index]
            self.texts.add(point, self._mark_of(point))
        return index < len(self)

    def _mask(self, found: Iterable[bool]) -> Mask:
        return np.fromiter(found, dtype=np.bool_, count=len(self))


def _traced(session: Session) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (trace.implementation.key, trace.job.workload.label, trace.job.device) for trace in session.traces
    )
