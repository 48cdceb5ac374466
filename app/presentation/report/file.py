"""Writes a report where the user wants it."""

from pathlib import Path

from roofscope.app.presentation.export import ExportError
from roofscope.app.presentation.files import why_misnamed, why_unwritable, write_file
from roofscope.profiling.results.session import Session

SUFFIXES = (".html", ".htm")


def write_report(session: Session, path: Path) -> None:
    """One HTML file. Raises ExportError."""
    if why := why_misnamed(path, SUFFIXES):
        raise ExportError(why)
    from roofscope.app.presentation.report.page import report_html  # jinja2 takes a while to load

    try:
        write_file(path, report_html(session).encode(), may_wait=False)
    except (OSError, ValueError) as error:  # ValueError: a name with a null in it
        raise ExportError(why_unwritable(path, error)) from error
