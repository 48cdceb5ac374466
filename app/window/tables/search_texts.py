"""What a search looks through: texts that many rows share, each looked through once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.point_columns import COLUMNS, RestsOn
from roofscope.app.presentation.point_row import NOT_JUDGED, PointRow, reason_text, status_text
from roofscope.app.presentation.search_text import implementation_text, said_text, workload_text
from roofscope.app.presentation.tokens import PROVIDER_NAMES
from roofscope.profiling.analysis.verdict import Verdict
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point

_OF_OTHERS = ("Kernel", "Implementation", "Status", "Reason")  # of the implementation and the outcome
_JOBS_WORDS = tuple(
    column
    for column in COLUMNS
    if not column.is_number and column.rests_on is RestsOn.POINT and column.title not in _OF_OTHERS
)
_JUDGED_WORDS = tuple(
    column for column in COLUMNS if not column.is_number and column.rests_on is RestsOn.CEILINGS
)
_PARTS = 5  # of a row's text: implementation, job, outcome, mark, verdict
_MARK, _VERDICT = 3, 4
_NONE = 0  # the code of the empty text


class SearchTexts:
    """Lower case: names in every spelling, sizes, what came of it and, once that is known, what limits it.

    A row's text has five parts, and each part is one of few texts: 10,000 rows have 140 implementations. A
    typed word holds no space, so that it is found in a text exactly where it is found in one of its parts.
    """

    def __init__(self) -> None:
        self._texts: list[str] = [""]
        self._code_of: dict[str, int] = {"": _NONE}
        self._of_implementation: dict[int, int] = {}  # by identity: the points keep it alive
        self._of_job: dict[int, int] = {}
        self._codes: NDArray[np.int32] = np.zeros((0, _PARTS), dtype=np.int32)  # a row each
        self._count = 0
        self.looked_count = 0  # texts looked through: a test watches it

    def __len__(self) -> int:
        return self._count

    def add(self, point: Point, mark: Mark) -> None:
        """One row more, of which only the point is known."""
        if self._count == len(self._codes):
            room = np.zeros((max(256, len(self._codes)), _PARTS), dtype=np.int32)
            self._codes = np.concatenate((self._codes, room))
        outcome = f"{status_text(point)} {reason_text(point)}"
        self._codes[self._count] = (
            self._implementation(point),
            self._job(point),
            self._code(outcome),
            self._code(said_text(mark)),
            _NONE,
        )
        self._count += 1

    def say(self, index: int, mark: Mark) -> None:
        """What the user says of a row has changed."""
        if index < self._count:
            self._codes[index, _MARK] = self._code(said_text(mark))

    def judge(self, index: int, point: Point, judged: Verdict, limited_by: str = "") -> None:
        """What the ceilings say of a row."""
        row = PointRow(point, judged, None, limited_by=limited_by)
        words = " ".join([judged.kind, *(column.text(row) for column in _JUDGED_WORDS)])
        self._codes[index, _VERDICT] = self._code(words)

    def forget_verdicts(self) -> None:
        self._codes[:, _VERDICT] = _NONE

    def text(self, index: int) -> str:
        return " ".join(self._texts[code] for code in self._codes[index].tolist())

    def found(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows have every one of these words; in lower case."""
        codes = self._codes[: self._count]
        found = np.ones(self._count, dtype=np.bool_)
        for word in words:
            self.looked_count += len(self._texts)
            holds = np.array([word in text for text in self._texts], dtype=np.bool_)
            found &= holds[codes].any(axis=1)
        return found

    def _code(self, text: str) -> int:
        lower = text.lower()
        if lower not in self._code_of:
            self._code_of[lower] = len(self._texts)
            self._texts.append(lower)
        return self._code_of[lower]

    def _implementation(self, point: Point) -> int:
        implementation = point.implementation
        if id(implementation) not in self._of_implementation:
            provider = PROVIDER_NAMES[implementation.provider]
            text = f"{implementation_text(implementation)} {provider}"  # with the kernel, which is in its key
            self._of_implementation[id(implementation)] = self._code(text)
        return self._of_implementation[id(implementation)]

    def _job(self, point: Point) -> int:
        if id(point.job) not in self._of_job:
            row = PointRow(point, NOT_JUDGED, None)
            words = " ".join(column.text(row) for column in _JOBS_WORDS)
            self._of_job[id(point.job)] = self._code(f"{workload_text(point.job.workload)} {words}")
        return self._of_job[id(point.job)]
