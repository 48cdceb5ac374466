"""How a command tells a user's mistake: one sentence, exit code 2."""

import difflib
from collections.abc import Iterable
from typing import NoReturn

import typer

DONE, SOME_FAILED, USAGE = 0, 1, 2


def refuse(message: str) -> NoReturn:
    """End the program with one sentence. The code 2 tells scripts that nothing was tried."""
    typer.secho(message, err=True, fg=typer.colors.RED)
    raise typer.Exit(USAGE)


def unknown(kind: str, name: str, known: Iterable[str]) -> NoReturn:
    """Refuse a name, with the nearest known one."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}."
    refuse(f"There is no {kind} {name!r}; {hint}")
