"""``show``: what a recorded session holds, as the run or the self-test that recorded it printed it."""

from typing import Annotated

import typer

from roofscope.app.cli.documents import print_document, run_document
from roofscope.app.cli.options import AsJson, SessionFile
from roofscope.app.cli.outcome_lines import shortfall
from roofscope.app.cli.output import say
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.proofs import print_proof
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.table import print_table
from roofscope.app.cli.why import print_why
from roofscope.app.presentation.why_record import why_records


def command(
    file: SessionFile,
    as_json: AsJson = False,
    why: Annotated[
        bool, typer.Option("--why", help="Then four sentences a point: limit, cost, evidence, next step.")
    ] = False,
) -> None:
    """Print the table of a recorded session again, and its proofs."""
    session = load_or_refuse(file)
    missing = shortfall(session.points, planned=len(session.points))
    if as_json:
        print_document(run_document(session, missing, why_records(session) if why else ()))
        return
    if not session.points and not session.proofs:
        say(f"{file} holds no point and no proof.")
    console = make_console()
    if session.points:
        print_table(console, session)
        if missing:
            console.print(missing, markup=False, highlight=False)
        if why:
            console.print()
            print_why(console, session, session.points)
    for proof in session.newest_proofs:
        print_proof(console, proof)
