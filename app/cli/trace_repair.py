"""``trace repair``: a trace again as valid JSON, with each event that could be read."""

from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.documents import TraceRepairDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import AsJson
from roofscope.app.cli.output import say
from roofscope.app.cli.targets import STDOUT, check_target, put
from roofscope.app.cli.traces import TraceFile, refuse_own_source
from roofscope.app.presentation.export import TRACE_SUFFIXES
from roofscope.app.presentation.formatting import counted_text
from roofscope.app.presentation.traces.health import health_text
from roofscope.profiling.results.chrome_trace import TraceError


def command(
    file: TraceFile,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file to write: .json, or .json.gz to pack it.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write a trace again as valid JSON: broken events mended where they can be, left out where not."""
    from roofscope.profiling.traces.reading import open_trace
    from roofscope.profiling.traces.saving import packed, repaired_json

    if out == STDOUT:
        refuse("A repaired trace goes into a file; name one that ends in .json or .json.gz.")
    refuse_own_source(out, file)
    check_target(out, None, TRACE_SUFFIXES)
    try:
        trace = open_trace(file)
        pieces = repaired_json(trace)
        put(b"".join(packed(pieces) if out.suffix.lower() == ".gz" else pieces), out)
    except TraceError as error:
        refuse(str(error))
    health = trace.health
    if as_json:
        print_document(
            TraceRepairDocument(
                file=str(file),
                written=str(out),
                event_count=health.event_count,
                dropped=health.dropped,
                repaired=health.repaired,
                is_cut=health.is_cut,
            )
        )
        return
    said = health_text(health) or "Nothing had to be mended."
    say(f"{out}: {counted_text(health.event_count, 'event')}. {said}")
