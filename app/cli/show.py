"""``show``: the table of a recorded session, as the run that recorded it printed it."""

from roofscope.app.cli.documents import print_document, run_document
from roofscope.app.cli.options import AsJson, SessionFile
from roofscope.app.cli.outcome_lines import shortfall
from roofscope.app.cli.output import say
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.table import print_table


def command(file: SessionFile, as_json: AsJson = False) -> None:
    """Print the table of a recorded session again."""
    session = load_or_refuse(file)
    missing = shortfall(session.points, planned=len(session.points))
    if as_json:
        print_document(run_document(session, missing))
    elif session.points:
        console = make_console()
        print_table(console, session)
        if missing:
            console.print(missing, markup=False, highlight=False)
    else:
        say(f"{file} holds no point.")
