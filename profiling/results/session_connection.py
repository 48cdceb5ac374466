"""Opens the database of a session file, which a stranger may have made: nothing in it is carried out."""

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from roofscope.profiling.paths import SUFFIX, other_kind
from roofscope.profiling.results.session_schema import APPLICATION_ID, FORMAT_VERSION, schema_fault

LONGEST_READ_S = 20.0  # of all rows; 5,000 points take a second on a busy machine
LARGEST_VALUE_BYTES = 256 << 20  # of a trace, packed
_STEPS = 20_000  # of SQLite's machine between two looks at the clock
_WAIT_S = 5.0  # for another program's transaction
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_NEEDS_RECOVERY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_LOG_AT, _HAS_LOG = 18, b"\2\2"  # in the header: the versions that write and read it
_BESIDE = ("-journal", "-wal")  # where a transaction is kept that a killed program did not finish


class SessionError(Exception):
    """A session file cannot be used; the text is one sentence for the user."""


class InUse(SessionError):
    """Another program holds the file."""


class Unreadable(SessionError):
    """SQLite cannot make anything of the file, or it is not marked as a session."""


@contextlib.contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection]:
    """The file as it was at one moment, with text as bytes. Raises SessionError.

    Where a killed program left a transaction unfinished, SQLite must undo or finish it before anything can be
    read. That happens in a copy, so that reading changes no file and needs no right to write.
    """
    with contextlib.ExitStack() as stack:
        try:
            connection = connect(path, "ro")
        except Unreadable as error:
            cause = error.__cause__
            if not (isinstance(cause, sqlite3.Error) and code_of(cause) in _NEEDS_RECOVERY):
                raise
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roofscope-")))
            connection = connect(_copied(path, folder), "rw")
        stack.callback(connection.close)
        connection.text_factory = bytes  # a text that is no UTF-8 is one damaged row, and not the end
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")  # one moment for all tables, whatever is added meanwhile
        yield connection


def connect(path: Path, mode: str, wait_s: float = _WAIT_S) -> sqlite3.Connection:
    """Open a session's database, to read ("ro") or to add to ("rw"). Raises SessionError."""
    _require_file(path)
    connection: sqlite3.Connection | None = None
    place = f"{path.absolute().as_uri()}?mode={mode}"
    if mode == "ro" and _lies_still(path):
        place += "&immutable=1"
    try:
        connection = sqlite3.connect(place, uri=True, isolation_level=None, timeout=wait_s)
        _guard(connection)
        application_id = connection.execute("PRAGMA application_id").fetchone()[0]
        version = version_of(connection)
        fault = schema_fault(connection) if application_id == APPLICATION_ID else None
    except sqlite3.Error as error:
        if connection:
            connection.close()
        raise why_unreadable(path, error) from error
    except UnicodeDecodeError as error:  # in a name of the schema
        if connection:
            connection.close()
        raise Unreadable(f"{path} is not a Roofscope session or is damaged ({error}).") from error
    if application_id == APPLICATION_ID and version >= 1 and not fault:
        if version <= FORMAT_VERSION or mode == "ro":
            return connection
        fault = f"session format {version}, which is newer than this program's {FORMAT_VERSION}"
    connection.close()
    if application_id != APPLICATION_ID or version < 1:
        what = "is" if path.stat().st_size else "is empty, and"
        raise Unreadable(f"{path} {what} not a Roofscope session; choose a {SUFFIX} file.")
    if version > FORMAT_VERSION:
        raise SessionError(f"{path} has {fault}, and is for viewing only; update Roofscope to add to it.")
    raise SessionError(f"{path} holds {fault}, as no session of Roofscope does; ask where it comes from.")


def _require_file(path: Path) -> None:
    """Raises SessionError, which says what is there instead."""
    try:
        is_file = path.is_file()
        other = "" if is_file else other_kind(path)
        if is_file and not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except NotADirectoryError:
        is_file, other = False, ""
    except OSError as error:  # a folder that may not be looked into, a name that is too long
        raise SessionError(f"{path} cannot be read: {error.strerror or error}.") from error
    if other:
        raise SessionError(f"{path} is {other}; choose a {SUFFIX} file.")
    if not is_file:
        raise SessionError(f"There is no file {path}.")


def why_unreadable(path: Path, error: sqlite3.Error) -> SessionError:
    """One sentence of what SQLite said."""
    code = code_of(error)
    if code in _BUSY:
        return InUse(f"{path} is in use by another program; try again when that is done.")
    if code == sqlite3.SQLITE_INTERRUPT:
        return SessionError(f"{path} takes longer than {LONGEST_READ_S:.0f} s to read and was given up.")
    return Unreadable(f"{path} is not a Roofscope session or is damaged ({error}); choose a {SUFFIX} file.")


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary code; Python's own complaints have none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def version_of(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _guard(connection: sqlite3.Connection) -> None:
    """Whatever the file says: no function with effects, no endless query, no value without bound."""
    deadline = time.monotonic() + LONGEST_READ_S
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")  # a file cut short under a mapping would end the program


def _lies_still(path: Path) -> bool:
    """Whether its header asks for a log that nobody has and that cannot be made here.

    A file without one is read with locks, also where the folder is not ours: its owner may be adding to it.
    """
    if os.access(path.parent, os.W_OK) or any(path.with_name(path.name + end).exists() for end in _BESIDE):
        return False
    try:
        with path.open("rb") as file:
            return file.read(_LOG_AT + 2)[_LOG_AT:] == _HAS_LOG
    except OSError:
        return False  # SQLite says why


def _copied(path: Path, folder: Path) -> Path:
    """A copy with what lies beside it, which SQLite finds by name."""
    copy = folder / "session"
    try:
        shutil.copyfile(path, copy)
        for end in _BESIDE:
            beside = path.with_name(path.name + end)
            if beside.is_file():
                shutil.copyfile(beside, copy.with_name(copy.name + end))
    except OSError as error:
        raise SessionError(
            f"{path} was left by a program that was killed, and cannot be copied to be recovered: {error}."
        ) from error
    return copy
