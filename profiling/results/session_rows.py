"""Rows of a session file and the checksum of each, which tells a changed or moved byte.

A checksum covers the table's name and every column with its name, so that it holds for a row in its place
only. A column that is NULL counts as absent: a later version may add columns, and older rows keep theirs.
It guards against accidents, not against a forger.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from hashlib import blake2b

CHECKSUM = "checksum"
TALLY = "tally"  # how many rows each other table has: a row that vanished leaves no wrong checksum
# What is packed, by its table: covered by a digest of its own, so that a session opens without reading it.
PACKED = {"trace": "chrome_json_gz", "code": "codes_json_gz"}
MOST_PACKED_BYTES = {"trace": 256 << 20, "code": 18 << 20}  # of one row: more than any that was written
_UNCOVERED = frozenset({CHECKSUM, *PACKED.values()})
_BYTES = 16

Column = str | bytes | int | float | None
Row = Mapping[str, Column]


def digest_of(content: bytes) -> bytes:
    return blake2b(content, digest_size=_BYTES).digest()


def checksum_of(table: str, row: Row) -> bytes:
    """What stands in the row's column ``checksum``; text is taken as its bytes in UTF-8."""
    parts = [table.encode()]
    for name in sorted(row):
        value = row[name]
        if value is None or name in _UNCOVERED:
            continue
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, bytes):
            parts += (b"%s:%d:" % (name.encode(), len(value)), value)
        else:
            kind = "r" if isinstance(value, float) else "i"
            parts.append(f"{name}={kind}{value!r}".encode())
    return digest_of(b"\0".join(parts))


def add_row(connection: sqlite3.Connection, table: str, row: Row, *, replace: bool = False) -> int:
    """Write one row with its checksum; returns its number."""
    found = {name: int(value) if isinstance(value, bool) else value for name, value in row.items()}
    columns = ", ".join((*found, CHECKSUM))
    marks = ", ".join("?" * (len(found) + 1))
    verb = "INSERT OR REPLACE" if replace else "INSERT"
    statement = f"{verb} INTO {table} ({columns}) VALUES ({marks})"
    return connection.execute(statement, (*found.values(), checksum_of(table, found))).lastrowid or 0


def next_id(connection: sqlite3.Connection, table: str) -> int:
    """The number of the next row: it is needed before the row, because the checksum covers it."""
    return connection.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0]


# Where rows name others by their number: a lost one leaves its number behind.
_NAMED_IN = {
    "environment": (("outcome", "environment"), ("ceiling", "environment")),
    "job": (("outcome", "job"), ("trace", "job"), ("code", "job")),
    "outcome": (("mark", "outcome"), ("counters", "outcome")),
}
_LARGEST_NUMBER = 2**53  # a row that names a larger one is no row of ours


def last_numbers(connection: sqlite3.Connection, tables: Iterable[str]) -> dict[str, int]:
    """By table the largest number that was given to a row, also to one that is lost and still named."""
    found: dict[str, int] = {}
    for table in tables:
        columns = ((table, "id"), *_NAMED_IN.get(table, ()))
        parts = " UNION ALL ".join(
            f"SELECT max({column}) AS number FROM {of} "
            f"WHERE typeof({column}) = 'integer' AND {column} < {_LARGEST_NUMBER}"
            for of, column in columns
        )
        statement = f"SELECT coalesce(max(number), 0) FROM ({parts})"
        found[table] = connection.execute(statement).fetchone()[0]
    return found


def count_added(connection: sqlite3.Connection, added: Mapping[str, int]) -> None:
    """Raise the tally. Belongs into the transaction that added the rows."""
    for table, count in added.items():
        found = connection.execute(f"SELECT row_count FROM {TALLY} WHERE name = ?", (table,)).fetchone()
        _set_count(connection, table, (found[0] if found else 0) + count)


def _set_count(connection: sqlite3.Connection, table: str, count: int) -> None:
    row = {"name": table, "row_count": count}
    statement = f"UPDATE {TALLY} SET row_count = ?, checksum = ? WHERE name = ?"
    if not connection.execute(statement, (count, checksum_of(TALLY, row), table)).rowcount:
        add_row(connection, TALLY, row)


def recount(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Set the tally of these tables to what they hold: of a file that is made or lifted."""
    for table in tables:
        if table != TALLY:
            [count] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            _set_count(connection, table, count)


def seal_rows(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Give every row its checksum: for an older file, which had none."""
    for table in tables:
        cursor = connection.execute(f"SELECT rowid, * FROM {table}")
        names = [column[0] for column in cursor.description][1:]
        for number, *values in cursor.fetchall():
            checksum = checksum_of(table, dict(zip(names, values, strict=True)))
            connection.execute(f"UPDATE {table} SET checksum = ? WHERE rowid = ?", (checksum, number))
