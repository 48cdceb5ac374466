"""The pages of the source pane: which a point has, and what stands on each, beside another point's."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from roofscope.app.presentation.source.failing_line import failing_line
from roofscope.app.presentation.source.generated import KIND_TITLES, code_of, joined, why_no_code
from roofscope.app.presentation.source.launch import launch_sections, why_no_launch
from roofscope.app.presentation.source.sheet import Ground, Sheet, SheetLine, aligned_sheets, sheet_of
from roofscope.app.presentation.source.texts import files_of, why_no_files
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError, load_code


class Page(StrEnum):
    SOURCE = "Source"
    DIFFERENCE = "Difference"
    LAUNCH = "Launch"
    INDUCTOR = "Inductor"
    TTIR = "TTIR"
    TTGIR = "TTGIR"
    LLIR = "LLVM IR"
    PTX = "PTX"
    SASS = "SASS"


_KIND_OF = {Page(KIND_TITLES[kind]): kind for kind in CodeKind}


class Spread(Struct, frozen=True):
    """Two sides of a page: each a sheet, or a sentence that says why there is none; right may be absent."""

    left: Sheet | str
    right: Sheet | str | None = None
    kinds: tuple[CodeKind, ...] = ()  # of generated code that either point has


def pages_of(kinds: Sequence[CodeKind], *, has_other: bool) -> tuple[Page, ...]:
    """Those that have something to show, or a sentence that helps."""
    generated = tuple(page for page, kind in _KIND_OF.items() if kind in kinds)
    return (Page.SOURCE, *([Page.DIFFERENCE] if has_other else []), Page.LAUNCH, *generated)


def spread_of(session: Session, page: Page, point: Point, other: Point | None) -> Spread:
    """What a page shows. Reads the session file where code was kept: not for the window's thread."""
    points = [point, *([other] if other else [])]
    codes = [_codes(session, one) for one in points]
    kinds = tuple(kind for kind in CodeKind if any(kind in _kinds(found) for found in codes))
    if page is Page.DIFFERENCE and other:
        sides: Sequence[Sheet | str] = _difference(session, point, other)
    elif kind := _KIND_OF.get(page):
        sides = [_generated(one, found, kind) for one, found in zip(points, codes, strict=True)]
    elif page is Page.LAUNCH:
        sides = [_launch(session, one) for one in points]
    else:
        sides = [_source(session, one) for one in points]
    return Spread(sides[0], sides[1] if len(sides) > 1 else None, kinds)


def _source(session: Session, point: Point) -> Sheet | str:
    files = files_of(session, point)
    return sheet_of(files, failing_line(point.outcome, files)) if files else why_no_files(session, point)


def _difference(session: Session, point: Point, other: Point) -> tuple[Sheet | str, Sheet | str]:
    left, right = files_of(session, point), files_of(session, other)
    if left and right:
        return aligned_sheets(left, right)
    return _source(session, point), _source(session, other)


def _codes(session: Session, point: Point) -> tuple[Code, ...] | str:
    """The code that was kept, or why it cannot be shown."""
    kept = code_of(session, point)
    if kept is None:
        return why_no_code(point)
    try:
        return load_code(session.path, kept.number)
    except SessionError as error:
        return str(error)


def _kinds(found: tuple[Code, ...] | str) -> set[CodeKind]:
    return set() if isinstance(found, str) else {code.kind for code in found}


def _generated(point: Point, found: tuple[Code, ...] | str, kind: CodeKind) -> Sheet | str:
    if isinstance(found, str):
        return found
    text = joined(found, kind)
    return sheet_of([text]) if text else why_no_code(point, kind)


def _launch(session: Session, point: Point) -> Sheet | str:
    sections = launch_sections(session, point)
    if not sections:
        return why_no_launch(point)
    width = max(len(fact.name) for section in sections for fact in section.facts)
    lines: list[SheetLine] = []
    for section in sections:
        lines += [SheetLine("")] if lines else []
        lines.append(SheetLine(section.title, None, Ground.HEADING))
        for fact in section.facts:
            lines.append(SheetLine(f"{fact.name:<{width}}  {fact.value}", None, tip=fact.tip))
    return Sheet(tuple(lines))
