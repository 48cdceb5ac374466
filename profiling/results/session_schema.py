"""The tables of a session file, their versions, and what a file of that name may not hold.

Documented in docs/session-file.md. Version 2 brought the session's UUID, Roofscope's version, labels and
the view ``point``; version 3 the environment of each outcome and ceiling; version 4 the checksum of each row
and the tally of rows; version 5 generated code and marks; version 6 counters. Everything else is as in
version 1.
"""

import re
import sqlite3
from collections.abc import Mapping
from uuid import uuid4

from roofscope.profiling.results.session_rows import CHECKSUM, TALLY, add_row, digest_of, recount, seal_rows

FORMAT_VERSION = 6
APPLICATION_ID = 0x526F6F66  # "Roof": tells our files from other SQLite databases
PAGE_BYTES = 4096  # SQLite's default, stated because what is salvaged page by page relies on it

_TABLES = """
CREATE TABLE session (created_at TEXT NOT NULL, uuid TEXT, roofscope_version TEXT, checksum BLOB);
CREATE TABLE environment (
  id INTEGER PRIMARY KEY, device_id TEXT NOT NULL, value TEXT NOT NULL, recorded_at TEXT NOT NULL,
  checksum BLOB);
CREATE TABLE ceiling (
  id INTEGER PRIMARY KEY, value TEXT NOT NULL, environment INTEGER REFERENCES environment, checksum BLOB);
CREATE TABLE proof (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, passed INTEGER, value TEXT NOT NULL, recorded_at TEXT NOT NULL,
  checksum BLOB);
CREATE TABLE kernel (name TEXT PRIMARY KEY, spec TEXT NOT NULL, checksum BLOB);
CREATE TABLE source (
  implementation_hash TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, text TEXT NOT NULL,
  checksum BLOB, PRIMARY KEY (implementation_hash, name));
CREATE TABLE label (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB);
CREATE TABLE job (id INTEGER PRIMARY KEY, value TEXT NOT NULL, checksum BLOB);
CREATE TABLE outcome (
  id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES job, implementation TEXT NOT NULL,
  kind TEXT NOT NULL, median_s REAL, value TEXT NOT NULL, recorded_at TEXT NOT NULL,
  environment INTEGER REFERENCES environment, checksum BLOB);
"""
# The trace itself comes last: a column behind it is found only by reading all of its pages.
_TRACE = """
CREATE TABLE trace (
  id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES job, implementation TEXT NOT NULL,
  recorded_at TEXT NOT NULL, byte_count INTEGER, digest BLOB, checksum BLOB, chrome_json_gz BLOB NOT NULL);
"""
_TRACE_BEFORE = "id, job, implementation, recorded_at, chrome_json_gz"  # its columns up to version 3
# As a trace: what is packed comes last.
_CODE = """
CREATE TABLE code (
  id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES job, implementation TEXT NOT NULL,
  recorded_at TEXT NOT NULL, byte_count INTEGER, digest BLOB, checksum BLOB, codes_json_gz BLOB NOT NULL);
"""
_MARK = """
CREATE TABLE mark (
  id INTEGER PRIMARY KEY, outcome INTEGER NOT NULL REFERENCES outcome, value TEXT NOT NULL,
  recorded_at TEXT NOT NULL, checksum BLOB);
"""
_COUNTERS = """
CREATE TABLE counters (
  id INTEGER PRIMARY KEY, outcome INTEGER NOT NULL REFERENCES outcome, value TEXT NOT NULL,
  recorded_at TEXT NOT NULL, checksum BLOB);
"""
_TALLY = "CREATE TABLE tally (name TEXT PRIMARY KEY, row_count INTEGER NOT NULL, checksum BLOB);"
# For other programs. The blocks' times stand in the outcome and nowhere else, so that they cannot differ.
_SAMPLE = """
CREATE VIEW sample AS
SELECT outcome.id AS outcome, block.key AS block, block.value AS seconds
FROM outcome, json_each(outcome.value, '$.time.samples_s') AS block;
"""
# What files of version 1 lack; some of them have proofs.
_PROOF = """
CREATE TABLE IF NOT EXISTS proof (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, passed INTEGER, value TEXT NOT NULL, recorded_at TEXT NOT NULL);
"""
_LABEL = "CREATE TABLE label (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
_IDENTITY = """
ALTER TABLE session ADD COLUMN uuid TEXT;
ALTER TABLE session ADD COLUMN roofscope_version TEXT;
"""
# What files of versions 1 and 2 lack.
_ORIGIN = """
ALTER TABLE ceiling ADD COLUMN environment INTEGER REFERENCES environment;
ALTER TABLE outcome ADD COLUMN environment INTEGER REFERENCES environment;
"""
# For their rows: the environment that was the newest then, as the reader takes it.
_ORIGIN_OF_OLD_ROWS = """
UPDATE {table} SET environment = coalesce(
  (SELECT id FROM environment WHERE recorded_at <= {recorded_at} ORDER BY id DESC LIMIT 1),
  (SELECT min(id) FROM environment));
"""
# For people and other programs; Roofscope reads the tables. The names are those of the export's columns.
_POINT = """
CREATE VIEW point AS
WITH found AS (
  SELECT outcome.*, job.value AS job_value,
    json_extract(implementation, '$.provider') AS provider,
    json_extract(implementation, '$.variant') AS variant,
    json_extract(job.value, '$.work.flop_count') AS flop_count,
    json_extract(job.value, '$.work.read_bytes') AS read_bytes,
    json_extract(job.value, '$.work.write_bytes') AS write_bytes
  FROM outcome JOIN job ON job.id = outcome.job)
SELECT
  id AS number, recorded_at,
  json_extract(implementation, '$.kernel') AS kernel,
  provider || iif(variant = '', '', '_' || variant) AS implementation,
  provider, variant,
  json_extract(job_value, '$.workload.dtype') AS dtype,
  (SELECT group_concat(key || '=' || value, ', ') FROM json_each(job_value, '$.workload.sizes')) AS sizes,
  json_extract(job_value, '$.regime') AS regime,
  json_extract(job_value, '$.quality') AS quality,
  kind AS outcome,
  json_extract(value, '$.kind') AS outcome_kind,
  json_extract(value, '$.stage') AS stage,
  json_extract(value, '$.message') AS message,
  flop_count, read_bytes, write_bytes,
  median_s,
  iif(json_array_length(value, '$.time.rounds') BETWEEN 1 AND 4, NULL, json_extract(value, '$.time.low_s'))
    AS low_s,
  iif(json_array_length(value, '$.time.rounds') BETWEEN 1 AND 4, NULL, json_extract(value, '$.time.high_s'))
    AS high_s,
  json_extract(value, '$.host_s') AS host_s,
  json_extract(value, '$.energy.joules_per_call') AS energy_j,
  json_extract(value, '$.verification.relative_error') AS relative_error,
  (read_bytes + write_bytes) / median_s AS achieved_bandwidth_byte_per_s,
  flop_count / median_s AS achieved_flop_per_s,
  json_extract(implementation, '$.source_hash') AS source_sha256,
  environment
FROM found;
"""

