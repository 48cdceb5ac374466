"""What a search looks through, a text a row."""

from roofscope.app.presentation.point_columns import COLUMNS, RestsOn
from roofscope.app.presentation.point_row import NOT_JUDGED, PointRow, reason_text, status_text
from roofscope.app.presentation.search_text import implementation_text, workload_text
from roofscope.app.presentation.tokens import PROVIDER_NAMES
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point

_OF_OUTCOME = ("Status", "Reason")
_WORDS = tuple(
    column
    for column in COLUMNS
    if not column.is_number and column.rests_on is RestsOn.POINT and column.title not in _OF_OUTCOME
)
_JUDGED_WORDS = tuple(
    column for column in COLUMNS if not column.is_number and column.rests_on is RestsOn.CEILINGS
)


class SearchTexts:
    """Lower case: names in every spelling, sizes, what came of it and, once that is known, what limits it."""

    def __init__(self) -> None:
        self._plain: dict[int, str] = {}  # by the row's index: what is known at once
        self._whole: dict[int, str] = {}  # with what the ceilings say, once they have been asked
        self._spelled: dict[tuple[str, int], str] = {}  # by implementation and job, for all that share them

    def forget_verdicts(self) -> None:
        self._whole.clear()

    def of(self, index: int, point: Point, row: PointRow | None, mark: Mark | None) -> str:
        """A text of the row; a whole one once there is a row."""
        if index in self._whole:
            return self._whole[index]
        if index not in self._plain:
            said = " ".join((mark.note, *mark.tags)).lower() if mark else ""
            self._plain[index] = f"{self._plain_text(point)} {said}"
        if row is None:
            return self._plain[index]
        words = " ".join([row.verdict.kind, *(column.text(row) for column in _JUDGED_WORDS)])
        self._whole[index] = f"{self._plain[index]} {words.lower()}"
        return self._whole[index]

    def _plain_text(self, point: Point) -> str:
        job, implementation = point.job, point.implementation
        shared = implementation.key, id(job)  # which its point keeps alive
        if shared not in self._spelled:
            row = PointRow(point, NOT_JUDGED, None)
            words = " ".join(column.text(row) for column in _WORDS)
            provider = PROVIDER_NAMES[implementation.provider]
            names = f"{implementation_text(implementation)} {workload_text(job.workload)} {provider}"
            self._spelled[shared] = f"{names} {words.lower()}"
        outcome = f"{status_text(point)} {reason_text(point)}"
        return f"{self._spelled[shared]} {outcome.lower()}"
