"""What a search looks through, a text a row: kept, because thousands of rows are asked at each key."""

from roofscope.app.presentation.search_text import job_text, judged_text, outcome_text, said_text
from roofscope.profiling.analysis.verdict import Verdict
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Point


class SearchTexts:
    """Of what is known at once and, where that is known, of what limits the point."""

    def __init__(self) -> None:
        self._plain: dict[int, str] = {}  # by the row's index: what is known at once
        self._whole: dict[int, str] = {}  # with what the ceilings say, once they have been asked
        self._spelled: dict[tuple[str, int], str] = {}  # by implementation and job, for all that share them

    def forget_verdicts(self) -> None:
        self._whole.clear()

    def forget(self, index: int) -> None:
        """What the user says of it has changed."""
        self._plain.pop(index, None)
        self._whole.pop(index, None)

    def of(self, index: int, point: Point, judged: Verdict | None, mark: Mark) -> str:
        """A text of the row; a whole one once it is judged."""
        if index in self._whole:
            return self._whole[index]
        if index not in self._plain:
            self._plain[index] = " ".join((self._names(point), outcome_text(point), said_text(mark)))
        if judged is None:
            return self._plain[index]
        self._whole[index] = f"{self._plain[index]} {judged_text(judged)}"
        return self._whole[index]

    def _names(self, point: Point) -> str:
        shared = point.implementation.key, id(point.job)  # which its point keeps alive
        if shared not in self._spelled:
            self._spelled[shared] = job_text(point.implementation, point.job)
        return self._spelled[shared]
