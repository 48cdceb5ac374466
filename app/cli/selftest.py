"""Carries the self-test out on the terminal: a line a proof as it is done, then all figures."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roofscope.app.cli.errors import DONE, SOME_FAILED
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.presentation.formatting import duration_text
from roofscope.app.presentation.proof_text import figure_text, finding_text, verdict_word
from roofscope.profiling.devices.device import Device
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.results.proof import Proof, ProofName, Row, all_passed
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import SelfTest
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import record

_SIGNS = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[yellow]–[/]"}
_ROW_SIGNS = {True: "[green]✓[/]", False: "[red]✗[/]", None: " "}


def run_selftest(device: Device, path: Path, names: Sequence[ProofName] = ()) -> int:
    """Prove on a device, into a new session file; returns the exit code. Raises SessionError."""
    console = make_console()
    catalog = scan([LIBRARY])

    def line_of(gained: Gain) -> str | None:
        return _line(gained) if isinstance(gained, Proof) else None

    with progress_shown(console, line_of) as watch:
        task = SelfTest("selftest", device.id, tuple(names))
        ending = record(path, catalog, device, [task], watch, CeilingCache(console.print))
    proofs = [gained for gained in ending.gains if isinstance(gained, Proof)]
    for proof in proofs:
        _print_figures(console, proof)
    return _conclude(console, device, proofs, expected=len(set(names)) or len(ProofName))


def _line(proof: Proof) -> str:
    took = f" [dim]({duration_text(proof.duration_s)})[/]" if proof.duration_s is not None else ""
    return f"{_SIGNS[proof.passed]} [bold]{proof.name}[/]: {escape(finding_text(proof))}{took}"


def _print_figures(console: Console, proof: Proof) -> None:
    title = f"{_SIGNS[proof.passed]} [bold]{proof.name}[/] {verdict_word(proof.passed)}. Limit: "
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


def _conclude(console: Console, device: Device, proofs: list[Proof], *, expected: int) -> int:
    counts = {word: sum(verdict_word(proof.passed) == word for proof in proofs) for word in _WORDS}
    text = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    missing = expected - len(proofs)
    if missing:
        text = f"{text}, {missing} not carried out" if text else f"{missing} not carried out"
    console.print(f"\n{device.name} ({device.id}): {text}.", markup=False, highlight=False)
    return DONE if not missing and all_passed(tuple(proofs)) else SOME_FAILED


_WORDS = ("passed", "failed", "skipped")
