"""Writes the session file: one SQLite database, one writer. Documented in docs/session-file.md.

Rows are added and never changed, except a kernel's spec, of which the newest replaces the older one, and the
tally of rows. Every result is committed as it arrives, so that a crash loses at most the job in flight. There
is no write-ahead log: between two commits the session is one plain file, which may be copied as it is.
"""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from roofscope import __version__
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.generated import Code, CodeInfo, pack
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.outcome import Measured, Outcome
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Identity, Origin, Point, Session, TraceInfo, timestamp
from roofscope.profiling.results.session_connection import InUse, SessionError, connect, reading
from roofscope.profiling.results.session_file import fill_with, make_file, save_whole
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_rescue import (
    Added,
    FileWatch,
    encoded,
    rescue_names,
    rows_to_rescue,
    still_kept,
)
from roofscope.profiling.results.session_rows import (
    PACKED,
    add_row,
    checksum_of,
    count_added,
    digest_of,
    last_numbers,
    next_id,
)
from roofscope.profiling.results.session_schema import create_schema, lift_schema
from roofscope.profiling.results.session_storable import storable, stored_text
from roofscope.profiling.roofline.roofline import Ceiling

SYNCHRONOUS = "EXTRA"
_WAIT_S = 2.0  # for a reader: longer, and the results go to another file
_NUMBERED = frozenset(
    {"environment", "ceiling", "proof", "job", "outcome", "trace", "code", "mark", "counters"}
)


