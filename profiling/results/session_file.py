"""Makes session files: each whole or not there at all."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from uuid import uuid4

from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_reader import read
from roofscope.profiling.results.session_rows import CHECKSUM, PACKED, Column, Row, add_row, digest_of
from roofscope.profiling.results.session_schema import OUR_TABLES, make_tables, recount_all

_BYTES = frozenset({CHECKSUM, "digest", *PACKED.values()})  # columns that are no text


def make_file(path: Path, fill: Callable[[sqlite3.Connection], None], *, may_replace: bool = False) -> None:
    """Write a new database, which bears its name once it is whole and on the disk. Raises SessionError."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}.part")
    try:
        if path.exists() and not (may_replace and path.is_file()):
            raise _exists(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")  # nobody has seen the file yet
            fill(connection)
        _put(part, path, may_replace=may_replace)
    except (OSError, UnicodeError, sqlite3.Error) as error:
        raise SessionError(f"{path} cannot be written: {error}.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _put(part: Path, path: Path, *, may_replace: bool) -> None:
    _sync(part)
    if may_replace:
        part.replace(path)
    else:
        try:
            path.hardlink_to(part)  # unlike a renaming, it takes no name that another program has just taken
        except FileExistsError as error:
            raise _exists(path) from error
        except OSError:  # file systems without links
            part.rename(path)
    with contextlib.suppress(OSError):  # not every system lets a folder be synchronised
        _sync(path.parent)


def _exists(path: Path) -> SessionError:
    return SessionError(f"{path} exists already; choose another name.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fill_with(rows: Mapping[str, Iterable[Row]]) -> Callable[[sqlite3.Connection], None]:
    """What gives a new file these rows, each with a checksum of its own."""

    def fill(connection: sqlite3.Connection) -> None:
        make_tables(connection)
        for table in OUR_TABLES:
            for row in rows.get(table, ()):
                add_row(connection, table, _columns(table, row))
        recount_all(connection)
        connection.execute("COMMIT")

    return fill


def _columns(table: str, row: Row) -> dict[str, Column]:
    """As the tables of today have them: text as text, a trace with its digest."""
    found = {
        name: value.decode() if isinstance(value, bytes) and name not in _BYTES else value
        for name, value in row.items()
        if name != CHECKSUM
    }
    packed = found.get(PACKED.get(table, ""))
    if isinstance(packed, bytes):
        found["byte_count"], found["digest"] = len(packed), digest_of(packed)
    return found


def save_whole(path: Path, target: Path, *, may_replace: bool = False) -> None:
    """Write what is whole of a session, damaged or not, to another file. Raises SessionError."""
    reading = read(path, with_traces=True)
    session, rows = reading.session, dict(reading.kept)
    if not rows["session"]:
        rows["session"] = [{"created_at": session.created_at, "uuid": str(uuid4())}]
    origins = {point.number: point.origin for point in session.all_points}
    rows["outcome"] = [{**row, "environment": origins[row["id"]]} for row in rows["outcome"]]  # type: ignore[index]
    ceilings = zip(rows["ceiling"], session.ceiling_origins, strict=True)
    rows["ceiling"] = [{**row, "environment": number} for row, number in ceilings]
    make_file(target, fill_with(rows), may_replace=may_replace)
