"""``trace export``: a trace's kernels or slices as CSV, or its JSON as it was read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roofscope.app.cli.errors import refuse
from roofscope.app.cli.output import say
from roofscope.app.cli.targets import STDOUT, check_target, put
from roofscope.app.cli.traces import TraceFile, read_or_refuse, refuse_own_source
from roofscope.app.presentation.export import TRACE_SUFFIXES

if TYPE_CHECKING:
    from roofscope.profiling.traces.columns import Trace


def command(
    file: TraceFile,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="OUT", help="The kernels as CSV, SI units; - for stdout.")
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="With --csv: every slice with its times, not the kernels.")
    ] = False,
    json: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="The JSON as it was read: .json, or .json.gz to pack it."),
    ] = None,
) -> None:
    """Write a trace's kernels or slices as CSV, or its JSON as it was read."""
    from roofscope.profiling.traces.saving import packed

    if csv is None and json is None:
        refuse("Say what to write: --csv OUT or --json OUT.")
    if events and csv is None:
        refuse("--events goes with --csv OUT.")
    for out, suffixes in ((csv, (".csv",)), (json, TRACE_SUFFIXES)):
        if out is not None:
            refuse_own_source(out, file)
            check_target(out, None, suffixes)
    trace = read_or_refuse(file)
    if csv is not None:
        put(_csv(trace, events), csv)
    if json is not None:
        content = trace.json_bytes()
        put(b"".join(packed([content])) if json.suffix.lower() == ".gz" else content, json)
    for out in (csv, json):
        if out is not None and out != STDOUT:
            say(str(out))


def _csv(trace: "Trace", has_events: bool) -> bytes:
    from roofscope.profiling.analysis.export import csv_text
    from roofscope.profiling.traces.frames import kernels_frame, slices_frame
    from roofscope.profiling.traces.summary import totals_of

    frame = slices_frame(trace) if has_events else kernels_frame(totals_of(trace).kernels)
    if frame.empty:
        say(
            "No kernel of a GPU is in this trace, so there is a head and no row; --events writes its slices.",
            err=True,
        )
    return csv_text(frame).encode()