class SessionStore:
    """The one writer of a session file; each ``add`` is one committed transaction."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Takes a connection that may write. Raises sqlite3.Error."""
        self.path = path
        self.is_in_memory = False  # no folder took the file
        self.identity, self.created_at = _beginning(connection)
        self._connection = connection
        self._job_rows: dict[bytes, int] = {}  # by the digest of their JSON
        self._origin: int | None = None  # of what is added next
        self._added: list[Added] = []  # what this process has acknowledged
        self.lost_counts = Counter[str]()  # of what was acknowledged, by table: lost with a file
        # A number is given once, also where its row is lost: views know rows by their numbers.
        self._last_numbers = last_numbers(connection, _NUMBERED)
        self._watch = FileWatch(path)

    @classmethod
    def create(cls, path: Path, labels: Mapping[str, str] | None = None) -> Self:
        """Make a new file. Raises SessionError if the file exists or the folder cannot be written."""
        make_file(path, lambda made: create_schema(made, timestamp(), __version__, labels or {}))
        return cls._opened(path)

    @classmethod
    def append(cls, path: Path, known: Session | None = None) -> Self:
        """Open an existing session to add to it; an older file is lifted first.

        ``known`` is what was read of the file as it is now; else it is read here, which takes a second where
        it has 10,000 points. Raises SessionError, also for a file that is damaged or newer: nothing is added
        to those.
        """
        if why := (known or load(path)).why_fixed:
            raise SessionError(f"Nothing can be added to {path}: it {why}.")
        return cls._opened(path)

    @classmethod
    def _opened(cls, path: Path) -> Self:
        connection = connect(path, "rw", _WAIT_S)
        try:
            _prepare(path, connection)
            return cls(path, connection)
        except sqlite3.Error as error:
            connection.close()
            raise SessionError(f"{path} cannot be written: {error}.") from error
        except SessionError:
            connection.close()
            raise

    @property
    def origin(self) -> int | None:
        """The number of the environment that what is added next was measured in; None for not known yet."""
        return self._origin

    def continue_in(self, origin: int) -> None:
        """What is added from now on was measured in the environment of this number, added before."""
        self._origin = origin

    def add_environment(self, environment: Environment, device_id: str) -> Origin:
        """What is added from now on was measured there. One that the file has already gets no second row."""
        value = stored_text(environment)
        number, recorded_at = self._row_of_environment(value, device_id) or (0, timestamp())
        if not number:
            row = {"device_id": device_id, "value": value, "recorded_at": recorded_at}
            with self._transaction() as add:
                number = add("environment", row)
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
        stored_text(spec)
        with self._transaction() as add:
            add("kernel", {"name": spec.name, "spec": spec})

    def add_sources(self, implementation: Implementation, sources: Iterable[SourceFile]) -> None:
        with self._transaction() as add:
            for source in sources:
                key = {"implementation_hash": implementation.source_hash, "name": source.name}
                add("source", {**key, "sha256": source.sha256, "text": source.text})

    def add_ceiling(self, ceiling: Ceiling) -> None:
        stored_text(ceiling)
        with self._transaction() as add:
            add("ceiling", {"value": ceiling, "environment": self._origin})

    def add_outcome(self, job: Job, implementation: Implementation, outcome: Outcome) -> Point:
        """Commit one outcome and return it as the session's newest point.

        One that cannot be stored is kept as a failure that says so.
        """
        job, outcome = storable(job, implementation, outcome)
        recorded_at = timestamp()
        row = {
            "implementation": implementation,
            "kind": type(outcome).__name__.lower(),
            "median_s": float(outcome.time.median_s) if isinstance(outcome, Measured) else None,
            "value": outcome,
            "recorded_at": recorded_at,
            "environment": self._origin,
        }
        with self._transaction() as add:
            number = add("outcome", {"job": self._job_row(job, add), **row})
        return Point(number, job, implementation, outcome, recorded_at, self._origin)

    def add_proof(self, proof: Proof) -> None:
        stored_text(proof)
        row = {"name": str(proof.name), "passed": proof.passed, "value": proof}
        with self._transaction() as add:
            add("proof", {**row, "recorded_at": proof.recorded_at})

    def add_trace(self, job: Job, implementation: Implementation, chrome_json_gz: bytes) -> TraceInfo:
        recorded_at, size = timestamp(), len(chrome_json_gz)
        row = {"implementation": implementation, "recorded_at": recorded_at, "byte_count": size}
        trace = {"digest": digest_of(chrome_json_gz), "chrome_json_gz": chrome_json_gz}
        with self._transaction() as add:
            number = add("trace", {"job": self._job_row(job, add), **row, **trace})
        return TraceInfo(number, job, implementation, recorded_at, size)

    def add_code(self, job: Job, implementation: Implementation, codes: Iterable[Code]) -> CodeInfo:
        """Keep what compilers made of an implementation."""
        recorded_at, packed = timestamp(), pack(codes)
        row = {"implementation": implementation, "recorded_at": recorded_at, "byte_count": len(packed)}
        code = {"digest": digest_of(packed), "codes_json_gz": packed}
        with self._transaction() as add:
            number = add("code", {"job": self._job_row(job, add), **row, **code})
        return CodeInfo(number, job, implementation, recorded_at, len(packed))

    def add_mark(self, number: int, mark: Mark) -> None:
        """What the user says of the point of this number from now on; an empty one takes all back."""
        self.add_marks({number: mark})

    def add_marks(self, marks: Mapping[int, Mark]) -> None:
        """By the points' numbers, all of them or none."""
        for mark in marks.values():
            stored_text(mark)
        with self._transaction() as add:
            for number, mark in marks.items():
                add("mark", {"outcome": number, "value": mark, "recorded_at": timestamp()})

    def add_counters(self, number: int, counters: Counters) -> None:
        """What was counted of the point of this number; the newest counts."""
        stored_text(counters)
        with self._transaction() as add:
            add("counters", {"outcome": number, "value": counters, "recorded_at": timestamp()})

    def save_as(self, path: Path) -> None:
        """Write a complete copy to another file, replacing it. Raises SessionError."""
        _copy(self._connection, path)

    def loss(self, *, at_the_end: bool = False) -> str:
        """What befell the file since it was last looked at, after its name; "" while all is in it."""
        if self.is_in_memory or not (at_the_end or self._watch.has_changed()):
            return ""
        return self._watch.loss(self._added)

    def rescued(self, folders: Sequence[Path]) -> Self:
        """A store of another file, in the first folder that takes it, with every row that there is.

        Where none does, the store is in memory. Traces that were in the file alone may be lost with it.
        """
        fill = self._copy_to if self.is_in_memory else self._fill_rescued()
        for path in rescue_names(self.path, folders):
            with contextlib.suppress(SessionError):
                make_file(path, fill)
                return self._continued(type(self)._opened(path))
        if self.is_in_memory:
            return self
        connection = sqlite3.connect(":memory:", isolation_level=None)
        fill(connection)
        store = self._continued(type(self)(self.path, connection))
        store.is_in_memory = True
        return store

    def _fill_rescued(self) -> Callable[[sqlite3.Connection], None]:
        rows = rows_to_rescue(self.path, self.identity, self.created_at, self._added)
        kept = still_kept(self._added, rows)
        self.lost_counts += _packed(self._added) - _packed(kept)
        self._added = kept
        return fill_with(rows)

    def _copy_to(self, made: sqlite3.Connection) -> None:
        self._connection.backup(made)

    def _continued(self, store: Self) -> Self:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        store._origin, store._job_rows, store._added = self._origin, self._job_rows, self._added
        store.lost_counts = self.lost_counts
        store._last_numbers = {
            table: max(number, store._last_numbers[table]) for table, number in self._last_numbers.items()
        }
        return store

    @property
    def result_count(self) -> int:
        """Results that this process has added and that are left."""
        return sum(row.table in ("outcome", "proof", "trace") for row in self._added)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self) -> Generator[Callable[[str, Mapping[str, object]], int]]:
        """Gives what adds a row; commits all that is added inside, or nothing. Raises SessionError."""
        job_rows, added = dict(self._job_rows), list[Added]()

        def add(table: str, values: Mapping[str, object]) -> int:
            if table in _NUMBERED:
                number = max(next_id(self._connection, table), self._last_numbers[table] + 1)
                values = {"id": number, **values}
            is_new = table in _NUMBERED or self._is_new(table, values)
            if not is_new and table != "kernel":
                return 0
            row = encoded(values)
            number = add_row(self._connection, table, row, replace=table == "kernel")
            if is_new:
                count_added(self._connection, {table: 1})
            kept = {name: value for name, value in values.items() if name != PACKED.get(table)}
            added.append(Added(table, kept, checksum_of(table, row)))
            return number

        try:
            self._connection.execute("BEGIN IMMEDIATE")
            is_ours = not self._watch.has_changed()
            yield add
            self._connection.execute("COMMIT")
        except BaseException as error:
            self._job_rows = job_rows  # a job added inside has lost its row
            # SQLite has rolled back by itself where the disk is full, and says so.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, (sqlite3.Error, UnicodeError)):
                raise self._unwritable(error) from error
            raise
        self._added += added
        for row in added:
            if isinstance(number := row.values.get("id"), int):
                self._last_numbers[row.table] = number
        if is_ours:
            self._watch.accept()

    def _is_new(self, table: str, values: Mapping[str, object]) -> bool:
        """Whether no row has these values of the primary key."""
        keys = [name for name in ("implementation_hash", "name") if name in values]
        statement = f"SELECT 1 FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in keys)}"
        return self._connection.execute(statement, [values[name] for name in keys]).fetchone() is None

    def _job_row(self, job: Job, add: Callable[[str, Mapping[str, object]], int]) -> int:
        key = digest_of(stored_text(job).encode())
        if key not in self._job_rows:
            self._job_rows[key] = add("job", {"value": job})
        return self._job_rows[key]

    def _unwritable(self, error: sqlite3.Error | UnicodeError) -> SessionError:
        return SessionError(f"{self.path} cannot be written: {error}.")


