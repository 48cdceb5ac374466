"""What is fuzzed: how a seed makes each input, and what reads it. Named errors are the readers' answer."""

import gzip
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from roofscope.app.presentation.source.generated import joined
from roofscope.app.presentation.source.sheet import SheetLine, sheet_of
from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.planning.formula import FormulaError
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.planning.spec_check import spec_error
from roofscope.profiling.results.chrome_trace import TraceError, read_trace
from roofscope.profiling.results.counters import Counters, KernelCounters
from roofscope.profiling.results.generated import Code, CodeError, CodeKind, pack, unpack
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CacheKey, CeilingCache
from roofscope.profiling.supervision.protocol import (
    Bye,
    CeilingReady,
    Close,
    CodeReady,
    Event,
    Hello,
    Notice,
    OutcomeReady,
    ProofReady,
    Run,
    StageStarted,
    TaskDone,
    TraceReady,
    command_decoder,
    encode,
    event_decoder,
)
from roofscope.tests.fuzz.exercise import (
    shown_as_advice,
    shown_as_csv,
    shown_as_report,
    shown_as_svg,
    shown_as_table,
    shown_compared,
)
from roofscope.tests.fuzz.mutate import changed_bytes, changed_value
from roofscope.tests.fuzz.runner import DIFFERENT
from roofscope.tests.fuzz.sessions import hostile_session
from roofscope.tests.fuzz.stories import changed_story, feed_story
from roofscope.tests.fuzz.timelines import changed_timeline, feed_timeline
from roofscope.tests.sessions import CEILINGS, DEVICE, ENVIRONMENT, SPECS, make_session


class Target(Struct, frozen=True):
    """``feed`` returns "" or what is wrong without an exception."""

    make: Callable[[random.Random], Any]
    feed: Callable[[Any], str]
    count: int  # of inputs that a long run gives it


# Lines


@cache
def messages() -> bytes:
    session = make_session()
    job, eager = session.points[0].job, session.points[2].implementation
    events: list[Event] = [
        Hello(1, ENVIRONMENT, "hash"),
        StageStarted(job.id, Stage.MEASURE, 60.0, eager, "2 in turn"),
        *(OutcomeReady(point.job.id, point.implementation, point.outcome) for point in session.points[5:9]),
        CeilingReady("ceilings", CEILINGS[0]),
        ProofReady("selftest", Proof(ProofName.COLD_CACHE, True, "", "Below.")),
        TraceReady(job.id, eager, gzip.compress(b"{}")),
        CodeReady(job.id, eager, CODES),
        Notice("µ"),
        TaskDone(job.id),
        Bye("done", restart=False),
    ]
    return b"".join(map(encode, events)) + encode(Run(job)) + encode(Close())


def _lines(chance: random.Random) -> tuple[bytes, int]:
    return changed_bytes(messages(), chance), chance.choice((1 << 16, 4096, 999))


def _feed_lines(given: tuple[bytes, int]) -> str:
    data, size = given
    for decoder in (event_decoder("secret"), command_decoder()):
        for at in range(0, len(data), size):
            decoder.feed(data[at : at + size])
    return ""


# Traces


@cache
def trace() -> bytes:
    def event(name: str, cat: str, ts: float, dur: float) -> dict[str, Any]:
        return {
            "ph": "X",
            "cat": cat,
            "name": name,
            "pid": 0,
            "tid": 7,
            "ts": ts,
            "dur": dur,
            "args": {"s": [1]},
        }

    events = [event(f"aten::op{at % 5}", "cpu_op", at * 10.0, 25.0) for at in range(20)]
    events += [event(f"kernel{at % 3}", "kernel", at * 10.0, 4.5) for at in range(10)]
    return json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "t.json"}, indent=1).encode()


def _traces(chance: random.Random) -> bytes:
    match chance.randrange(4):
        case 0:
            return changed_bytes(gzip.compress(trace(), mtime=0), chance)
        case 1:
            return gzip.compress(json.dumps(changed_value(json.loads(trace()), chance)).encode(), 1)
        case _:
            return gzip.compress(changed_bytes(trace(), chance), 1)


