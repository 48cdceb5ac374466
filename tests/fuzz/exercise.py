"""All that is made of a session without a screen: table, lines, facts, hover card, CSV, JSON, SVG."""

import io
import re
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

from msgspec import Struct

from roofscope.app.cli.compare import _document, print_compared
from roofscope.app.cli.outcome_lines import outcome_line
from roofscope.app.cli.progress import _Console
from roofscope.app.cli.table import print_table
from roofscope.app.presentation.compare.marks_text import mark_lines
from roofscope.app.presentation.compare.table import (
    history_table,
    pins_table,
    regression_sentence,
    sessions_table,
)
from roofscope.app.presentation.compile_lab import laboratories
from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import point_rows
from roofscope.app.presentation.projection import project
from roofscope.app.presentation.report.page import report_html
from roofscope.app.presentation.roofline.scene import ChartOptions
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.app.presentation.verdict_text import verdict_sentence
from roofscope.app.presentation.why import WhyTexts
from roofscope.app.presentation.why_record import why_records
from roofscope.profiling.analysis.advice.record import WhyRecord
from roofscope.profiling.analysis.export import csv_report, json_report, json_text
from roofscope.profiling.analysis.pairs import regressions
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.session import Session
from roofscope.profiling.roofline.products import PRODUCTS
from roofscope.tests.sessions import empty_session


def shown_as_table(session: Session) -> str:
    """The command line's lines, and the texts of the window's tables and details."""
    console = _Console(file=io.StringIO(), width=100)
    print_table(console, session)
    for point in session.points:
        console.print(outcome_line(point, 80, session), highlight=False)
    for pinned in (None, *(point.number for point in session.points[:1])):
        for row in point_rows(session, Provider.EAGER, pinned):
            sections(row, session)
            verdict_sentence(row.point, row.verdict)
            for column in COLUMNS:
                column.text(row)
                column.full_text(row)
                column.key(row)
    return "" if "\x1b" not in console.file.getvalue() else "an escape reaches the terminal"  # type: ignore[attr-defined]


def shown_compared(sessions: tuple[Session, Session]) -> str:
    """Beside each other, the first points of one as pins, and the history of one: lines and document."""
    session, other = sessions
    _pin(session)
    tables = [(pins_table(session), None), (sessions_table(session, other), other)]
    tables += [(history_table(session, point), None) for point in session.points[:1]]
    console = _Console(file=io.StringIO(), width=100)
    said = [*mark_lines(session)]
    for table, beside in tables:
        print_compared(console, table)
        said += [*(text for row in table.rows for text in row.cells), *table.notes]
        slower = regressions(table.pairs, 1.0)
        said.append(regression_sentence(slower, 1.0) if slower else "")
        said.append(json_text(_document(session, beside, table, said[-1])))
    said.append(console.file.getvalue())  # type: ignore[attr-defined]
    return "" if "\x1b" not in "".join(said) else "an escape reaches the terminal"


def shown_as_report(session: Session) -> str:
    """The page parses, and what runs or is fetched in it is the page's own."""
    text = report_html(session)
    page = _Page()
    page.feed(text)
    page.close()
    if page.open or page.crossed:
        return f"the page does not parse: {(page.crossed or page.open)[0]}"
    if (page.scripts, page.styles) != own_parts():
        return "a script or a style that is not the page's own"
    if page.acting:
        return f"an attribute that acts: {page.acting[0]}"
    return "" if "\x1b" not in text else "an escape reaches the page"


@cache
def own_parts() -> tuple[list[str], int]:
    """Of a report without anything from a session: the text of its scripts, and how many styles it has."""
    page = _Page()
    page.feed(report_html(empty_session()))
    assert len(page.scripts) == 1
    return page.scripts, page.styles


class _Page(HTMLParser):
    """What of a page a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.crossed: list[str] = []
        self.scripts: list[str] = []
        self.styles = 0
        self.acting: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _ENDLESS:
            self.open.append(tag)
        self._look(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)

    def _look(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.styles += tag == "style"
        self.acting += [tag] if tag in _ACTING else []
        for name, value in attrs:
            leads_out = name in {"href", "src", "xlink:href", "action"} and not (value or "").startswith("#")
            if leads_out or name.startswith("on") or (name == "style" and "url(" in (value or "")):
                self.acting.append(f"{tag} {name}")


_ENDLESS = frozenset({"meta", "br", "hr", "img", "input", "link", "wbr", "col"})
_ACTING = frozenset(
    {"img", "iframe", "object", "embed", "link", "base", "form", "image", "use", "foreignobject"}
)


def _pin(session: Session) -> None:
    for point in session.points[:4]:
        mark = session.marks.get(point.number, Mark())
        session.marks[point.number] = mark.pinned(point.recorded_at).tagged("fuzz")


def shown_as_advice(session: Session) -> str:
    """Why each point is where it is, the modes of torch.compile, and bounds on another GPU."""
    said: list[str] = []
    texts = WhyTexts(session)
    for point in session.points:
        if why := texts.of(point):
            if not all(sentence for _, sentence in why.titled):
                return "a title without a sentence"
            said += [*(sentence for _, sentence in why.titled), *why.others]
    for lab in laboratories(session):
        said += [lab.sentence, *lab.notes, *(cell for mode in lab.modes for cell in mode.cells)]
    said += [cell for one in project(session, PRODUCTS[0]).points for cell in one.cells]
    json_text(_Reasons(why_records(session)))
    if any({"\x1b", "\n"} & set(text) for text in said):
        return "an escape reaches a sentence"
    return "a sentence without a figure" if any(map(_NO_FIGURE.search, said)) else ""


_NO_FIGURE = re.compile(r"(?<![\w-])(nan|inf|None)(?![\w-])")


class _Reasons(Struct, frozen=True):
    why: tuple[WhyRecord, ...]


def shown_as_csv(session: Session) -> str:
    text = csv_report(session) + json_report(session)
    return "" if "\x1b" not in text else "an escape reaches a file"


def shown_as_svg(session: Session) -> str:
    """As a whole, and with a point selected."""
    numbers = [point.number for point in session.points]
    _pin(session)
    for selected in (None, *numbers[:1]):
        text = roofline_svg(session, options=ChartOptions(selected=selected))
        ET.fromstring(text)
        if ' x="nan' in text or "inf" in text.replace("info", "").split("<text", 1)[0]:
            return "a place that is no number"
    return ""
