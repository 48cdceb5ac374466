"""``compile-report``: the modes of torch.compile side by side, and whether compiling is worth it."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from roofscope.app.cli.documents import CompileDocument, print_document
from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.cli.fitted_table import Column, Group, fitted, left_out_text, wrapped
from roofscope.app.cli.options import AsJson, SessionFile
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.compile_lab import COLUMNS, Laboratory, laboratories, summary_text

_RANKS = (0, 0, 1, 2, 6, 4, 5, 3, 9, 7, 8)


def command(
    file: SessionFile,
    kernel: Annotated[
        str | None, typer.Argument(metavar="[KERNEL]", help="Of one kernel; of all if none.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether torch.compile is worth it: its modes side by side, by workload."""
    session = load_or_refuse(file)
    labs = laboratories(session)
    if not labs:
        refuse(f"{file} holds no implementation by torch.compile; run with --provider compile beside eager.")
    if kernel is not None:
        wanted = tuple(lab for lab in labs if lab.kernel == kernel)
        if not wanted:
            unknown("compiled kernel", kernel, sorted({lab.kernel for lab in labs}))
        labs = wanted
    if as_json:
        print_document(CompileDocument(session=str(session.path), workloads=labs))
        return
    _print(make_console(), labs)


def _print(console: Console, labs: tuple[Laboratory, ...]) -> None:
    columns = tuple(Column(title.lower(), rank) for (title, _), rank in zip(COLUMNS, _RANKS, strict=True))
    groups = [
        Group(lab.kernel, lab.workload, tuple((mode.name, *mode.cells) for mode in lab.modes)) for lab in labs
    ]
    table = fitted("mode", columns, groups, console.width)
    for line in table.lines:
        console.print(line, highlight=False, soft_wrap=True)
    if below := left_out_text(table):
        console.print(Text(wrapped(below, console.width), "dim"), highlight=False, soft_wrap=True)
    for lab in labs:
        console.print(Text(f"\n{lab.kernel} {lab.workload}", "bold"), highlight=False, soft_wrap=True)
        for sentence in (lab.sentence, *lab.notes):
            text = wrapped(f"  {sentence}", console.width)
            console.print(Text(text), highlight=False, soft_wrap=True)
    console.print(Text(f"\n{summary_text(labs)}"), highlight=False, soft_wrap=True)
