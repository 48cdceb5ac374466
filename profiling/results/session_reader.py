"""Reads session files; docs/session-file.md says what they hold.

A file that is damaged gives what of it is whole, and a sentence that says what is not. What a row holds is
decoded row by row, so that one that no Roofscope wrote costs itself and nothing else.
"""

import re
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field

from roofscope import __version__
from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec
from roofscope.profiling.results import session_check as check
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.generated import Code, CodeError, CodeInfo, unpack
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.outcome import Outcome
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session import Identity, Origin, Point, Session, TraceInfo, timestamp
from roofscope.profiling.results.session_connection import SessionError, Unreadable, reading
from roofscope.profiling.results.session_contents import Contents, gather, in_order
from roofscope.profiling.results.session_problems import problems_of
from roofscope.profiling.results.session_rows import PACKED, Row, digest_of
from roofscope.profiling.results.session_schema import FORMAT_VERSION
from roofscope.profiling.roofline.roofline import Ceiling

Value = TypeVar("Value")
_RELEASE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,5}")
_WRONG = (UnreadableError, UnicodeDecodeError, TypeError, KeyError, check.Impossible)


class Reading(Struct):
    """A session, the rows that it was made of, and how many of each table were left out."""

    session: Session
    kept: dict[str, list[Row]]
    contents: Contents


def load(path: Path) -> Session:
    """Read a whole session. Raises SessionError with one sentence when the file is none.

    ``Session.problems`` says what of a damaged or newer file was left out.
    """
    return read(path).session


def read(path: Path, *, with_traces: bool = False) -> Reading:
    """As ``load``, with the rows behind the session. Raises SessionError."""
    contents = gather(path, with_traces=with_traces)
    return _Maker(path, contents).make()


def load_trace(path: Path, number: int) -> bytes:
    """The gzipped Chrome trace with this number. Raises SessionError."""
    return _packed(path, "trace", number, "trace", "record it again")


def load_code(path: Path, number: int) -> tuple[Code, ...]:
    """The generated code with this number. Raises SessionError."""
    content = _packed(path, "code", number, "generated code", "measure its point again")
    try:
        return unpack(content)
    except CodeError as error:
        raise SessionError(str(error)) from error


def _packed(path: Path, table: str, number: int, noun: str, advice: str) -> bytes:
    row = _stored(path, table, number)
    if row is None:  # there is none, or SQLite cannot find it
        rows = gather(path, with_traces=True).rows(table)
        row = next((row for row in rows if row.get("id") == number), None)
    content = row.get(PACKED[table]) if row else None
    if row is None or not isinstance(content, bytes):
        raise SessionError(f"{path} holds no {noun} {number}, or it is damaged.")
    if "digest" in row and row["digest"] != digest_of(content):
        raise SessionError(f"The {noun} {number} of {path} is damaged; {advice}.")
    return content


def _stored(path: Path, table: str, number: int) -> Row | None:
    try:
        with reading(path) as connection:
            cursor = connection.execute(f"SELECT * FROM {table} WHERE id = ?", (number,))
            names = [column[0] for column in cursor.description]
            values = cursor.fetchone()
    except (sqlite3.Error, Unreadable):
        return None
    return dict(zip(names, values, strict=True)) if values else None


class _NewestOrigin:
    """For a row of an older file, which names no environment: the one that was the newest then."""

    def __init__(self, origins: Sequence[Origin]) -> None:
        self._numbers = [origin.number for origin in origins]
        dates = sorted((origin.recorded_at, place) for place, origin in enumerate(origins))
        self._dates = [date for date, _ in dates]
        self._places = list(accumulate((place for _, place in dates), max))  # the last one until each date

    def at(self, recorded_at: str) -> int | None:
        before = bisect_right(self._dates, recorded_at)
        place = self._places[before - 1] if before else 0
        return self._numbers[place] if self._numbers else None


