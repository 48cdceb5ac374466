"""The session file: what goes in comes out, whatever happens in between."""

import contextlib
import os
import signal
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_connection import reading
from roofscope.profiling.results.session_reader import SessionError, load, load_trace
from roofscope.profiling.results.session_rows import checksum_of
from roofscope.profiling.results.session_schema import FORMAT_VERSION
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.children import python
from roofscope.tests.sessions import make_session, write_session


def comparable(session: Session) -> list[tuple[object, ...]]:
    return [(point.number, point.job, point.implementation, point.outcome) for point in session.points]


def test_a_session_survives_the_file(tmp_path: Path) -> None:
    session, path = make_session(), tmp_path / "a.roofscope"
    write_session(session, path)
    loaded = load(path)
    assert comparable(loaded) == comparable(session)
    assert loaded.environment == session.environment
    assert loaded.device == session.device
    assert loaded.specs == session.specs
    assert loaded.ceilings == session.ceilings
    assert sorted(tmp_path.iterdir()) == [path]  # no log beside a closed session


def test_samples_can_be_read_by_any_sqlite_tool(tmp_path: Path) -> None:
    session, path = make_session(), tmp_path / "a.roofscope"
    write_session(session, path)
    count = sum(len(point.measured.time.samples_s) for point in session.points if point.measured)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM sample").fetchone() == (count,)
    connection.close()


def test_sources_and_traces_are_kept(tmp_path: Path) -> None:
    point, path = make_session().points[0], tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        store.add_sources(point.implementation, [SourceFile("eager.py", "ab", "def run(): ...")])
        trace = store.add_trace(point.job, point.implementation, b"gzip")
    loaded = load(path)
    assert loaded.sources[point.implementation.source_hash][0].text == "def run(): ..."
    assert [found.number for found in loaded.traces] == [trace.number]
    assert load_trace(path, trace.number) == b"gzip"
    with pytest.raises(SessionError, match="holds no trace 7"):
        load_trace(path, 7)


def test_saving_elsewhere_copies_all_and_appending_goes_on(tmp_path: Path) -> None:
    session = make_session()
    first, second = tmp_path / "a.roofscope", tmp_path / "b.roofscope"
    write_session(session, first)
    point = session.points[0]
    with SessionStore.append(first) as store:
        store.add_outcome(point.job, point.implementation, point.outcome)
        store.save_as(second)
    assert len(load(second).points) == len(session.points) + 1
    assert comparable(load(second)) == comparable(load(first))


_WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.sessions import make_session
store = SessionStore.create(Path(sys.argv[1]))
for point in make_session().points[:5]:
    store.add_outcome(point.job, point.implementation, point.outcome)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_writer_killed_in_mid_run_loses_nothing_committed(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    died = subprocess.run([*python(_WRITE_AND_DIE), path], check=False)
    assert died.returncode == -signal.SIGKILL
    assert len(load(path).points) == 5
    with SessionStore.append(path):
        pass
    assert len(load(path).points) == 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a Roofscope session"),
        (b"not a database at all, but long enough to be read as one" * 40, "not a Roofscope session"),
    ],
)
def test_a_foreign_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a.roofscope"
    path.write_bytes(content)
    with pytest.raises(SessionError, match=words):
        load(path)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE session (x)")
    connection.close()
    with pytest.raises(SessionError, match="not a Roofscope session"):
        load(path)


