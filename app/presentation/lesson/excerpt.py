"""The few lines of an implementation that a step is about."""

import re
from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.source.highlight import highlighted
from roofscope.app.presentation.source.sheet import Ground, Sheet, SheetLine
from roofscope.app.presentation.source.texts import SourceText, files_of, shown_text
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.story import Lines, Step
from roofscope.profiling.results.session import Point, Session

MOST_LINES = 24  # of an excerpt: a few lines are what a reader looks at


class Excerpt(Struct, frozen=True):
    """Lines of a file, the first and the last by their numbers from 1."""

    source: SourceText
    first: int
    last: int
    is_of_today: bool = False  # of the files as they are now, and not as the session has them

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.source.lines[self.first - 1 : self.last])


def excerpt_of(
    session: Session | None, point: Point | None, kernel: Kernel | None, step: Step
) -> Excerpt | None:
    """The lines as the session has them, else as they are in the kernel's folder; None where neither has."""
    if step.lines is None:
        return None
    if session and point and (found := find(files_of(session, point), step.lines)):
        return found
    implementation = kernel.implementation(step.implementation) if kernel else None
    if kernel is None or implementation is None:
        return None
    files = [shown_text(file.name, file.text) for file in kernel.sources(implementation)]
    found = find(files, step.lines)
    return Excerpt(found.source, found.first, found.last, is_of_today=True) if found else None


def sheet_of_excerpt(excerpt: Excerpt) -> Sheet:
    """The whole file, with the excerpt's lines pointed at."""
    words = highlighted(excerpt.source)
    return Sheet(
        tuple(
            SheetLine(
                text,
                number,
                Ground.POINTED_AT if excerpt.first <= number <= excerpt.last else Ground.PLAIN,
                words[number - 1],
            )
            for number, text in enumerate(excerpt.source.lines, 1)
        )
    )


def find(files: Sequence[SourceText], wanted: Lines) -> Excerpt | None:
    """In the first of the files that has them."""
    for file in files:
        lines = file.lines
        begin = _defined_at(lines, wanted.symbol)
        if begin is None:
            continue
        first = next((at for at in range(begin, len(lines)) if wanted.first in lines[at]), None)
        if first is None:
            continue
        last = first
        if wanted.last:
            end = min(len(lines), first + MOST_LINES)
            last = next((at for at in range(first, end) if wanted.last in lines[at]), None)
            if last is None:
                continue
        return Excerpt(file, first + 1, last + 1)
    return None


def _defined_at(lines: Sequence[str], symbol: str) -> int | None:
    """The line that defines a function: its name before a bracket, and no statement or comment."""
    if not symbol:
        return 0
    name = re.compile(rf"^(?:def |[^\s/#*].*[\s*&])?{re.escape(symbol)}\(")
    return next((at for at, line in enumerate(lines) if name.search(line)), None)
