"""Writes the session file: one SQLite database, one writer. Documented in docs/session-file.md.

Rows are added and never changed, except a kernel's spec: the newest replaces the older one. Every result is
committed as it arrives, so that a crash loses at most the job in flight. While it is written the file has a
write-ahead log beside it; a closed session is one plain file again. Values are the JSON of their structs, so
opening a file runs no code.
"""

import contextlib
import sqlite3
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from roofscope import __version__
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.outcome import Measured, Outcome
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Identity, Origin, Point, TraceInfo, timestamp
from roofscope.profiling.results.session_reader import SessionError, connect, read_identity
from roofscope.profiling.results.session_schema import create_schema, lift_schema
from roofscope.profiling.roofline.roofline import Ceiling


class SessionStore:
    """The one writer of a session file; each ``add`` is one committed transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._job_rows: dict[str, int] = {}
        self._origin: int | None = None  # of what is added next

    @classmethod
    def create(cls, path: Path, labels: Mapping[str, str] | None = None) -> Self:
        """Make a new file. Raises SessionError if the file exists or the folder cannot be written."""
        if path.exists():
            raise SessionError(f"{path} exists already; choose another name.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise SessionError(f"{path} cannot be written: {error}.") from error
        try:
            create_schema(connection, timestamp(), __version__, labels or {})
        except sqlite3.Error as error:
            connection.close()
            raise SessionError(f"{path} cannot be written: {error}.") from error
        return cls(path, _writing(connection))

    @classmethod
    def append(cls, path: Path) -> Self:
        """Open an existing session to add to it; an older file is lifted first. Raises SessionError."""
        connection = connect(path, "rw")
        try:
            return cls(path, _writing(connection))
        except sqlite3.Error as error:
            connection.close()
            raise SessionError(f"{path} cannot be written: {error}.") from error

    @property
    def identity(self) -> Identity:
        return read_identity(self._connection)

    @property
    def origin(self) -> int | None:
        """The number of the environment that what is added next was measured in; None for not known yet."""
        return self._origin

    def continue_in(self, origin: int) -> None:
        """What is added from now on was measured in the environment of this number, added before."""
        self._origin = origin

    def add_environment(self, environment: Environment, device_id: str) -> Origin:
        """What is added from now on was measured there. One that the file has already gets no second row."""
        value = _text(environment)
        number, recorded_at = self._row_of_environment(value, device_id) or (0, timestamp())
        number = number or self._insert(
            "INSERT INTO environment (device_id, value, recorded_at) VALUES (?, ?, ?)",
            (device_id, value, recorded_at),
        )
        self._origin = number
        return Origin(number, environment, device_id, recorded_at)

    def _row_of_environment(self, value: str, device_id: str) -> tuple[int, str] | None:
        try:
            return self._connection.execute(
                "SELECT id, recorded_at FROM environment WHERE value = ? AND device_id = ?",
                (value, device_id),
            ).fetchone()
        except sqlite3.Error as error:
            raise self._unwritable(error) from error

    def add_kernel(self, spec: KernelSpec) -> None:
        self._insert("INSERT OR REPLACE INTO kernel VALUES (?, ?)", (spec.name, _text(spec)))

    def add_sources(self, implementation: Implementation, sources: Iterable[SourceFile]) -> None:
        with self._transaction():
            for source in sources:
                self._insert(
                    "INSERT OR IGNORE INTO source VALUES (?, ?, ?, ?)",
                    (implementation.source_hash, source.name, source.sha256, source.text),
                )

    def add_ceiling(self, ceiling: Ceiling) -> None:
        self._insert("INSERT INTO ceiling (value, environment) VALUES (?, ?)", (_text(ceiling), self._origin))

    def add_outcome(self, job: Job, implementation: Implementation, outcome: Outcome) -> Point:
        """Commit one outcome with its samples, and return it as the session's newest point."""
        recorded_at = timestamp()
        measured = outcome if isinstance(outcome, Measured) else None
        with self._transaction():
            number = self._insert(
                "INSERT INTO outcome (job, implementation, kind, median_s, value, recorded_at, environment)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self._job_row(job),
                    _text(implementation),
                    type(outcome).__name__.lower(),
                    measured.time.median_s if measured else None,
                    _text(outcome),
                    recorded_at,
                    self._origin,
                ),
            )
            if measured:
                self._connection.executemany(
                    "INSERT INTO sample VALUES (?, ?, ?)",
                    [(number, block, value) for block, value in enumerate(measured.time.samples_s)],
                )
        return Point(number, job, implementation, outcome, recorded_at, self._origin)

    def add_proof(self, proof: Proof) -> None:
        self._insert(
            "INSERT INTO proof (name, passed, value, recorded_at) VALUES (?, ?, ?, ?)",
            (proof.name, proof.passed, _text(proof), proof.recorded_at),
        )

    def add_trace(self, job: Job, implementation: Implementation, chrome_json_gz: bytes) -> TraceInfo:
        recorded_at = timestamp()
        with self._transaction():
            number = self._insert(
                "INSERT INTO trace (job, implementation, recorded_at, chrome_json_gz) VALUES (?, ?, ?, ?)",
                (self._job_row(job), _text(implementation), recorded_at, chrome_json_gz),
            )
        return TraceInfo(number, job, implementation, recorded_at, len(chrome_json_gz))

    def save_as(self, path: Path) -> None:
        """Write a complete copy to another file, replacing it. Raises SessionError."""
        _copy(self._connection, path)

    def close(self) -> None:
        """Fold the write-ahead log into the file, so that the session is one plain file."""
        # If another program has the file open too, the last one to close it folds the log.
        with contextlib.suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        """Commit all that is done inside, or nothing. Raises SessionError."""
        job_rows = dict(self._job_rows)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            self._job_rows = job_rows  # a job added inside has lost its row
            # SQLite has rolled back by itself where the disk is full, and says so.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._unwritable(error) from error
            raise

    def _job_row(self, job: Job) -> int:
        value = _text(job)
        if value not in self._job_rows:
            self._job_rows[value] = self._insert("INSERT INTO job (value) VALUES (?)", (value,))
        return self._job_rows[value]

    def _insert(self, statement: str, values: tuple[object, ...]) -> int:
        try:
            return self._connection.execute(statement, values).lastrowid or 0
        except sqlite3.Error as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: sqlite3.Error) -> SessionError:
        return SessionError(f"{self.path} cannot be written: {error}.")


def copy(path: Path, target: Path) -> None:
    """Write a complete copy of a session that is open for reading. Raises SessionError."""
    connection = connect(path, "ro")
    try:
        _copy(connection, target)
    finally:
        connection.close()


def _copy(connection: sqlite3.Connection, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)
        target = sqlite3.connect(part)
        with target:
            connection.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        target.close()
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise SessionError(f"The session cannot be saved as {path}: {error}.") from error


def _writing(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    lift_schema(connection)
    return connection


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
