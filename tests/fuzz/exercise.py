"""All that is made of a session without a screen: table, lines, facts, hover card, CSV, JSON, SVG."""

import io
from xml.etree import ElementTree as ET

from msgspec import Struct

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


def shown_compared(session: Session) -> str:
    """Beside itself, its first points as pins, and the history of one."""
    _pin(session)
    tables = [pins_table(session), sessions_table(session, session)]
    tables += [history_table(session, point) for point in session.points[:1]]
    said = [text for table in tables for row in table.rows for text in row.cells]
    said += [note for table in tables for note in table.notes]
    for table in tables:
        if slower := regressions(table.pairs, 1.0):
            said.append(regression_sentence(slower, 1.0))
    return "" if "\x1b" not in "".join([*said, *mark_lines(session)]) else "an escape reaches the terminal"


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
            said += [*(sentence for _, sentence in why.titled), *why.others]
    for lab in laboratories(session):
        said += [lab.sentence, *lab.notes, *(cell for mode in lab.modes for cell in mode.cells)]
    said += [cell for one in project(session, PRODUCTS[0]).points for cell in one.cells]
    json_text(_Reasons(why_records(session)))
    return "" if not any({"\x1b", "\n"} & set(text) for text in said) else "an escape reaches a sentence"


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
