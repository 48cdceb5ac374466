"""Reading a session that the user names."""

from pathlib import Path

from roofscope.app.cli.errors import refuse
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError, load


def load_or_refuse(path: Path) -> Session:
    try:
        return load(path)
    except SessionError as error:
        refuse(str(error))
