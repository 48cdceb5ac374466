"""The doctor's findings on the terminal."""

from rich.console import Console

from roofscope.profiling.doctor import CheckState, examine

_SIGNS = {CheckState.OK: "[green]✓[/]", CheckState.WARNING: "[yellow]![/]", CheckState.MISSING: "[red]✗[/]"}


def print_checks() -> None:
    """What is available, what is missing and how to get it."""
    console = Console(highlight=False)
    for check in examine():
        console.print(f"{_SIGNS[check.state]} [bold]{check.name}[/]: ", end="")
        console.print(check.finding, markup=False)
        if check.fix:
            console.print(f"    {check.fix}", markup=False, style="cyan")
