"""``report``: a session as one HTML file that stands for itself."""

from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.documents import WrittenDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import AsJson, SessionFile
from roofscope.app.cli.output import say
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.targets import STDOUT, beside, check_target, put
from roofscope.app.presentation.report.file import SUFFIXES


def command(
    file: SessionFile,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The .html to write; - is stdout. Beside the session if none."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a session as one HTML file: rooflines, sweeps, tables, sources. It fetches nothing."""
    from roofscope.app.presentation.report.page import report_html  # jinja2 takes a while to load

    if as_json and out == STDOUT:
        refuse("--json and --out - both write to stdout; name a file with --out.")
    session = load_or_refuse(file)
    target = out or beside(file).with_suffix(".html")
    check_target(target, file, SUFFIXES)
    put(report_html(session).encode(), target)
    if as_json:
        count = len(session.points)
        print_document(WrittenDocument(session=str(file), file=str(target), point_count=count))
    elif target != STDOUT:
        say(str(target))