def test_of_a_truncated_session_the_whole_rows_are_read(tmp_path: Path) -> None:
    path, session = tmp_path / "a.roofscope", make_session()
    write_session(session, path)
    os.truncate(path, path.stat().st_size * 3 // 4)
    found = load(path)
    assert 0 < len(found.points) < len(session.points)
    originals = comparable(session)
    assert all(point in originals for point in comparable(found))
    lost = len(session.points) - len(found.points)
    assert found.problems[0].startswith(f"{lost} of {len(session.points)} points")


def test_an_outcome_without_its_job_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    write_session(make_session(), path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM job WHERE id = 2")
    connection.close()
    found = load(path)
    assert len(found.points) == 40
    assert found.problems[0].startswith("4 of 44 points and 1 of 11 jobs are damaged and left out; save what")


def test_a_full_disk_costs_one_point_and_not_the_session(tmp_path: Path) -> None:
    path, point = tmp_path / "a.roofscope", make_session().points[0]
    job = msgspec.structs.replace(point.job, implementations=(point.implementation,))
    assert point.measured
    time = msgspec.structs.replace(point.measured.time, samples_s=(1e-3,) * 5000)
    large = msgspec.structs.replace(point.measured, time=time)
    with SessionStore.create(path) as store:
        [page_count] = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {page_count}")
        with pytest.raises(SessionError, match="cannot be written: database or disk is full"):
            store.add_outcome(job, point.implementation, large)  # the job has room, the outcome has not
        store._connection.execute(f"PRAGMA max_page_count = {page_count + 1000}")
        store.add_outcome(job, point.implementation, large)
    assert [(kept.job, kept.outcome) for kept in load(path).points] == [(job, large)]


def test_a_file_locked_by_another_program_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path, point = tmp_path / "a.roofscope", make_session().points[0]
    with SessionStore.create(path) as store, contextlib.closing(sqlite3.connect(path)) as other:
        store._connection.execute("PRAGMA busy_timeout = 0")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SessionError, match="cannot be written: database is locked"):
            store.add_outcome(point.job, point.implementation, point.outcome)
        other.rollback()
        store.add_outcome(point.job, point.implementation, point.outcome)
    assert len(load(path).points) == 1


def test_a_newer_format_opens_for_viewing_and_says_so(tmp_path: Path) -> None:
    path, session = tmp_path / "a.roofscope", make_session()
    write_session(session, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE outcome ADD COLUMN mood TEXT")
        connection.execute("CREATE TABLE mood (id INTEGER PRIMARY KEY)")
        connection.execute("PRAGMA user_version = 99")
    found = load(path)
    assert comparable(found) == comparable(session)
    assert found.is_newer
    assert not found.is_damaged
    [said] = found.problems
    assert said.startswith(f"{path} has session format 99, this Roofscope knows {FORMAT_VERSION}: it is for ")
    assert said.endswith(" viewing only; update Roofscope.")
    with pytest.raises(SessionError, match="newer Roofscope"):
        SessionStore.append(path)


@pytest.mark.parametrize("is_newer", [True, False])
def test_a_point_of_a_kind_that_only_newer_versions_know_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_newer: bool
) -> None:
    path, session = tmp_path / "a.roofscope", make_session()
    if is_newer:
        monkeypatch.setattr("roofscope.profiling.results.session_writer.__version__", "999.1.dev2")
    write_session(session, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(outcome)")]
        row = dict(
            zip(names, connection.execute("SELECT * FROM outcome WHERE id = 3").fetchone(), strict=True)
        )
        row["implementation"] = row["implementation"].replace('"provider":"eager"', '"provider":"abacus"')
        connection.execute(
            "UPDATE outcome SET implementation = ?, checksum = ? WHERE id = 3",
            (row["implementation"], checksum_of("outcome", row)),
        )
    found = load(path)
    assert len(found.points) == len(session.points) - 1
    assert found.is_damaged is not is_newer  # this very version cannot have written it
    words = "1 of 44 points that it does not know" if is_newer else "1 of 44 points is damaged"
    assert words in found.problems[0]


def test_missing_files_and_unwritable_places(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="There is no file"):
        load(tmp_path / "none.roofscope")
    with pytest.raises(SessionError, match="cannot be read: File name too long"):
        load(tmp_path / ("x" * 300))
    (tmp_path / "file").write_text("x")
    with pytest.raises(SessionError, match="cannot be written"):
        SessionStore.create(tmp_path / "file" / "a.roofscope")
    SessionStore.create(tmp_path / "a.roofscope").close()
    with pytest.raises(SessionError, match="exists already"):
        SessionStore.create(tmp_path / "a.roofscope")


def test_what_a_killed_run_left_is_read_from_a_read_only_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its header still says that there is a log, and SQLite would make one: nobody may write there."""
    path = tmp_path / "a.roofscope"
    write_session(make_session(), path)
    with contextlib.closing(sqlite3.connect(path)) as killed:
        killed.execute("PRAGMA journal_mode = WAL")
    seen: list[str] = []
    real = sqlite3.connect

    def connect(place: str, **options: Any) -> sqlite3.Connection:
        seen.append(place)
        return real(place, **options)

    monkeypatch.setattr(sqlite3, "connect", connect)
    monkeypatch.setattr(os, "access", lambda _, how: how != os.W_OK)
    assert len(load(path).points) == len(make_session().points)
    assert seen[0].endswith("?mode=ro&immutable=1")
    path.with_name("a.roofscope-wal").write_bytes(b"")  # what is in a log would not be read so
    load(path)
    assert seen[1].endswith("?mode=ro")


def test_a_session_in_a_read_only_place_is_read_under_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A colleague's run may be adding to it, and a file read without a lock in mid-commit looks damaged."""
    path = tmp_path / "a.roofscope"
    write_session(make_session(), path)
    monkeypatch.setattr(os, "access", lambda _, how: how != os.W_OK)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as writer:
        with reading(path) as connection:
            connection.execute("SELECT * FROM session").fetchall()
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                writer.execute("BEGIN EXCLUSIVE")
        writer.execute("BEGIN EXCLUSIVE")


def test_a_session_that_another_program_holds_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    write_session(make_session(), path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SessionError, match="in use by another program"):
            load(path)
