"""Finds rows in the pages of a session file without SQLite: for files that it cannot read, or not all of.

A row proves by its checksum that it is whole and to which table it belongs, so every page is looked at by
itself, and neither the header nor the tree of pages must be right. Layout: https://sqlite.org/fileformat2.html
"""

import struct
from collections.abc import Generator
from itertools import pairwise

from roofscope.profiling.results.session_rows import CHECKSUM, Column, Row, checksum_of, digest_of
from roofscope.profiling.results.session_schema import PAGE_BYTES

# In the order of the tables' statements.
LAYOUTS: dict[str, tuple[str, ...]] = {
    "session": ("created_at", "uuid", "roofscope_version", CHECKSUM),
    "label": ("key", "value", CHECKSUM),
    "environment": ("id", "device_id", "value", "recorded_at", CHECKSUM),
    "kernel": ("name", "spec", CHECKSUM),
    "source": ("implementation_hash", "name", "sha256", "text", CHECKSUM),
    "ceiling": ("id", "value", "environment", CHECKSUM),
    "proof": ("id", "name", "passed", "value", "recorded_at", CHECKSUM),
    "job": ("id", "value", CHECKSUM),
    "outcome": (
        *("id", "job", "implementation", "kind", "median_s", "value", "recorded_at", "environment"),
        CHECKSUM,
    ),
    "trace": (
        *("id", "job", "implementation", "recorded_at", "byte_count", "digest", CHECKSUM),
        "chrome_json_gz",
    ),
    "tally": ("name", "row_count", CHECKSUM),
}
_BY_LENGTH = {
    length: [table for table, layout in LAYOUTS.items() if len(layout) == length]
    for length in {len(layout) for layout in LAYOUTS.values()}
}
_FILE_HEADER_BYTES = 100
_PAGE_HEADER_BYTES = 8  # of a leaf
_NO_LEAF = frozenset({0, 2, 5, 10})  # overflow pages (as a rule), inner pages and leaves of indexes
_LARGEST_ROW_BYTES = 256 << 20


def rows_in(content: bytes) -> Generator[tuple[str, Row]]:
    """Every row in the file's pages whose checksum is right, with its table."""
    for start in range(0, len(content), PAGE_BYTES):
        for cell in _cells(content, start):
            try:
                values, number = _record(content, start, cell)
            except (IndexError, ValueError):
                continue
            if found := _recognised(values, number):
                yield found


def _cells(content: bytes, start: int) -> list[int]:
    """Where in a leaf its rows begin; none where the page is no leaf."""
    head = start + _FILE_HEADER_BYTES if start == 0 else start
    header = content[head : head + _PAGE_HEADER_BYTES]
    if len(header) < _PAGE_HEADER_BYTES or header[0] in _NO_LEAF:
        return []
    count = int.from_bytes(header[3:5], "big")
    first, last = head + _PAGE_HEADER_BYTES, head + _PAGE_HEADER_BYTES + 2 * count
    if last > start + PAGE_BYTES:
        return []
    places = range(first, last, 2)
    return [start + int.from_bytes(content[place : place + 2], "big") for place in places]


def _record(content: bytes, start: int, cell: int) -> tuple[list[Column], int]:
    """The columns of a row and its number. Raises IndexError or ValueError where there is none."""
    size, place = _varint(content, cell)
    number, place = _varint(content, place)
    payload = _payload(content, start, place, size)
    header_bytes, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < header_bytes:
        kind, at = _varint(payload, at)
        kinds.append(kind)
        if len(kinds) > max(_BY_LENGTH):
            raise ValueError("more columns than any table has")
    if len(kinds) not in _BY_LENGTH:
        raise ValueError("not as many columns as any table has")
    ends = [header_bytes]
    for kind in kinds:
        ends.append(ends[-1] + _length(kind))
    if ends[-1] > len(payload):
        raise ValueError("columns longer than their row")
    pieces = (payload[begin:end] for begin, end in pairwise(ends))
    return [_value(kind, piece) for kind, piece in zip(kinds, pieces, strict=True)], number


def _payload(content: bytes, start: int, place: int, size: int) -> bytes:
    """A row's bytes, with those that a chain of overflow pages holds."""
    if size > min(_LARGEST_ROW_BYTES, len(content)):
        raise ValueError("longer than the file")
    most = PAGE_BYTES - 35
    if size <= most:
        local = size
    else:
        least = (PAGE_BYTES - 12) * 32 // 255 - 23
        local = least + (size - least) % (PAGE_BYTES - 4)
        local = local if local <= most else least
    if place + local > start + PAGE_BYTES:
        raise ValueError("beyond the page")
    parts = [content[place : place + local]]
    left, link = size - local, place + local
    while left > 0:
        page = int.from_bytes(content[link : link + 4], "big")
        if not 1 < page <= len(content) // PAGE_BYTES + 1:
            raise ValueError("a chain that leads nowhere")
        link = (page - 1) * PAGE_BYTES
        parts.append(content[link + 4 : link + 4 + min(left, PAGE_BYTES - 4)])
        left -= PAGE_BYTES - 4
    return b"".join(parts)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for step in range(8):
        byte = data[place + step]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + step + 1
    return value << 8 | data[place + 8], place + 9


_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
_REAL, _ZERO, _ONE, _FIRST_BLOB = 7, 8, 9, 12


def _length(kind: int) -> int:
    if kind >= _FIRST_BLOB:
        return (kind - _FIRST_BLOB) // 2
    return _INTEGER_BYTES[kind] if kind < _REAL else 8 if kind == _REAL else 0


def _value(kind: int, piece: bytes) -> Column:
    if kind >= _FIRST_BLOB:
        return piece
    if kind == _REAL:
        return struct.unpack(">d", piece)[0]
    if kind in (_ZERO, _ONE):
        return kind - _ZERO
    return int.from_bytes(piece, "big", signed=True) if kind else None


def _recognised(values: list[Column], number: int) -> tuple[str, Row] | None:
    """The table that a row's checksum names; None for a row that is damaged or nobody's."""
    for table in _BY_LENGTH[len(values)]:
        row = dict(zip(LAYOUTS[table], values, strict=True))
        if "id" in row and row["id"] is None:  # SQLite keeps it as the row's number
            row["id"] = number
        if isinstance(median_s := row.get("median_s"), int):  # SQLite keeps whole numbers so
            row["median_s"] = float(median_s)
        if row[CHECKSUM] == checksum_of(table, row):
            trace = row.get("chrome_json_gz")
            if isinstance(trace, bytes) and row["digest"] != digest_of(trace):
                return None
            return table, row
    return None
