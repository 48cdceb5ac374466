"""Finds rows in the pages of a session file without SQLite: for files that it cannot read, or not all of.

A row proves by its checksum that it is whole and to which table it belongs, so every page is looked at by
itself, and neither the header nor the tree of pages must be right. Layout: https://sqlite.org/fileformat2.html

A page may be made to last: its rows may lie upon each other, and chains of pages run in a circle.
"""

import struct
import time
from collections.abc import Generator
from itertools import pairwise
from typing import NamedTuple

from roofscope.profiling.results.session_connection import LONGEST_READ_S
from roofscope.profiling.results.session_rows import CHECKSUM, PACKED, Column, Row, checksum_of, digest_of
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
    "code": (
        *("id", "job", "implementation", "recorded_at", "byte_count", "digest", CHECKSUM),
        "codes_json_gz",
    ),
    "mark": ("id", "outcome", "value", "recorded_at", CHECKSUM),
    "counters": ("id", "outcome", "value", "recorded_at", CHECKSUM),
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
_MOST_READ = 8  # times the file's bytes; rows that lie beside each other have fewer than the file


def rows_in(content: bytes, *, longest_s: float = LONGEST_READ_S) -> Generator[tuple[str, Row]]:
    """Every row in the file's pages whose checksum is right, with its table; of a hostile file not all."""
    deadline, left = time.monotonic() + longest_s, _MOST_READ * len(content)
    for start in range(0, len(content), PAGE_BYTES):
        if time.monotonic() > deadline:
            return
        for cell in _cells(content, start):
            try:
                record = _record(content, start, cell)
                if (left := left - record.size) < 0:
                    return
                values = record.values(content)
            except (IndexError, ValueError):
                continue
            if found := _recognised(values, record.number):
                yield found


def _cells(content: bytes, start: int) -> list[int]:
    """Where in a leaf its rows begin, each once; none where the page is no leaf."""
    head = start + _FILE_HEADER_BYTES if start == 0 else start
    header = content[head : head + _PAGE_HEADER_BYTES]
    if len(header) < _PAGE_HEADER_BYTES or header[0] in _NO_LEAF:
        return []
    count = int.from_bytes(header[3:5], "big")
    first, last = head + _PAGE_HEADER_BYTES, head + _PAGE_HEADER_BYTES + 2 * count
    if last > start + PAGE_BYTES:
        return []
    places = range(first, last, 2)
    return list(dict.fromkeys(start + int.from_bytes(content[place : place + 2], "big") for place in places))


class _Record(NamedTuple):
    """What a row says of itself; its columns may go on in other pages."""

    number: int
    size: int  # in bytes
    local: bytes  # those in its own page
    link: int  # where the number of the next page stands, if there is one
    kinds: list[int]  # of its columns
    header_bytes: int

    def values(self, content: bytes) -> list[Column]:
        """The columns. Raises ValueError where the chain of pages is broken."""
        payload = _joined(content, self)
        ends = [self.header_bytes]
        for kind in self.kinds:
            ends.append(ends[-1] + _length(kind))
        pieces = (payload[begin:end] for begin, end in pairwise(ends))
        return [_value(kind, piece) for kind, piece in zip(self.kinds, pieces, strict=True)]


def _record(content: bytes, start: int, cell: int) -> _Record:
    """A row by its header, which lies in its own page. Raises IndexError or ValueError where none is."""
    size, place = _varint(content, cell)
    number, place = _varint(content, place)
    local = _local(content, start, place, size)
    header_bytes, at = _varint(local, 0)
    kinds: list[int] = []
    while at < header_bytes:
        kind, at = _varint(local, at)
        kinds.append(kind)
        if len(kinds) > max(_BY_LENGTH):
            raise ValueError("more columns than any table has")
    if len(kinds) not in _BY_LENGTH:
        raise ValueError("not as many columns as any table has")
    if header_bytes + sum(_length(kind) for kind in kinds) != size:
        raise ValueError("columns longer or shorter than their row")
    return _Record(number, size, local, place + len(local), kinds, header_bytes)


def _local(content: bytes, start: int, place: int, size: int) -> bytes:
    """Those of a row's bytes that lie in its own page."""
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
    return content[place : place + local]


def _joined(content: bytes, record: _Record) -> bytes:
    """A row's bytes, with those that a chain of overflow pages holds. Raises ValueError if it is broken."""
    parts = [record.local]
    left, link = record.size - len(record.local), record.link
    while left > 0:
        page = int.from_bytes(content[link : link + 4], "big")
        if not 1 < page <= len(content) // PAGE_BYTES + 1:
            raise ValueError("a chain that leads nowhere")
        link = (page - 1) * PAGE_BYTES
        parts.append(content[link + 4 : link + 4 + min(left, PAGE_BYTES - 4)])
        left -= PAGE_BYTES - 4
    payload = b"".join(parts)
    if len(payload) != record.size:
        raise ValueError("cut off with the file")
    return payload


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
            packed = row.get(PACKED.get(table, ""))
            if isinstance(packed, bytes) and row["digest"] != digest_of(packed):
                return None
            return table, row
    return None
