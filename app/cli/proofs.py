"""A proof on the terminal, as it is done and as a session keeps it."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roofscope.app.presentation.formatting import duration_text
from roofscope.app.presentation.proof_text import figure_text, finding_text
from roofscope.profiling.results.proof import Judgement, Proof, Row

_SIGNS = {
    Judgement.PASSED: "[green]✓[/]",
    Judgement.FAILED: "[red]✗[/]",
    Judgement.INCONCLUSIVE: "[yellow]?[/]",
    Judgement.SKIPPED: "[yellow]–[/]",
}
_ROW_SIGNS = {True: "[green]✓[/]", False: "[red]✗[/]", None: " "}


def proof_line(proof: Proof) -> str:
    """As it is done: ``✓ host noise: 200 µs planted move ... (3 s)``."""
    took = f" [dim]({duration_text(proof.duration_s)})[/]" if proof.duration_s is not None else ""
    return f"{_SIGNS[proof.judgement]} [bold]{proof.name}[/]: {escape(finding_text(proof))}{took}"


def print_proof(console: Console, proof: Proof) -> None:
    """Its limit, and all figures."""
    title = f"{_SIGNS[proof.judgement]} [bold]{proof.name}[/] {proof.judgement}. Limit: "
    console.print(f"\n{title}{escape(proof.limit)}", highlight=False, soft_wrap=True)
    if not proof.rows:
        console.print(f"  {finding_text(proof)}", markup=False, highlight=False, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, show_header=bool(proof.columns))
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    for column in proof.columns:
        table.add_column(column.name, justify="right", no_wrap=True)
    table.add_column("")
    for row in proof.rows:
        table.add_row(*_cells(proof, row))
    console.print(table, highlight=False)


def _cells(proof: Proof, row: Row) -> list[str]:
    values = [*row.values, *[None] * (len(proof.columns) - len(row.values))]
    figures = [figure_text(value, column.unit) for value, column in zip(values, proof.columns, strict=True)]
    return [_ROW_SIGNS[row.passed], escape(row.label), *figures, escape(row.note)]
