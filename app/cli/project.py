"""``project``: what another GPU's data sheet bounds the points of a session to."""

from itertools import groupby
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from roofscope.app.cli.documents import ProjectDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.fitted_table import Column, Group, fitted, left_out_text, wrapped
from roofscope.app.cli.options import AsJson, SessionFile
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.projection import COLUMNS, Projection, project
from roofscope.profiling.roofline.products import UnknownProduct, find_product

_RANKS = (0, 3, 2, 0, 1, 4)


def command(
    file: SessionFile,
    onto: Annotated[str, typer.Option(metavar="GPU", help='Such as "RTX 4090", H100 or A100 80GB.')],
    as_json: AsJson = False,
) -> None:
    """Bound a session's points by another GPU's data sheet: bounds, and no predictions."""
    session = load_or_refuse(file)
    try:
        product = find_product(onto)
    except UnknownProduct as error:
        refuse(str(error))
    found = project(session, product)
    if not found.points:
        refuse(f"{file} holds no measured point.")
    if as_json:
        print_document(ProjectDocument(session=str(session.path), projection=found))
        return
    _print(make_console(), found)


def _print(console: Console, found: Projection) -> None:
    last = len(COLUMNS) - 1
    columns = tuple(
        Column(title.lower(), _RANKS[at], is_number=at != last) for at, (title, _) in enumerate(COLUMNS)
    )
    by_workload = groupby(found.points, lambda point: (point.kernel, point.workload))
    groups = [
        Group(kernel, workload, tuple((point.implementation, *point.cells) for point in points))
        for (kernel, workload), points in by_workload
    ]
    console.print(Text(wrapped(found.sentence, console.width), "italic"), highlight=False, soft_wrap=True)
    table = fitted("implementation", columns, groups, console.width)
    for line in table.lines:
        console.print(line, highlight=False, soft_wrap=True)
    if below := left_out_text(table):
        console.print(Text(wrapped(below, console.width), "dim"), highlight=False, soft_wrap=True)
