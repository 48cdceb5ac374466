"""All rows of a session file that are whole, however much of the file is."""

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from roofscope.profiling.results.session_connection import (
    InUse,
    SessionError,
    Unreadable,
    code_of,
    reading,
    version_of,
    why_unreadable,
)
from roofscope.profiling.results.session_pages import rows_in
from roofscope.profiling.results.session_rows import (
    CHECKSUM,
    MOST_PACKED_BYTES,
    PACKED,
    TALLY,
    Row,
    checksum_of,
    digest_of,
)
from roofscope.profiling.results.session_schema import FORMAT_VERSION, OUR_TABLES, SEALED_SINCE, tables_of

_MOST_ROWS = 200_000  # of a table
_MOST_ROWS_OF = {"environment": 10_000, "ceiling": 10_000}  # which each point is compared with
_MOST_BYTES = 1 << 30  # of all values but those packed; also of a file that is searched page by page
_MOST_PACKED_BYTES = 2 << 30  # of all traces and generated code: who saves what is whole holds them in memory
_GIVEN_UP = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT)


class Table(Struct):
    """The rows of one table that are whole, by their checksum or, of older files, by their number."""

    rows: dict[object, Row] = field(default_factory=dict[object, Row])
    damaged: int = 0  # rows that were read and are not what was written
    is_whole: bool = True  # SQLite found its way through the table


class Contents(Struct):
    """What was read of a file."""

    version: int
    is_sealed: bool  # its rows have checksums
    tables: dict[str, Table]
    is_readable: bool = True  # by SQLite: else all rows are salvaged ones
    byte_count: int = 0  # of all values but those packed
    packed_byte_count: int = 0

    @property
    def lacks_a_tally(self) -> bool:
        """Whether the count of a table's rows is damaged, of a file whose tables have one."""
        # Of a file that is searched page by page the version is not known: it may be an older one.
        version = self.version if self.is_readable else SEALED_SINCE
        return len(self.rows(TALLY)) < len(tables_of(version)) - 1

    def rows(self, table: str) -> list[Row]:
        return list(self.tables[table].rows.values())

    def expected(self, table: str) -> int:
        """How many rows the table had when it was last added to; of older files, how many were found."""
        tallies = (row.get("row_count") for row in self.rows(TALLY) if row.get("name") == table.encode())
        found = self.tables[table]
        count = next(tallies, None)
        if isinstance(count, int):
            return count
        return 1 if table == "session" else len(found.rows) + found.damaged

    @property
    def is_incomplete(self) -> bool:
        """Whether a row is damaged or missing, or may be: where the tally is damaged, nothing tells."""
        tables = self.tables.values()
        if not all(table.is_whole and not table.damaged for table in tables) or not self.is_readable:
            return True
        if not self.is_sealed:
            return False
        if self.lacks_a_tally:
            return True
        return any(
            self.expected(name) != len(table.rows) for name, table in self.tables.items() if name != TALLY
        )


def gather(path: Path, *, with_traces: bool = False, in_spite_of_locks: bool = False) -> Contents:
    """Read the rows, and search the pages of a damaged file for more. Raises SessionError."""
    failure: SessionError | None = None
    try:
        with reading(path) as connection:
            contents = _read(path, connection, with_traces=with_traces)
    except (Unreadable, InUse) as error:
        if isinstance(error, InUse) and not in_spite_of_locks:
            raise
        failure = error
        contents = Contents(FORMAT_VERSION, True, {name: Table() for name in OUR_TABLES}, is_readable=False)
    if contents.is_sealed and contents.is_incomplete:
        with suppress(OSError):
            if path.stat().st_size <= _MOST_BYTES:
                _salvage(contents, path.read_bytes())
    if failure and not any(table.rows for table in contents.tables.values()):
        raise failure
    return contents


