"""Reads files and whole folders of sessions at one call: what notebooks begin with."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from roofscope.profiling.analysis.frame import make_frame
from roofscope.profiling.paths import SUFFIX
from roofscope.profiling.results import session_reader
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError

if TYPE_CHECKING:
    from pandas import DataFrame


class Sessions(Struct, frozen=True):
    """Sessions in the order of their paths, and a sentence for each file or row that was left out."""

    sessions: tuple[Session, ...]
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line: a notebook shows this under a cell, and the sessions themselves are megabytes."""
        points = sum(len(session.points) for session in self.sessions)
        left_out = f", {len(self.problems)} problems" if self.problems else ""
        return f"Sessions({len(self)} sessions, {points} points{left_out})"

    def __iter__(self) -> Iterator[Session]:
        return iter(self.sessions)

    def __len__(self) -> int:
        return len(self.sessions)

    def frame(self) -> "DataFrame":
        """One row a point, one column an axis (``size_n``) and a label (``label_commit``), SI units.

        Figures not known are NaN or NA; docs/session-file.md says what the columns mean.
        """
        return make_frame(self.sessions)


def load(*paths: Path | str) -> Sessions:
    """Read session files, and folders of them with all that lie below.

    Raises SessionError for a path given that is neither, or a file that cannot be read. In a folder such a
    file is left out, and ``problems`` says why, as it does for damaged rows. A file that two paths lead to is
    read once.
    """
    sessions: dict[Path, Session] = {}
    problems: list[str] = []
    for path in map(Path, paths):
        if not path.is_dir():
            sessions.setdefault(path.resolve(), session_reader.load(path))
            continue
        files = sorted(path.rglob(f"*{SUFFIX}"))
        if not files:
            problems.append(f"{path} holds no {SUFFIX} file.")
        for file in files:
            try:
                sessions.setdefault(file.resolve(), session_reader.load(file))
            except SessionError as error:
                problems.append(str(error))
    damage = [_of_file(problem, found) for found in sessions.values() for problem in found.problems]
    return Sessions(tuple(sessions.values()), (*problems, *damage))


def _of_file(problem: str, session: Session) -> str:
    return problem if str(session.path) in problem else f"{session.path}: {problem}"
