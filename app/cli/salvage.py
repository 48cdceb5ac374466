"""``salvage``: what is whole of a damaged session, as a session of its own."""

from pathlib import Path
from typing import Annotated

import typer

from roofscope.app.cli.choice import choose_session
from roofscope.app.cli.documents import WrittenDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import AsJson, SessionFile
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.formatting import counted_text
from roofscope.profiling.results.session_file import save_whole
from roofscope.profiling.results.session_reader import SessionError, load


def command(
    file: SessionFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The new .roofscope file.")],
    as_json: AsJson = False,
) -> None:
    """Write what is whole of a damaged session to a new one.

    The damaged file stays as it is. What is left out is said on stderr; a file that is whole is copied.
    """
    load_or_refuse(file)
    target = choose_session(out)
    try:
        save_whole(file, target)
        kept = load(target)
    except SessionError as error:
        refuse(str(error))
    if as_json:
        print_document(WrittenDocument(session=str(file), file=str(target), point_count=len(kept.points)))
        return
    counts = [counted_text(len(kept.points), "point")]
    if kept.traces:
        counts.append(counted_text(len(kept.traces), "trace"))
    if kept.proofs:
        counts.append(counted_text(len(kept.proofs), "proof"))
    line = f"Saved {', '.join(counts)}: {target}"
    make_console().print(line, markup=False, highlight=False, soft_wrap=True)