def packed(content: bytes) -> bytes:
    return gzip.compress(content, 1)


def _feed_trace(data: bytes) -> str:
    try:
        summary = read_trace(data)
    except TraceError:
        return ""
    total = sum(row.share for row in summary.rows)
    return "" if not summary.rows or 0.999 < total < 1.001 or total == 0 else f"shares sum to {total}"


# Files of our own


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="roofscope-fuzz-"))


def _ceilings(chance: random.Random) -> bytes:
    return changed_json(kept_ceilings(), chance)


@cache
def kept_ceilings() -> bytes:
    cache_ = CeilingCache(print, _folder() / "ceilings")
    cache_.save(_key(), CEILINGS)
    return next(cache_.folder.iterdir()).read_bytes()


@cache
def _key() -> CacheKey:
    return CacheKey.of(DEVICE, "2.11.0")


def _feed_ceilings(data: bytes) -> str:
    kept_ceilings()
    notices: list[str] = []
    kept = CeilingCache(notices.append, _folder() / "ceilings")
    next(kept.folder.iterdir()).write_bytes(data)
    kept.load(_key())
    return ""


def changed_json(good: bytes, chance: random.Random) -> bytes:
    if chance.randrange(2):
        return changed_bytes(good, chance)
    return json.dumps(changed_value(json.loads(good), chance)).encode()


# Specs as data


def _specs(chance: random.Random) -> bytes:
    return changed_json(msgspec.json.encode(chance.choice(SPECS)), chance)


def spec() -> bytes:
    return msgspec.json.encode(SPECS[0])


def _feed_spec(data: bytes) -> str:
    try:
        found = decode(data, KernelSpec)
    except UnreadableError:
        return ""
    if spec_error(found) is None:
        try:
            for preset in found.presets:
                found.problem_with(preset.sizes)
        except FormulaError:
            return ""
    return ""


# Generated code

CODES = (
    Code(CodeKind.TTIR, "_softmax", "%0 = arith.addf %1, %2 : tensor<8xf32> loc(#loc)\n"),
    Code(CodeKind.PTX, "_softmax", ".visible .entry _softmax(\n  .param .u64 x\n) // c\n"),
    Code(CodeKind.SASS, "_softmax", "        /*0010*/  MOV R1, c[0x0][0x28] ;\n"),
    Code(CodeKind.INDUCTOR, "graph 1 of 1", "k = async_compile.triton('k', '''\nimport triton\n''')\n"),
)


def _generated(chance: random.Random) -> bytes:
    if chance.randrange(2):
        return changed_bytes(pack(CODES), chance)
    return packed(json.dumps(changed_value(json.loads(msgspec.json.encode(CODES)), chance)).encode())


def _feed_generated(data: bytes) -> str:
    try:
        codes = unpack(data)
    except CodeError:
        return ""
    for kind in CodeKind:
        if text := joined(codes, kind):
            sheet = sheet_of([text])
            if any(len(line.text) < last for line in sheet.lines for last in _ends(line)):
                return "a word that ends behind its line"
    return ""


def _ends(line: SheetLine) -> list[int]:
    return [start + count for start, count, _ in line.words]


# Sessions

COUNTERS = Counters("Nsight Compute", 4, 1, 1e-5, 6e8, 3e8, 2e9, 3e9, (KernelCounters("k", 1e-5),))


@cache
def _small_session() -> Path:
    """Ten points: of each kind of outcome one, with traces and proofs."""
    path = _folder() / "good.roofscope"
    session = make_session()
    chosen = [session.points[at] for at in (0, 1, 5, 6, 11, 20, 30, 33, 35, 40)]
    with SessionStore.create(path) as store:
        store.add_environment(ENVIRONMENT, DEVICE.id)
        for spec in session.specs.values():
            store.add_kernel(spec)
        for ceiling in session.ceilings:
            store.add_ceiling(ceiling)
        for point in chosen:
            store.add_outcome(point.job, point.implementation, point.outcome)
        store.add_proof(Proof(ProofName.COLD_CACHE, True, "", "Below."))
        store.add_trace(chosen[0].job, chosen[0].implementation, gzip.compress(trace(), mtime=0))
        store.add_code(chosen[0].job, chosen[0].implementation, CODES)
        store.add_counters(1, COUNTERS)
    return path


