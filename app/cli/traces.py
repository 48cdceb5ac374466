"""Traces that the user names: options that several subcommands share, and what is said of a broken file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roofscope.app.cli.errors import complain, refuse
from roofscope.app.presentation.traces.health import health_text
from roofscope.profiling.results.chrome_trace import TraceError

if TYPE_CHECKING:  # numpy, which help does not need
    from roofscope.profiling.traces.columns import Trace

TraceFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A torch.profiler trace: .json, .json.gz or .zip.")
]
FullNames = Annotated[
    bool, typer.Option("--full-names", help="Kernels by their full names instead of readable short ones.")
]


def read_or_refuse(file: Path, *, is_named: bool = False) -> "Trace":
    """What can be read, with a sentence on stderr for what cannot; with ``is_named`` it names the file."""
    from roofscope.profiling.traces.reading import open_trace

    try:
        trace = open_trace(file)
    except TraceError as error:
        refuse(str(error))
    if said := health_text(trace.health):
        complain(f"{file}: {said}" if is_named else said)
    return trace


def refuse_own_source(target: Path, source: Path) -> None:
    """A trace is never written over the file that it is read from."""
    try:
        is_same = target.exists() and target.samefile(source)
    except (OSError, ValueError):
        return  # check_target says what is wrong with the name
    if is_same:
        refuse(f"{target} is the trace itself and would be lost; give the new file another name.")