def _read(path: Path, connection: sqlite3.Connection, *, with_traces: bool) -> Contents:
    try:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        version = version_of(connection)
    except sqlite3.Error as error:
        raise why_unreadable(path, error) from error
    names = {name.decode("utf-8", "replace").lower() for (name,) in found}
    # A header that says otherwise is damaged: nothing takes the tally from a file.
    is_sealed = version >= SEALED_SINCE or TALLY in names
    contents = Contents(max(version, SEALED_SINCE) if is_sealed else version, is_sealed, {})
    for name in OUR_TABLES:
        is_due = is_sealed and name in tables_of(contents.version)
        contents.tables[name] = table = Table(is_whole=name in names or not is_due)
        if name in names:
            _read_table(path, connection, contents, name, table, with_traces=with_traces)
    if is_sealed and version < SEALED_SINCE:
        contents.is_readable = False
    return contents


def _read_table(
    path: Path,
    connection: sqlite3.Connection,
    contents: Contents,
    name: str,
    table: Table,
    *,
    with_traces: bool,
) -> None:
    """Read the table from its beginning and, where SQLite cannot go on, from its end."""
    for order in ("", " ORDER BY rowid DESC"):
        try:
            found = [
                str(row[0], "utf-8")
                for row in connection.execute(f"SELECT name FROM pragma_table_info('{name}')")
            ]
            packed = PACKED.get(name)
            columns = [f'"{column}"' for column in found if column != packed or with_traces]
            if packed in found:
                columns.append(f"iif(typeof({packed}) = 'blob', length({packed}), NULL) AS [(length)]")
            statement = f"SELECT rowid AS [(number)], {', '.join(columns)} FROM {name} NOT INDEXED{order}"
            cursor = connection.execute(statement)
            names = [column[0] for column in cursor.description]
            for values in cursor:
                _take(path, contents, name, table, dict(zip(names, values, strict=True)))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.Error) and code_of(error) in _GIVEN_UP:
                raise why_unreadable(path, error) from error
            table.is_whole = False
        else:
            return


def _take(path: Path, contents: Contents, name: str, table: Table, row: dict[str, object]) -> None:
    """Keep a row if it is what was written."""
    number, length = row.pop("(number)"), row.pop("(length)", None)
    packed = PACKED.get(name)
    contents.byte_count += sum(
        len(value) for column, value in row.items() if isinstance(value, bytes) and column != packed
    )
    contents.packed_byte_count += length if isinstance(length, int) else 0
    most = _MOST_ROWS_OF.get(name, _MOST_ROWS)
    if (
        len(table.rows) + table.damaged > most
        or contents.byte_count > _MOST_BYTES
        or contents.packed_byte_count > _MOST_PACKED_BYTES
    ):
        raise SessionError(f"{path} holds more than a session does and was not read to its end.")
    if packed and not (isinstance(length, int) and length <= MOST_PACKED_BYTES[name]):
        table.damaged += table.is_whole  # no bytes, as every trace has, or more than one has
    elif not contents.is_sealed:
        if length is not None:
            row["byte_count"] = length
        table.rows[number] = row  # type: ignore[assignment]
    elif _is_whole(name, row, length):
        table.rows[row[CHECKSUM]] = row  # type: ignore[assignment]
    elif table.is_whole:  # else counted already, or not known to be another one
        table.damaged += 1


def _is_whole(name: str, row: dict[str, Any], length: object) -> bool:
    """Whether a row is what its checksum says, and its trace, where that was read, what its digest says."""
    packed = row.get(PACKED.get(name, ""))
    if isinstance(packed, bytes) and row.get("digest") != digest_of(packed):
        return False
    return row.get(CHECKSUM) == checksum_of(name, row) and row.get("byte_count") == length


def _salvage(contents: Contents, content: bytes) -> None:
    for name, row in rows_in(content):
        packed = row.get(PACKED.get(name, ""))
        if not isinstance(packed, bytes) or len(packed) <= MOST_PACKED_BYTES[name]:
            contents.tables[name].rows.setdefault(row[CHECKSUM], row)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By their numbers, as they were added; rows found page by page come in any order."""
    return sorted(rows, key=lambda row: number if isinstance(number := row.get("id"), int) else 0)
