"""``doctor``: what is available here, what is missing, and the exact fix."""

from typing import Annotated

import typer

from roofscope.app.cli.documents import DoctorDocument, print_document
from roofscope.app.cli.errors import DONE, SOME_FAILED, complain, unknown
from roofscope.app.cli.options import AsJson
from roofscope.app.cli.progress import make_console
from roofscope.profiling.doctor import Check, CheckState, Part, examine

_SIGNS = {CheckState.OK: "[green]✓[/]", CheckState.WARNING: "[yellow]![/]", CheckState.MISSING: "[red]✗[/]"}


def parts_of(word: str) -> str:
    """The names in ``gpu,triton``, each known, still in one word."""
    for name in word.split(","):
        if name.strip() not in list(Part):
            unknown("part", name.strip(), Part)
    return word


def command(
    require: Annotated[
        list[str] | None,
        typer.Option(
            parser=parts_of,
            metavar="NAME[,...]",
            help=f"Exit with 1 unless these are here: {', '.join(Part)}.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what is available here, what is missing, and the exact fix."""
    checks = examine()
    here = {check.gives for check in checks}
    required = [Part(name.strip()) for word in require or [] for name in word.split(",")]
    missing = tuple(part for part in dict.fromkeys(required) if part not in here)
    if as_json:
        print_document(DoctorDocument(checks=checks, missing=missing))
    else:
        _print(checks)
    if missing:
        complain(f"Required and not here: {', '.join(missing)}.")
    raise typer.Exit(SOME_FAILED if missing else DONE)


def _print(checks: tuple[Check, ...]) -> None:
    console = make_console()
    for check in checks:
        console.print(f"{_SIGNS[check.state]} [bold]{check.name}[/]: ", end="", highlight=False)
        console.print(check.finding, markup=False, highlight=False)
        if check.fix:
            console.print(f"    {check.fix}", markup=False, highlight=False, style="cyan")
