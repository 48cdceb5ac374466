"""``why``: says of each point of a session what limits it, its cost, the evidence and the next step."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from roofscope.app.cli.choice import sizes_of
from roofscope.app.cli.documents import WhyDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import POINT_HELP, AsJson, DtypeName, PointSizes, SessionFile
from roofscope.app.cli.outcome_lines import on_device_text, workload_text
from roofscope.app.cli.output import say
from roofscope.app.cli.points import point_named
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.why import TITLES, Why, WhyTexts
from roofscope.app.presentation.why_not import TITLES as WITHOUT_TIME
from roofscope.app.presentation.why_not import WhyNot
from roofscope.app.presentation.why_record import why_not_records, why_records
from roofscope.profiling.results.outcome import Skipped
from roofscope.profiling.results.session import Point, Session

_INDENT = 2


def command(
    file: SessionFile,
    point: Annotated[
        str | None,
        typer.Argument(
            metavar="[POINT]",
            help=f"{POINT_HELP} All that were measured or failed if none.",
        ),
    ] = None,
    dtype: DtypeName = None,
    size: PointSizes = None,
    as_json: AsJson = False,
) -> None:
    """Say why a point is where it is, or why it has no time: limit, cost, evidence, next step."""
    session = load_or_refuse(file)
    sizes = sizes_of(size or [])
    if point is None and (dtype or sizes):
        refuse("--dtype and --size say which point of an implementation is meant; name one.")
    points = session.points if point is None else (point_named(session, point, dtype, sizes),)
    if as_json:
        document = WhyDocument(
            session=str(session.path),
            points=why_records(session, points),
            without_time=why_not_records(points),
        )
        print_document(document)
        return
    print_why(make_console(), session, points, with_skipped=point is not None)


def print_why(
    console: Console, session: Session, points: tuple[Point, ...], *, with_skipped: bool = False
) -> None:
    """The sentences of these points, as wide as the console. Of the skipped the table has a line a reason."""
    texts, is_first = WhyTexts(session), True
    for point in points:
        why = texts.of(point)
        if why is None or (isinstance(point.outcome, Skipped) and not with_skipped):
            continue
        if not is_first:
            console.print()
        is_first = False
        where = f"{point.number}  {point.label} {workload_text(point)}{on_device_text(point, session)}"
        console.print(Text(where, "bold"), highlight=False, soft_wrap=True)
        for title, sentence in _rows(why):
            _print_row(console, title, sentence)
    if is_first:
        say(f"{session.path} holds no measured point, and none that failed.")


def _rows(why: Why | WhyNot) -> tuple[tuple[str, str], ...]:
    return (*why.titled, *(("", sentence) for sentence in why.others))


def _print_row(console: Console, title: str, sentence: str) -> None:
    """The title, and beside it the sentence in as many lines as it needs."""
    first = _INDENT + max(map(len, (*TITLES, *WITHOUT_TIME))) + 2
    lines = Text(sentence).wrap(console, max(console.width - first, 20))
    for number, line in enumerate(lines):
        head = f"{'':{_INDENT}}{title}" if number == 0 else ""
        console.print(Text(f"{head:{first}}") + line, highlight=False, soft_wrap=True)