# In the order in which a reader needs them; the tally counts the rows of the others.
OUR_TABLES = (
    *("session", "label", "environment", "kernel", "source", "ceiling", "proof", "job", "outcome", "trace"),
    *("code", "mark", "counters"),
    TALLY,
)
SEALED_SINCE = 4  # the version that brought checksums and the tally
ADDED_IN = {"code": 5, "mark": 5, "counters": 6}  # tables that sealed files of an older version lack
# Words of a table's statement that would compute when its rows are read or added.
_ACTING = frozenset({"CHECK", "DEFAULT", "GENERATED", "AS", "COLLATE", "CONSTRAINT", "CONFLICT"})
_PLAIN = re.compile(r"CREATE TABLE \"?\w+\"?\s*\([\w\s(),]+\)\s*", re.IGNORECASE)


def make_tables(connection: sqlite3.Connection) -> None:
    """All tables of a new file, in a transaction that stays open for the rows that belong to it."""
    connection.executescript(
        f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA application_id = {APPLICATION_ID};"
        f"BEGIN; PRAGMA user_version = {FORMAT_VERSION}; {_TABLES} {_TRACE} {_CODE} {_MARK} {_COUNTERS} "
        f"{_TALLY} {_SAMPLE} {_POINT}"
    )


def create_schema(
    connection: sqlite3.Connection, created_at: str, roofscope_version: str, labels: Mapping[str, str]
) -> None:
    """All tables, the session's row and its labels."""
    make_tables(connection)
    row = {"created_at": created_at, "uuid": str(uuid4()), "roofscope_version": roofscope_version}
    add_row(connection, "session", row)
    for key, value in labels.items():
        add_row(connection, "label", {"key": key, "value": value})
    recount_all(connection)
    connection.execute("COMMIT")