@cache
def good_bytes() -> bytes:
    return _small_session().read_bytes()


@cache
def _good_session() -> Session:
    return load(_small_session())


def _two_sessions(chance: random.Random) -> tuple[Session, Session]:
    return hostile_session(chance), hostile_session(chance)


def _session_bytes(chance: random.Random) -> bytes:
    return changed_bytes(good_bytes(), chance)


_ROWS = ("session", "environment", "ceiling", "kernel", "job", "outcome", "sample", "trace", "proof", "label")
_TABLES = (*_ROWS, "counters", "outcome", "outcome", "outcome", "job", "ceiling", "environment")


def _session_values(chance: random.Random) -> tuple[str, str, int, Any]:
    """Table, column, row and what the column then holds."""
    connection = sqlite3.connect(_small_session())
    try:
        table = chance.choice(_TABLES)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = chance.choice(columns)
        rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall() or [(0, "")]
        number, value = chance.choice(rows)
    finally:
        connection.close()
    if isinstance(value, str) and value.startswith("{") and chance.randrange(20):
        return table, column, number, json.dumps(changed_value(json.loads(value), chance))
    if isinstance(value, bytes) and chance.randrange(2):
        return table, column, number, changed_bytes(value, chance)
    new = changed_value([value], chance, 1)
    return table, column, number, new[0] if new and not isinstance(new[0], list | dict) else None


def session_with(change: tuple[str, str, int, Any]) -> Path:
    """The small session with one value changed, written past our own store."""
    table, column, number, value = change
    path = _folder() / "changed.roofscope"
    path.write_bytes(good_bytes())
    connection = sqlite3.connect(path)
    try:
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, number))
        connection.commit()
    except (sqlite3.Error, OverflowError, UnicodeError):
        pass  # SQLite itself refuses it
    finally:
        connection.close()
    return path


def _feed_bytes(data: bytes) -> str:
    path = _folder() / "changed.roofscope"
    path.write_bytes(data)
    return _feed_path(path)


def _feed_path(path: Path) -> str:
    try:
        session = load(path)
    except SessionError:
        return ""
    return "" if _is_told(session) or _same(session) else DIFFERENT


def _is_told(session: Session) -> bool:
    """Whether the session says that something of it is damaged."""
    return bool(session.problems)


def _same(session: Session) -> bool:
    good = _good_session()
    fields = (field for field in Session.__struct_fields__ if field != "path")
    return all(getattr(session, field) == getattr(good, field) for field in fields)


TARGETS: dict[str, Target] = {
    "lines": Target(_lines, _feed_lines, 50_000),
    "traces": Target(_traces, _feed_trace, 50_000),
    "timelines": Target(changed_timeline, feed_timeline, 20_000),
    "generated code": Target(_generated, _feed_generated, 50_000),
    "ceilings": Target(_ceilings, _feed_ceilings, 50_000),
    "specs": Target(_specs, _feed_spec, 50_000),
    "stories": Target(changed_story, feed_story, 20_000),
    "session bytes": Target(_session_bytes, _feed_bytes, 50_000),
    "session values": Target(_session_values, lambda change: _feed_path(session_with(change)), 50_000),
    "table": Target(hostile_session, shown_as_table, 50_000),
    "advice": Target(hostile_session, shown_as_advice, 50_000),
    "csv": Target(hostile_session, shown_as_csv, 50_000),
    "compare": Target(_two_sessions, shown_compared, 50_000),
    "report": Target(hostile_session, shown_as_report, 20_000),
    "svg": Target(hostile_session, shown_as_svg, 50_000),
}
