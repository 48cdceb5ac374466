"""``tuning``: what autotuners tried for the points of a session, and each winner beside its runner-up."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from roofscope.app.cli.choice import sizes_of
from roofscope.app.cli.documents import TuningDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.fitted_table import wrapped
from roofscope.app.cli.options import POINT_HELP, AsJson, DtypeName, PointSizes, SessionFile
from roofscope.app.cli.outcome_lines import on_device_text, workload_text
from roofscope.app.cli.points import point_named
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.targets import STDOUT, put
from roofscope.app.presentation.tuning import COLUMNS, Tried, TuningTable, not_tuned_text, tuning_tables
from roofscope.profiling.analysis.tuning_record import tuning_csv, tuning_records
from roofscope.profiling.results.session import Point, Session

_GAP = 2


def command(
    file: SessionFile,
    point: Annotated[
        str | None, typer.Argument(metavar="[POINT]", help=f"{POINT_HELP} All that were tuned if none.")
    ] = None,
    dtype: DtypeName = None,
    size: PointSizes = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a line a configuration as CSV.")] = False,
) -> None:
    """Say what autotuners tried: each configuration with its time, or why it was left out.

    A winner was measured in turn with its runner-up; whether the choice holds stands above its table.
    """
    if as_json and as_csv:
        refuse("--json and --csv both print on stdout; choose one.")
    session, sizes = load_or_refuse(file), sizes_of(size or [])
    if point is None and (dtype or sizes):
        refuse("--dtype and --size say which point of an implementation is meant; name one.")
    points = session.points if point is None else (point_named(session, point, dtype, sizes),)
    records = tuning_records(points)
    if as_json:
        print_document(TuningDocument(session=str(session.path), tunings=records))
    elif not records:
        refuse(not_tuned_text(points[0]) if point is not None else f"No point of {file} was tuned.")
    elif as_csv:
        put(tuning_csv(records).encode(), STDOUT)
    else:
        print_tunings(make_console(), session, points)


def print_tunings(console: Console, session: Session, points: tuple[Point, ...]) -> None:
    """Each tuned point with the tables of its kernels, as wide as the console."""
    is_first = True
    for point in points:
        for table in tuning_tables(point):
            if not is_first:
                console.print()
            is_first = False
            where = f"{point.number}  {point.label} {workload_text(point)}{on_device_text(point, session)}"
            _line(console, where, "bold")
            _print_table(console, table)


def _print_table(console: Console, table: TuningTable) -> None:
    for sentence in (table.note, table.verdict):
        _line(console, wrapped(f"  {sentence}", console.width))
    names = max(len(COLUMNS[0][0]), *(len(row.name) for row in table.rows))
    widths = (names, *(max(len(row.cells[at]) for row in table.rows) for at in (1, 2)))
    widths = tuple(max(width, len(title)) for width, (title, _) in zip(widths, COLUMNS, strict=False))
    heads = tuple(title for title, _ in COLUMNS)
    _line(console, _row(heads, widths), "dim")
    for row in table.rows:
        _line(console, _row(row.cells, widths), _style(row))


def _row(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    name, *figures, note = cells
    right = (f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True))
    gap = " " * _GAP
    return f"  {gap.join((f'{name:{widths[0]}}', *right, note))}".rstrip()


def _style(row: Tried) -> str:
    if row.is_winner:
        return "bold"
    return "dim" if row.seconds is None else ""


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style), highlight=False, soft_wrap=True)
