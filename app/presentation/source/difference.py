"""Two texts side by side, line by line, with what differs within a line."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby

from msgspec import Struct

from roofscope.app.presentation.source.texts import SourceText

_LONGEST_COMPARED = 400  # characters of a line that is compared letter by letter
_LEAST_ALIKE = 0.4  # below that the marks would cover both lines
_MOST_PAIRS = 400  # letters are compared in so many pairs of lines: the time grows with them

Span = tuple[int, int]  # first character, and the one behind the last


class RowKind(StrEnum):
    SAME = "same"
    CHANGED = "changed"
    REMOVED = "removed"  # in the left text only
    ADDED = "added"  # in the right text only


class Row(Struct, frozen=True):
    """One line of each text, by its index from 0; None where that text has no such line."""

    kind: RowKind
    left: int | None
    right: int | None
    left_marks: tuple[Span, ...] = ()
    right_marks: tuple[Span, ...] = ()


class Difference(Struct, frozen=True):
    rows: tuple[Row, ...]

    @property
    def removed_count(self) -> int:
        return sum(row.kind in (RowKind.REMOVED, RowKind.CHANGED) for row in self.rows)

    @property
    def added_count(self) -> int:
        return sum(row.kind in (RowKind.ADDED, RowKind.CHANGED) for row in self.rows)

    @property
    def starts(self) -> tuple[int, ...]:
        """The row at which each run of differing rows begins."""
        kinds = [RowKind.SAME, *(row.kind for row in self.rows)]
        return tuple(
            index
            for index in range(len(self.rows))
            if kinds[index + 1] is not RowKind.SAME and kinds[index] is RowKind.SAME
        )


def paired(
    left: Sequence[SourceText], right: Sequence[SourceText]
) -> tuple[tuple[SourceText, SourceText], ...]:
    """Files to be compared: by their language, in order; what has no partner is compared with nothing.

    Where no language is on both sides, the first files are compared all the same.
    """
    found: list[tuple[SourceText, SourceText]] = []
    waiting = list(right)
    for one in left:
        other = next((file for file in waiting if file.language is one.language), None)
        if other is not None:
            waiting.remove(other)
            found.append((one, other))
    if not found and left and right:
        found, waiting = [(left[0], right[0])], list(right[1:])
    partnered = [one for one, _ in found]
    alone = [(one, _nothing(one)) for one in left if one not in partnered]
    return (*found, *alone, *((_nothing(file), file) for file in waiting))


def _nothing(beside: SourceText) -> SourceText:
    return SourceText("nothing", "", beside.language)


def difference(left: Sequence[str], right: Sequence[str]) -> Difference:
    """Aligned rows; lines that differ in white space at their end alone count as the same."""
    matcher = SequenceMatcher(None, [line.rstrip() for line in left], [line.rstrip() for line in right])
    rows: list[Row] = []
    pairs = 0
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            rows += (Row(RowKind.SAME, i, j) for i, j in zip(range(i1, i2), range(j1, j2), strict=True))
            continue
        both = min(i2 - i1, j2 - j1)
        for step in range(both):
            i, j = i1 + step, j1 + step
            pairs += 1
            marks = _marks(left[i], right[j]) if pairs <= _MOST_PAIRS else ((), ())
            rows.append(Row(RowKind.CHANGED, i, j, *marks))
        rows += (Row(RowKind.REMOVED, i, None) for i in range(i1 + both, i2))
        rows += (Row(RowKind.ADDED, None, j) for j in range(j1 + both, j2))
    return Difference(tuple(rows))


def _marks(left: str, right: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """What of two lines is not in the other; nothing where they have little in common."""
    if max(len(left), len(right)) > _LONGEST_COMPARED:
        return (), ()
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return (), ()
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    lefts = tuple((i1, i2) for _, i1, i2, _, _ in codes if i2 > i1)
    rights = tuple((j1, j2) for _, _, _, j1, j2 in codes if j2 > j1)
    return lefts, rights


def unified_lines(
    left: Sequence[str], right: Sequence[str], found: Difference, context: int = 3
) -> Iterator[tuple[str, str]]:
    """For a terminal: a mark (" ", "-", "+" or "@") and a line; so many equal lines round each change."""
    shown = zip(found.rows, _near(found.rows, context), strict=True)
    is_first = True
    for is_near, group in groupby(shown, key=lambda pair: pair[1]):
        rows = [row for row, _ in group]
        if not is_near:
            is_first = False
            continue
        if not is_first:
            yield "@", f"line {next(row.left for row in rows if row.left is not None) + 1}"
        is_first = False
        for is_same, run in groupby(rows, key=lambda row: row.kind is RowKind.SAME):
            ones = list(run)
            mark = " " if is_same else "-"
            yield from ((mark, left[row.left]) for row in ones if row.left is not None)
            if not is_same:
                yield from (("+", right[row.right]) for row in ones if row.right is not None)


def _near(rows: Sequence[Row], context: int) -> list[bool]:
    near = [False] * len(rows)
    for index, row in enumerate(rows):
        if row.kind is not RowKind.SAME:
            first, last = max(0, index - context), min(len(rows), index + context + 1)
            near[first:last] = [True] * (last - first)
    return near