def recount_all(connection: sqlite3.Connection) -> None:
    recount(connection, OUR_TABLES)


def lift_schema(connection: sqlite3.Connection) -> None:
    """Bring an older file, which is about to be added to, to this version, at once or not at all.

    Its rows stay as they are but for the columns that they gain. It gets a UUID; which Roofscope began it
    stays unknown.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == FORMAT_VERSION:
        return
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {_steps_from(version)}")
        if version < SEALED_SINCE:
            _seal(connection)
        recount_all(connection)
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _seal(connection: sqlite3.Connection) -> None:
    """Give the rows of a file that has none their checksums."""
    connection.execute("UPDATE session SET uuid = ? WHERE uuid IS NULL", (str(uuid4()),))
    for number, trace in connection.execute("SELECT id, chrome_json_gz FROM trace").fetchall():
        if not isinstance(trace, bytes):
            raise sqlite3.DatabaseError(f"trace {number} holds no bytes")
        connection.execute(
            "UPDATE trace SET byte_count = ?, digest = ? WHERE id = ?", (len(trace), digest_of(trace), number)
        )
    seal_rows(connection, OUR_TABLES)


def tables_of(version: int) -> tuple[str, ...]:
    """Those that a sealed file of this version must have."""
    return tuple(name for name in OUR_TABLES if ADDED_IN.get(name, 0) <= version)


def _steps_from(version: int) -> str:
    """The statements that give an older file the tables and columns of this version."""
    if version >= SEALED_SINCE:
        return _COUNTERS if version >= ADDED_IN["mark"] else f"{_CODE} {_MARK} {_COUNTERS}"
    of_outcomes = _ORIGIN_OF_OLD_ROWS.format(table="outcome", recorded_at="outcome.recorded_at")
    of_ceilings = _ORIGIN_OF_OLD_ROWS.format(
        table="ceiling", recorded_at="json_extract(ceiling.value, '$.recorded_at')"
    )
    sealed = [name for name in OUR_TABLES if name not in ("trace", *ADDED_IN, TALLY)]
    return " ".join(
        (
            "DROP VIEW IF EXISTS point;",
            f"{_IDENTITY} {_PROOF} {_LABEL}" if version < 2 else "",
            f"{_ORIGIN} {of_outcomes} {of_ceilings}" if version < 3 else "",
            *(f"ALTER TABLE {name} ADD COLUMN {CHECKSUM} BLOB;" for name in sealed),
            _TRACE.replace("TABLE trace", "TABLE lifted"),
            f"INSERT INTO lifted ({_TRACE_BEFORE}) SELECT {_TRACE_BEFORE} FROM trace;",
            "DROP TABLE trace; ALTER TABLE lifted RENAME TO trace; DROP TABLE sample;",
            f"{_CODE} {_MARK} {_COUNTERS} {_TALLY} {_SAMPLE} {_POINT}",
        )
    )


def schema_fault(connection: sqlite3.Connection) -> str | None:
    """What in a file no Roofscope wrote and would act when its tables are read or written; None if nothing.

    A view in a table's place can count without end, a trigger can delete what is added, an index or a CHECK
    can compute. Views and tables of other names do nothing unasked, and Roofscope reads no view.
    """
    for kind, name, table, statement in connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master"
    ):
        if kind == "trigger":
            return f"the trigger {name!r}"
        if str(table).lower() not in OUR_TABLES:
            continue
        if kind == "index":
            if statement is not None:  # SQLite's own, of a primary key, has no statement
                return f"the index {name!r}"
        elif kind != "table" or not _PLAIN.fullmatch(str(statement)):
            return f"{name!r}, which is no plain table"
        elif found := _ACTING.intersection(re.findall(r"\w+", str(statement).upper())):
            return f"a table {name!r} with {min(found)}"
    return None
