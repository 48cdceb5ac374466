"""The tables of a session file, their versions, and what a file of that name may not hold.

Documented in docs/session-file.md. Version 2 brought the session's UUID, Roofscope's version, labels and
the view ``point``; version 3 the environment of each outcome and ceiling. Everything else is as in version 1.
"""

import sqlite3
from collections.abc import Mapping
from uuid import uuid4

FORMAT_VERSION = 3
APPLICATION_ID = 0x526F6F66  # "Roof": tells our files from other SQLite databases

_TABLES = """
CREATE TABLE session (created_at TEXT NOT NULL, uuid TEXT, roofscope_version TEXT);
CREATE TABLE environment (
  id INTEGER PRIMARY KEY, device_id TEXT NOT NULL, value TEXT NOT NULL, recorded_at TEXT NOT NULL);
CREATE TABLE ceiling (
  id INTEGER PRIMARY KEY, value TEXT NOT NULL, environment INTEGER REFERENCES environment);
CREATE TABLE kernel (name TEXT PRIMARY KEY, spec TEXT NOT NULL);
CREATE TABLE source (
  implementation_hash TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (implementation_hash, name));
CREATE TABLE job (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE outcome (
  id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES job, implementation TEXT NOT NULL,
  kind TEXT NOT NULL, median_s REAL, value TEXT NOT NULL, recorded_at TEXT NOT NULL,
  environment INTEGER REFERENCES environment);
CREATE TABLE sample (
  outcome INTEGER NOT NULL REFERENCES outcome, block INTEGER NOT NULL, seconds REAL NOT NULL);
CREATE TABLE trace (
  id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES job, implementation TEXT NOT NULL,
  recorded_at TEXT NOT NULL, chrome_json_gz BLOB NOT NULL);
"""
# What files of version 1 lack; some of them have proofs.
_PROOF = """
CREATE TABLE IF NOT EXISTS proof (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, passed INTEGER, value TEXT NOT NULL, recorded_at TEXT NOT NULL);
"""
_IDENTITY = """
ALTER TABLE session ADD COLUMN uuid TEXT;
ALTER TABLE session ADD COLUMN roofscope_version TEXT;
"""
# What files of versions 1 and 2 lack.
_ORIGIN = """
ALTER TABLE ceiling ADD COLUMN environment INTEGER REFERENCES environment;
ALTER TABLE outcome ADD COLUMN environment INTEGER REFERENCES environment;
DROP VIEW IF EXISTS point;
"""
# For their rows: the environment that was the newest then, as the reader takes it.
_ORIGIN_OF_OLD_ROWS = """
UPDATE {table} SET environment = coalesce(
  (SELECT id FROM environment WHERE recorded_at <= {recorded_at} ORDER BY id DESC LIMIT 1),
  (SELECT min(id) FROM environment));
"""
_LABEL = "CREATE TABLE label (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
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

OUR_TABLES = (
    *("session", "environment", "ceiling", "kernel", "source", "job", "outcome", "sample", "trace"),
    *("proof", "label"),
)


def create_schema(
    connection: sqlite3.Connection, created_at: str, roofscope_version: str, labels: Mapping[str, str]
) -> None:
    """All tables and the session's row, at once: a program killed meanwhile leaves an empty file."""
    header = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT_VERSION};"
    connection.executescript(f"BEGIN; {header} {_TABLES} {_PROOF} {_LABEL} {_POINT}")
    connection.execute("INSERT INTO session VALUES (?, ?, ?)", (created_at, str(uuid4()), roofscope_version))
    connection.executemany("INSERT INTO label VALUES (?, ?)", labels.items())
    connection.execute("COMMIT")


def lift_schema(connection: sqlite3.Connection) -> None:
    """Bring an older file, which is about to be added to, to this version, at once or not at all.

    Its rows stay as they are. It gets a UUID; which Roofscope began it stays unknown.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == FORMAT_VERSION:
        return
    of_outcomes = _ORIGIN_OF_OLD_ROWS.format(table="outcome", recorded_at="outcome.recorded_at")
    of_ceilings = _ORIGIN_OF_OLD_ROWS.format(
        table="ceiling", recorded_at="json_extract(ceiling.value, '$.recorded_at')"
    )
    older = f"{_IDENTITY} {_PROOF} {_LABEL}" if version < 2 else ""
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {older} {_ORIGIN} {_POINT} {of_outcomes} {of_ceilings}")
        connection.execute("UPDATE session SET uuid = ? WHERE uuid IS NULL", (str(uuid4()),))
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def schema_fault(connection: sqlite3.Connection) -> str | None:
    """What in a file no Roofscope wrote and would act when its tables are read or written; None if nothing.

    A view in a table's place can count without end, a trigger can delete what is added. Views and tables of
    other names do nothing unasked, and the view ``point`` is never read by Roofscope.
    """
    for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind == "trigger":
            return f"the trigger {name!r}"
        if str(name).lower() not in OUR_TABLES:
            continue
        if kind != "table" or not str(statement).upper().startswith("CREATE TABLE"):
            return f"{name!r}, which is no plain table"
        if connection.execute("SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden", (name,)).fetchone():
            return f"computed columns in the table {name!r}"
    return None
