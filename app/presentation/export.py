"""Writes what the window shows to a file of the kind its name says."""

from pathlib import Path
from typing import Protocol

from roofscope.app.presentation.files import ending_of, why_misnamed, why_unwritable, write_file
from roofscope.app.presentation.why_record import why_records
from roofscope.profiling.analysis.export import csv_report, json_report
from roofscope.profiling.results.session import Session

SUFFIXES = (".png", ".svg", ".csv", ".json")
TRACE_SUFFIXES = (".json", ".json.gz")


class Picture(Protocol):
    """The chart as the user saw it when it was taken; it can be drawn in any thread."""

    def svg(self) -> str: ...

    def png(self) -> bytes: ...


class ExportError(Exception):
    """The text is one sentence for the user."""


def export(session: Session, chart: Picture, path: Path) -> None:
    """PNG, SVG, CSV or JSON. Raises ExportError."""
    contents = {
        ".png": chart.png,
        ".svg": lambda: chart.svg().encode(),
        ".csv": lambda: csv_report(session).encode(),
        ".json": lambda: json_report(session, why_records(session)).encode(),
    }
    content = contents.get(ending_of(path, SUFFIXES))
    if content is None:
        raise ExportError(why_misnamed(path, SUFFIXES) or f"{path} is no file; write into one.")
    try:
        write_file(path, content(), may_wait=False)
    except (OSError, ValueError) as error:  # ValueError: a name with a null in it
        raise ExportError(why_unwritable(path, error)) from error
