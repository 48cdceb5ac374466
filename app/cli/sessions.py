"""Reading a session that the user names."""

from pathlib import Path

from roofscope.app.cli.errors import complain, refuse
from roofscope.profiling.paths import is_shipped
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError, load


def refuse_shipped(path: Path) -> None:
    """Marks are written into a session, and those that came with the program stay as they are."""
    if is_shipped(path):
        refuse(f"{path} came with the program and stays as it is; copy it, and name the copy.")


def load_or_refuse(path: Path) -> Session:
    """Of a damaged or newer file what can be read, with a sentence on stderr for what cannot."""
    try:
        session = load(path)
    except SessionError as error:
        refuse(str(error))
    for problem in session.problems:
        complain(problem)
    return session