def _packed(added: Iterable[Added]) -> Counter[str]:
    return Counter(row.table for row in added if row.table in PACKED)


def copy(path: Path, target: Path) -> None:
    """Write a copy of a session; of a damaged one, what is whole. Raises SessionError."""
    if load(path).is_damaged:
        save_whole(path, target, may_replace=True)
        return
    with reading(path) as connection:
        _copy(connection, target)


def _copy(connection: sqlite3.Connection, path: Path) -> None:
    def fill(made: sqlite3.Connection) -> None:
        connection.backup(made)
        made.execute("PRAGMA journal_mode = DELETE")  # a session of an older Roofscope may have had a log

    try:
        make_file(path, fill, may_replace=True)
    except SessionError as error:
        raise SessionError(f"The session cannot be saved: {error}") from error


def _beginning(connection: sqlite3.Connection) -> tuple[Identity, str]:
    statement = "SELECT uuid, roofscope_version, created_at FROM session"
    uuid, version, created_at = connection.execute(statement).fetchone()
    labels = dict(connection.execute("SELECT key, value FROM label ORDER BY rowid"))
    return Identity(uuid, version, labels), created_at


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    """One plain file between commits, and each commit on the disk before it is acknowledged."""
    connection.set_progress_handler(None, 0)  # the deadline is for reading what others wrote
    [mode] = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    if mode != "delete":
        raise InUse(f"{path} is in use by another program; try again when that is done.")
    # Extra: the folder too is on the disk before a commit ends, or a power cut could bring back the journal.
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    connection.execute("PRAGMA secure_delete = ON")  # no older row is ever found among the salvaged ones
    lift_schema(connection)
