"""``compare``: two sessions, the pins of one, or the edits of one implementation, in one table."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roofscope.app.cli.choice import sizes_of
from roofscope.app.cli.documents import (
    CompareDocument,
    ComparedPair,
    ComparedPoint,
    ComparedSession,
    print_document,
)
from roofscope.app.cli.errors import DONE, INCONCLUSIVE, SOME_FAILED, complain, refuse
from roofscope.app.cli.options import POINT_HELP, AsJson, DtypeName, PointSizes, SessionFile, shipped_too
from roofscope.app.cli.points import point_named
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.compare.table import (
    COLUMNS,
    ComparedTable,
    history_table,
    pins_table,
    regression_sentence,
    sessions_table,
)
from roofscope.app.presentation.point_row import reason_text
from roofscope.profiling.analysis.pairs import Pair, Side, regressions
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Session

_STYLES = {"good": "green", "bad": "red", "": ""}


def command(
    file: SessionFile,
    other: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]",
            help="The session that is compared with it. Without it, the pins.",
            callback=shipped_too,
        ),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            metavar="POINT", help=f"Of one session: a point's measurements over its edits. {POINT_HELP}"
        ),
    ] = None,
    dtype: DtypeName = None,
    size: PointSizes = None,
    fail_slower: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            min=0.0,
            help="Exit with 1 where B is certainly slower and by more than this, or fails: for CI.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two sessions: time, ratio with its interval, and share of the roof of each. Needs no GPU.

    Sessions of two kinds of GPU are compared by the share that each point reaches of its own roof.
    """
    if other is not None and history is not None:
        refuse("--history is of one session; leave the other one out.")
    if history is None and (dtype or size):
        refuse("--dtype and --size say of which point --history is; name it.")
    a = load_or_refuse(file)
    b = load_or_refuse(other) if other else None
    table = _table(a, b, history, dtype, size or [])
    slower = regressions(table.pairs, fail_slower) if fail_slower is not None else ()
    problem = regression_sentence(slower, fail_slower or 0.0) if slower else ""
    if as_json:
        print_document(_document(a, b, table, problem))
    else:
        print_compared(make_console(), table)
    if problem:
        complain(problem)
        raise typer.Exit(SOME_FAILED)
    if fail_slower is not None and not any(pair.ratio and pair.ratio.is_known for pair in table.pairs):
        complain("Nothing could be compared: no workload was timed well enough in both.")
        raise typer.Exit(INCONCLUSIVE)
    raise typer.Exit(DONE)


def _table(
    a: Session, b: Session | None, history: str | None, dtype: Dtype | None, size: Sequence[str]
) -> ComparedTable:
    if b is not None:
        return sessions_table(a, b)
    if history is not None:
        return history_table(a, point_named(a, history, dtype, sizes_of(list(size))))
    return pins_table(a)


def print_compared(console: Console, compared: ComparedTable) -> None:
    if compared.rows:
        table = Table(box=None, pad_edge=False)
        for column in COLUMNS:
            table.add_column(column.title.lower(), justify="right" if column.is_number else "left")
        for row in compared.rows:
            cells = [Text(cell) for cell in row.cells]
            verdict = next(i for i, column in enumerate(COLUMNS) if column.title == "B is")
            cells[verdict].stylize(_STYLES[row.state])
            table.add_row(*cells)
        console.print(table, highlight=False, markup=False)
    for note in compared.notes:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def _document(a: Session, b: Session | None, table: ComparedTable, problem: str) -> CompareDocument:
    return CompareDocument(
        a=_session(a),
        b=_session(b) if b else None,
        pairs=tuple(map(_pair, table.pairs)),
        notes=table.notes,
        problem=problem,
    )


def _session(session: Session) -> ComparedSession:
    return ComparedSession(session=str(session.path), device=session.device, created_at=session.created_at)


def _pair(pair: Pair) -> ComparedPair:
    ratio = pair.ratio
    return ComparedPair(
        a=_point(pair.a),
        b=_point(pair.b) if pair.b else None,
        by="fraction of roof" if pair.is_by_roof else "time",
        ratio=ratio.ratio if ratio else None,
        ratio_low=ratio.low if ratio and ratio.is_known else None,
        ratio_high=ratio.high if ratio and math.isfinite(ratio.high) else None,
        change=pair.change,
        common_rounds=pair.common_rounds,
        between_runs=pair.between_runs,
    )


def _point(side: Side) -> ComparedPoint:
    point, time = side.point, side.point.measured.time if side.point.measured else None
    low_s, high_s = (time.bounds_s if time else None) or (None, None)
    return ComparedPoint(
        number=point.number,
        implementation=point.implementation.key,
        dtype=point.job.workload.dtype,
        sizes=point.job.workload.sizes,
        fill=point.job.workload.fill,
        regime=point.job.regime,
        median_s=time.median_s if time else None,
        low_s=low_s,
        high_s=high_s,
        fraction_of_roof=side.fraction_of_roof,
        source_sha256=point.implementation.source_hash,
        outcome=type(point.outcome).__name__.lower(),
        message="" if point.measured else reason_text(point),
    )
