"""Prints the tutorials' table of a session: sizes down, implementations across."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.targets import STDOUT, check_target, put
from roofscope.app.presentation.formatting import bandwidth_text, flop_rate_text, time_text
from roofscope.profiling.analysis.export import csv_text
from roofscope.profiling.analysis.frame import SIZE, make_frame
from roofscope.profiling.analysis.pivot import GROUP, PivotError, pivot


class PivotValue(StrEnum):
    """What stands in the cells."""

    MEDIAN = "median"
    BANDWIDTH = "bandwidth"
    FLOP_RATE = "flop_rate"


_COLUMNS: dict[PivotValue, tuple[str, Callable[[float | None], str]]] = {
    PivotValue.MEDIAN: ("median_s", time_text),
    PivotValue.BANDWIDTH: ("achieved_bandwidth_byte_per_s", bandwidth_text),
    PivotValue.FLOP_RATE: ("achieved_flop_per_s", flop_rate_text),
}


def export_pivot(source: Path, axis: str, value: PivotValue, out: Path | None) -> str:
    """Write the table as CSV of SI values to ``out``; the text to print is its name, or the table."""
    session = load_or_refuse(source)
    if out:
        check_target(out, source, (".csv",))
    column, text_of = _COLUMNS[value]
    try:
        table = pivot(make_frame([session]), axis, column)
    except PivotError as error:
        refuse(f"{source}: {error}")
    if out is None:
        return _text(table, text_of)
    table.insert(len(_group(table)), "value", column)  # what the cells are, and in which unit
    put(csv_text(table).encode(), out)
    return "" if out == STDOUT else str(out)


def _text(table: Any, text_of: Callable[[float | None], str]) -> str:
    """A table for each kernel, type and regime; nothing in it is cut, however narrow the terminal."""
    parts: list[str] = []
    for group, rows in table.groupby(_group(table), sort=False):
        known = rows.drop(columns=_group(table)).dropna(axis="columns", how="all")
        sizes = [name for name in known.columns if name.startswith(SIZE)]
        cells = known.drop(columns=sizes).map(text_of)
        cells = known[sizes].join(cells).rename(columns=lambda name: name.removeprefix(SIZE))
        parts.append(f"{' '.join(group)}\n{cells.to_string(index=False)}")
    return "\n\n".join(parts)


def _group(table: Any) -> list[str]:
    return [column for column in GROUP if column in table.columns]
