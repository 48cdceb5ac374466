"""A text laid out for a viewer: numbered lines with their words, grounds and marks; of two texts, aligned."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from roofscope.app.presentation.source.difference import Row, RowKind, Span, difference, paired
from roofscope.app.presentation.source.failing_line import FailingLine
from roofscope.app.presentation.source.highlight import Run, highlighted
from roofscope.app.presentation.source.texts import SourceText


class Ground(StrEnum):
    """What is behind a line."""

    PLAIN = "plain"
    HEADING = "heading"  # a file's or a kernel's name; not of the text
    REMOVED = "removed"
    ADDED = "added"
    MISSING = "missing"  # the other text has a line here; not of the text
    FAILING = "failing"
    POINTED_AT = "pointed at"  # the lines that a lesson is about


OWN_GROUNDS = frozenset({Ground.HEADING, Ground.MISSING})  # of lines that are no part of the text


class SheetLine(Struct, frozen=True):
    """``number`` counts from 1 within its file; None for a line that is no part of it."""

    text: str
    number: int | None = None
    ground: Ground = Ground.PLAIN
    words: tuple[Run, ...] = ()
    marks: tuple[Span, ...] = ()
    tip: str = ""


class Sheet(Struct, frozen=True):
    lines: tuple[SheetLine, ...]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def changes(self) -> tuple[int, ...]:
        """Where a run of lines begins that the eye is to find: a failing line, or what differs."""
        plain = (Ground.PLAIN, Ground.HEADING)
        grounds = [Ground.PLAIN, *(line.ground for line in self.lines)]
        return tuple(
            index
            for index in range(len(self.lines))
            if grounds[index + 1] not in plain and grounds[index] in plain
        )

    def index_of(self, name: str, number: int, names: Sequence[str]) -> int | None:
        """The place of a line of a file; ``names`` are those of the files laid out, in their order."""
        wanted, at = names.index(name) if name in names else -1, -1
        for index, line in enumerate(self.lines):
            at += line.number == 1
            if at == wanted and line.number == number:
                return index
        return None


def sheet_of(texts: Sequence[SourceText], failing: FailingLine | None = None) -> Sheet:
    """Files one below the other, each under its name where there are several."""
    lines: list[SheetLine] = []
    for source in texts:
        if len(texts) > 1:
            lines += _heading(source.name, is_first=source is texts[0])
        for number, (line, words) in enumerate(zip(source.lines, highlighted(source), strict=True), 1):
            if failing and (failing.name, failing.line) == (source.name, number):
                tip = failing.words or "It failed here"
                lines.append(SheetLine(line, number, Ground.FAILING, words, (), tip))
            else:
                lines.append(SheetLine(line, number, Ground.PLAIN, words))
    return Sheet(tuple(lines))


def aligned_sheets(left: Sequence[SourceText], right: Sequence[SourceText]) -> tuple[Sheet, Sheet]:
    """Both sides of a difference, with as many lines each: line for line they belong together."""
    both: tuple[list[SheetLine], list[SheetLine]] = ([], [])
    pairs = paired(left, right)
    for number, (one, other) in enumerate(pairs):
        if len(pairs) > 1 or one.name != other.name:
            is_first = not number
            both[0].extend(_heading(one.name, is_first=is_first))
            both[1].extend(_heading(other.name, is_first=is_first))
        rows = difference(one.lines, other.lines).rows
        both[0].extend(_side(one, rows, Ground.REMOVED, is_left=True))
        both[1].extend(_side(other, rows, Ground.ADDED, is_left=False))
    return Sheet(tuple(both[0])), Sheet(tuple(both[1]))


def _side(source: SourceText, rows: Iterable[Row], ground: Ground, *, is_left: bool) -> list[SheetLine]:
    lines, words = source.lines, highlighted(source)
    found: list[SheetLine] = []
    for row in rows:
        index = row.left if is_left else row.right
        if index is None:
            found.append(SheetLine("", None, Ground.MISSING))
            continue
        is_same = row.kind is RowKind.SAME
        marks = row.left_marks if is_left else row.right_marks
        found.append(
            SheetLine(lines[index], index + 1, Ground.PLAIN if is_same else ground, words[index], marks)
        )
    return found


def _heading(name: str, *, is_first: bool) -> list[SheetLine]:
    return [*([] if is_first else [SheetLine("", None)]), SheetLine(name, None, Ground.HEADING)]
