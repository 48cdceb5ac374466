"""What is done about a session file that is lost while a run writes it: deleted, replaced, damaged, full."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from roofscope.profiling.results.session import Identity
from roofscope.profiling.results.session_connection import InUse, SessionError
from roofscope.profiling.results.session_contents import gather
from roofscope.profiling.results.session_rows import CHECKSUM, PACKED, Column, Row
from roofscope.profiling.results.session_schema import OUR_TABLES

_MOST_NAMES = 100

_OF_A_POINT = ("mark", "counters")  # tables whose rows say something of a point


class Added(NamedTuple):
    """A row that was acknowledged: the values themselves, which the views hold too, and not their text."""

    table: str
    values: Mapping[str, object]
    checksum: bytes


def encoded(values: Mapping[str, object]) -> dict[str, Column]:
    """The columns of a row as SQLite gives them back: structs as their JSON, true as 1."""
    return {name: _column(value) for name, value in values.items()}


def _column(value: object) -> Column:
    if isinstance(value, msgspec.Struct):
        return msgspec.json.encode(value).decode()
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]


class FileWatch:
    """Notices when somebody else removes, replaces or changes the file. A look costs a system call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._first = _stamp(path)

    def has_changed(self) -> bool:
        return _stamp(self._path) != self._seen

    def accept(self) -> None:
        """The file as it is now is our own doing, or was found to be whole."""
        now = _stamp(self._path)
        if now and self._first and now[:2] == self._first[:2]:
            self._seen = now

    def loss(self, added: Sequence[Added]) -> str:
        """What befell the file, after its name; "" where every row added is in it."""
        now = _stamp(self._path)
        if now is None:
            return "was removed or cannot be reached any more"
        if self._first is None or now[:2] != self._first[:2]:
            return "was replaced by another file"
        try:
            contents = gather(self._path)
        except InUse:
            return ""  # another program adds to it just now; the next look tells
        except SessionError:
            return "was changed by another program and cannot be read any more"
        if contents.is_incomplete:
            return "was changed by another program and is damaged"
        # Of a kernel's specification only the newest is kept.
        rows = (row for row in added if row.table != "kernel")
        if not all(row.checksum in contents.tables[row.table].rows for row in rows):
            return "was changed by another program and lacks results of this run"
        self.accept()
        return ""


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a look at each report
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def rows_to_rescue(
    path: Path, identity: Identity, created_at: str, added: Sequence[Added]
) -> dict[str, list[Row]]:
    """Every row that is left: of before from the file, where it is whole, and of this process from memory."""
    beginning = {"uuid": identity.uuid, "roofscope_version": identity.roofscope_version}
    found: dict[str, dict[object, Row]] = {table: {} for table in OUR_TABLES}
    found["session"][()] = {"created_at": created_at, **beginning}
    for key, value in identity.labels.items():
        found["label"][key] = {"key": key, "value": value}
    for table, rows in _left_in(path, identity).items():
        if table not in ("session", "label"):
            found[table].update({_key(table, row): row for row in rows})
    for table, values, _ in added:
        if table not in PACKED:  # too large to keep in memory as well: only the file has them
            row = encoded(values)
            found[table][_key(table, row)] = row
    points = {row["id"] for row in found["outcome"].values()}  # of others these would say nothing
    for table in _OF_A_POINT:
        found[table] = {key: row for key, row in found[table].items() if row["outcome"] in points}
    return {table: list(rows.values()) for table, rows in found.items()}


def still_kept(added: Sequence[Added], rescued: Mapping[str, Sequence[Row]]) -> list[Added]:
    """What was acknowledged, without the traces and the generated code that were lost with the file."""
    found = {row[CHECKSUM] for table in PACKED for row in rescued[table]}
    points = {row["id"] for row in rescued["outcome"]}

    def is_kept(row: Added) -> bool:
        if row.table in _OF_A_POINT:
            return row.values["outcome"] in points
        return row.table not in PACKED or row.checksum in found

    return list(filter(is_kept, added))


def _left_in(path: Path, identity: Identity) -> dict[str, list[Row]]:
    try:
        contents = gather(path, with_traces=True, in_spite_of_locks=True)
    except SessionError:
        return {}
    uuids = {row.get("uuid") for row in contents.rows("session")}
    if identity.uuid and uuids and identity.uuid.encode() not in uuids:
        return {}  # another session in its place
    return {table: contents.rows(table) for table in OUR_TABLES if table != "tally"}


def _key(table: str, row: Row) -> object:
    """What tells a row from the others of its table, as bytes where it is text."""
    names = {"kernel": ("name",), "source": ("implementation_hash", "name")}.get(table, ("id",))
    values = (row[name] for name in names)
    return tuple(value.encode() if isinstance(value, str) else value for value in values)


def rescue_names(path: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """Names that are free, one a folder: ``a-rescued.roofscope`` for ``a.roofscope``."""
    stem = path.stem.removesuffix("-rescued")
    for folder in dict.fromkeys(folders):
        names = (
            f"{stem}-rescued{f'-{number}' if number > 1 else ''}{path.suffix}"
            for number in range(1, _MOST_NAMES)
        )
        # What may not be looked at is left to the attempt to make it.
        free = next((name for name in names if not os.path.lexists(folder / name)), None)
        if free:
            yield folder / free
