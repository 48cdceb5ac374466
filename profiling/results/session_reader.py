"""Reads session files; docs/session-file.md says what they hold."""

import os
import sqlite3
from pathlib import Path
from typing import TypeVar

import msgspec

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.paths import SUFFIX, is_file
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results.outcome import Outcome
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Identity, Origin, Point, Session, TraceInfo
from roofscope.profiling.results.session_schema import APPLICATION_ID, FORMAT_VERSION, schema_fault
from roofscope.profiling.roofline.roofline import Ceiling

Value = TypeVar("Value")


class SessionError(Exception):
    """A session file cannot be used; the text is one sentence for the user."""


def load(path: Path) -> Session:
    """Read a whole session. Raises SessionError with one sentence when the file is none."""
    connection = connect(path, "ro")
    try:
        return _read(path, connection)
    except KeyError as error:
        raise _damaged(path, f"job {error} is missing") from error
    except (sqlite3.Error, msgspec.MsgspecError, UnreadableError, UnicodeDecodeError, TypeError) as error:
        raise _damaged(path, str(error)) from error
    finally:
        connection.close()


def load_trace(path: Path, number: int) -> bytes:
    """The gzipped Chrome trace with this number. Raises SessionError."""
    connection = connect(path, "ro")
    try:
        row = connection.execute("SELECT chrome_json_gz FROM trace WHERE id = ?", (number,)).fetchone()
    except sqlite3.Error as error:
        raise SessionError(f"The trace {number} of {path} cannot be read: {error}.") from error
    finally:
        connection.close()
    if row is None:
        raise SessionError(f"{path} holds no trace {number}.")
    if not isinstance(row[0], bytes):  # SQLite's columns hold whatever was put into them
        raise SessionError(f"The trace {number} of {path} is damaged; record it again.")
    return row[0]


def _lies_still(path: Path) -> bool:
    """Whether no program writes it: SQLite cannot make its own files beside those that a killed run left."""
    return not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a session's database, to read ("ro") or to add to ("rw"). Raises SessionError."""
    if not is_file(path):
        raise SessionError(f"There is no file {path}.")
    connection: sqlite3.Connection | None = None
    place = f"{path.absolute().as_uri()}?mode={mode}"
    if mode == "ro" and _lies_still(path):
        place += "&immutable=1"
    try:
        connection = sqlite3.connect(place, uri=True, isolation_level=None)
        connection.execute("PRAGMA trusted_schema = OFF")  # no function with effects, whatever a file says
        application_id = connection.execute("PRAGMA application_id").fetchone()[0]
        version = _version(connection)
        fault = schema_fault(connection) if application_id == APPLICATION_ID else None
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if connection:
            connection.close()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise SessionError(
                f"{path} is in use by another program; try again when that is done."
            ) from error
        raise SessionError(
            f"{path} is not a Roofscope session or is damaged ({error}); choose a {SUFFIX} file."
        ) from error
    if application_id == APPLICATION_ID and 1 <= version <= FORMAT_VERSION and not fault:
        return connection
    connection.close()
    if application_id != APPLICATION_ID or version < 1:
        raise SessionError(f"{path} is not a Roofscope session; choose a {SUFFIX} file.")
    if version > FORMAT_VERSION:
        raise SessionError(
            f"{path} has session format {version}, this program reads {FORMAT_VERSION}; update Roofscope."
        )
    raise SessionError(f"{path} holds {fault}, as no session of Roofscope does; ask where it comes from.")


def _damaged(path: Path, why: str) -> SessionError:
    return SessionError(f"{path} is a Roofscope session but damaged ({why}); restore it from a copy.")


def _read(path: Path, connection: sqlite3.Connection) -> Session:
    created_at = connection.execute("SELECT created_at FROM session").fetchone()[0]
    session = Session(path, created_at, identity=read_identity(connection))
    session.origins = tuple(
        Origin(number, _value(text, Environment), device_id, recorded_at)
        for number, text, device_id, recorded_at in connection.execute(
            "SELECT id, value, device_id, recorded_at FROM environment ORDER BY id"
        )
    )
    session.specs = {
        name: _value(text, KernelSpec) for name, text in connection.execute("SELECT name, spec FROM kernel")
    }
    for key, name, sha256, text in connection.execute("SELECT * FROM source ORDER BY name"):
        session.sources[key] = (*session.sources.get(key, ()), SourceFile(name, sha256, text))
    environment = "environment" if _version(connection) >= 3 else "NULL"
    ceilings = [
        (_value(text, Ceiling), number)
        for text, number in connection.execute(f"SELECT value, {environment} FROM ceiling ORDER BY id")
    ]
    session.ceilings = tuple(ceiling for ceiling, _ in ceilings)
    session.ceiling_origins = tuple(
        number or _origin_at(ceiling.recorded_at, session.origins) for ceiling, number in ceilings
    )
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'proof'").fetchone():
        session.proofs = tuple(
            _value(text, Proof) for (text,) in connection.execute("SELECT value FROM proof ORDER BY id")
        )
    jobs = {number: _value(text, Job) for number, text in connection.execute("SELECT id, value FROM job")}
    session.points = tuple(
        Point(
            number,
            jobs[job],
            _value(implementation, Implementation),
            _outcome(value),
            recorded_at,
            origin or _origin_at(recorded_at, session.origins),
        )
        for number, job, implementation, value, recorded_at, origin in connection.execute(
            f"SELECT id, job, implementation, value, recorded_at, {environment} FROM outcome ORDER BY id"
        )
    )
    if session.origins:
        last = session.points[-1].origin if session.points else None
        session.know(session.origin(last) or session.origins[-1])
    session.traces = tuple(
        TraceInfo(number, jobs[job], _value(implementation, Implementation), recorded_at, size)
        for number, job, implementation, recorded_at, size in connection.execute(
            "SELECT id, job, implementation, recorded_at, length(chrome_json_gz) FROM trace ORDER BY id"
        )
    )
    return session


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _origin_at(recorded_at: str, origins: tuple[Origin, ...]) -> int | None:
    """For a row of an older file, which names none: the environment that was the newest then."""
    before = [origin.number for origin in origins if origin.recorded_at <= recorded_at]
    return before[-1] if before else origins[0].number if origins else None


def read_identity(connection: sqlite3.Connection) -> Identity:
    """Empty for a file from before there was any."""
    if _version(connection) < 2:
        return Identity()
    uuid, version = connection.execute("SELECT uuid, roofscope_version FROM session").fetchone()
    labels = dict(connection.execute("SELECT key, value FROM label ORDER BY rowid"))
    return msgspec.convert(
        {"uuid": uuid, "roofscope_version": version, "labels": labels}, Identity
    )  # SQLite's columns hold whatever was put into them


def _value(text: str, kind: type[Value]) -> Value:
    return decode(text, kind)


def _outcome(text: str) -> Outcome:
    return decode(text, Outcome)  # type: ignore[arg-type] - a union of structs