class _Maker(Struct):
    """Makes a session of rows, and counts those that make nothing."""

    path: Path
    contents: Contents
    kept: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    unknown: Counter[str] = field(default_factory=Counter[str])  # whole rows that this version cannot read
    writers: list[str] = field(default_factory=list[str])  # versions of Roofscope

    def make(self) -> Reading:
        session = Session(self.path, "")
        session.identity, session.created_at = self._identity()
        self.writers.append(session.identity.roofscope_version or "")
        session.origins = self._each("environment", _origin)
        self.writers += {origin.environment.roofscope_version or "" for origin in session.origins}
        session.specs = dict(self._each("kernel", _spec))
        files: dict[str, list[SourceFile]] = {}
        for key, file in sorted(self._each("source", _source), key=lambda source: source[1].name):
            files.setdefault(key, []).append(file)
        session.sources = {key: tuple(found) for key, found in files.items()}
        newest = _NewestOrigin(session.origins)
        ceilings = self._each("ceiling", _ceiling)
        session.ceilings = tuple(ceiling for ceiling, _ in ceilings)
        session.ceiling_origins = tuple(
            number or newest.at(ceiling.recorded_at) for ceiling, number in ceilings
        )
        session.proofs = self._each("proof", _proof)
        jobs = dict(self._each("job", _job))
        session.points = self._each("outcome", lambda row: _point(row, jobs, newest))
        if session.origins:
            last = session.points[-1].origin if session.points else None
            session.know(session.origin(last) or session.origins[-1])
        session.traces = self._each("trace", lambda row: _trace(row, jobs))
        session.codes = self._each("code", lambda row: _code(row, jobs))
        numbers = {point.number for point in session.points}
        marks = dict(self._each("mark", lambda row: _mark(row, numbers)))
        session.marks = {number: mark for number, mark in marks.items() if not mark.is_empty}
        session.delete({number: mark for number, mark in marks.items() if mark.is_deleted})
        session.counters = dict(self._each("counters", lambda row: _counters(row, numbers)))
        session.created_at = session.created_at or self._first_date(session)
        session.problems = problems_of(self.path, self.contents, self.kept, self.unknown)
        session.is_newer = self.contents.version > FORMAT_VERSION
        session.is_damaged = self.contents.is_incomplete or any(
            len(self.kept[name]) + self.unknown[name] < len(self.contents.rows(name)) for name in self.kept
        )
        if session.is_damaged and not (session.jobs or session.proofs or session.traces):
            raise SessionError(f"{self.path} is damaged: no result in it is whole; restore it from a copy.")
        return Reading(session, self.kept, self.contents)

    def _each(self, table: str, make: Callable[[Row], Value]) -> tuple[Value, ...]:
        made: list[Value] = []
        kept = self.kept[table] = []
        for row in in_order(self.contents.rows(table)):
            try:
                made.append(make(row))
                kept.append(row)
            except _WRONG as error:
                self.unknown[table] += self._is_newer(error)
        return tuple(made)

    def _is_newer(self, error: Exception) -> bool:
        """Whether it is no damage: a row whose checksum is right was written so, by a newer Roofscope."""
        if not self.contents.is_sealed or not self._has_newer_writer():
            return False
        misses_a_job = isinstance(error, KeyError) and not self.contents.is_incomplete
        return isinstance(error, UnreadableError) or misses_a_job

    def _has_newer_writer(self) -> bool:
        """Whether a newer Roofscope wrote the file, or measured something in it."""
        writers = map(_release, self.writers)
        return self.contents.version > FORMAT_VERSION or max(writers, default=()) > _release(__version__)

    def _identity(self) -> tuple[Identity, str]:
        labels = dict(self._each("label", lambda row: (_text(row, "key"), _text(row, "value"))))
        found = self._each("session", _beginning)
        uuid, version, created_at = found[0] if found else (None, None, "")
        return Identity(uuid, version, labels), created_at

    def _first_date(self, session: Session) -> str:
        """The date of a session whose own row is lost: that of its oldest row, else of the file."""
        dates = [row.recorded_at for row in (*session.origins, *session.points)]
        if dates:
            return min(dates)
        with suppress(OSError):
            changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
            return changed.isoformat(timespec="milliseconds")
        return timestamp()


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare them: of 1.10rc1 the same as of 1.10."""
    found = _RELEASE.match(version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _beginning(row: Row) -> tuple[str | None, str | None, str]:
    uuid = _text(row, "uuid") if row.get("uuid") is not None else None
    version = _text(row, "roofscope_version") if row.get("roofscope_version") is not None else None
    return uuid, version, _date(row, "created_at")


def _origin(row: Row) -> Origin:
    environment = check.check_environment(_value(row, "value", Environment))
    return Origin(_number(row, "id"), environment, _text(row, "device_id"), _date(row, "recorded_at"))


def _spec(row: Row) -> tuple[str, KernelSpec]:
    return _text(row, "name"), check.check_spec(_value(row, "spec", KernelSpec))


def _source(row: Row) -> tuple[str, SourceFile]:
    file = SourceFile(_text(row, "name"), _text(row, "sha256"), _text(row, "text"))
    return _text(row, "implementation_hash"), file


def _ceiling(row: Row) -> tuple[Ceiling, int | None]:
    return check.check_ceiling(_value(row, "value", Ceiling)), _origin_number(row)


def _proof(row: Row) -> Proof:
    return check.check_proof(_value(row, "value", Proof))


def _job(row: Row) -> tuple[int, Job]:
    return _number(row, "id"), check.check_job(_value(row, "value", Job))


def _point(row: Row, jobs: dict[int, Job], newest: _NewestOrigin) -> Point:
    recorded_at = _date(row, "recorded_at")
    return Point(
        _number(row, "id"),
        jobs[_number(row, "job")],
        _value(row, "implementation", Implementation),
        check.check_outcome(_value(row, "value", Outcome)),  # type: ignore[arg-type]
        recorded_at,
        _origin_number(row) or newest.at(recorded_at),
    )


def _trace(row: Row, jobs: dict[int, Job]) -> TraceInfo:
    return TraceInfo(
        _number(row, "id"),
        jobs[_number(row, "job")],
        _value(row, "implementation", Implementation),
        _date(row, "recorded_at"),
        _number(row, "byte_count"),
    )


def _code(row: Row, jobs: dict[int, Job]) -> CodeInfo:
    return CodeInfo(
        _number(row, "id"),
        jobs[_number(row, "job")],
        _value(row, "implementation", Implementation),
        _date(row, "recorded_at"),
        _number(row, "byte_count"),
    )


def _mark(row: Row, numbers: set[int]) -> tuple[int, Mark]:
    """Raises KeyError where its point is lost: a later one may get that number."""
    number = _number(row, "outcome")
    if number not in numbers:
        raise KeyError(number)
    return number, check.check_mark(_value(row, "value", Mark))


def _counters(row: Row, numbers: set[int]) -> tuple[int, Counters]:
    """Raises KeyError where its point is lost: a later one may get that number."""
    number = _number(row, "outcome")
    if number not in numbers:
        raise KeyError(number)
    return number, check.check_counters(_value(row, "value", Counters))


def _origin_number(row: Row) -> int | None:
    return None if row.get("environment") is None else _number(row, "environment")


def _value(row: Row, name: str, kind: type[Value]) -> Value:
    return decode(_bytes(row, name), kind)


def _date(row: Row, name: str) -> str:
    return check.check_date(_text(row, name))


def _text(row: Row, name: str) -> str:
    return _bytes(row, name).decode()


def _bytes(row: Row, name: str) -> bytes:
    """SQLite's columns hold whatever was put into them."""
    value = row[name]
    if not isinstance(value, bytes):
        raise TypeError(f"{name} is no text")
    return value


def _number(row: Row, name: str) -> int:
    value = row[name]
    if not isinstance(value, int):
        raise TypeError(f"{name} is no whole number")
    return value
