"""Sessions of every earlier format, recorded by the Roofscope of their time, open and can be added to."""

import contextlib
import gzip
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.session_reader import SessionError, load, load_code, load_trace
from roofscope.profiling.results.session_schema import FORMAT_VERSION, lift_schema
from roofscope.profiling.results.session_writer import SessionStore, copy
from roofscope.tests.children import python
from roofscope.tests.sessions import make_session

DATA = Path(__file__).parents[1] / "data" / "sessions"
POINT = make_session().points[0]


def recorded(version: int, folder: Path) -> Path:
    path = folder / f"format-{version}.roofscope"
    if version == 1:
        return Path(shutil.copyfile(ASSETS / "sessions" / "h200-gelu.roofscope", path))
    path.write_bytes(gzip.decompress((DATA / f"{path.name}.gz").read_bytes()))
    return path


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_an_older_session_opens_as_before(version: int, tmp_path: Path) -> None:
    path = recorded(version, tmp_path)
    before = path.read_bytes()
    session = load(path)
    assert (session.problems, session.is_damaged, session.is_newer) == ((), False, False)
    assert len(session.points) == {1: 14, 2: 6, 3: 6, 4: 6}[version]
    assert path.read_bytes() == before
    if version > 1:
        assert session.identity.labels == {"commit": "abc"}
        measured = session.points[0].measured
        assert measured
        assert POINT.measured
        assert measured.time == POINT.measured.time
        assert load_trace(path, 1) == b"gzip"


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_an_older_session_that_is_added_to_keeps_all_and_gets_checksums(version: int, tmp_path: Path) -> None:
    path = recorded(version, tmp_path)
    before = load(path)
    with SessionStore.append(path) as store:
        store.add_outcome(POINT.job, POINT.implementation, POINT.outcome)
    after = load(path)
    assert after.points[:-1] == before.points
    assert (after.ceilings, after.ceiling_origins) == (before.ceilings, before.ceiling_origins)
    assert (after.specs, after.sources, after.proofs) == (before.specs, before.sources, before.proofs)
    assert [trace.byte_count for trace in after.traces] == [trace.byte_count for trace in before.traces]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT_VERSION,)
        [samples] = connection.execute("SELECT count(*) FROM sample").fetchone()
        connection.execute("UPDATE outcome SET median_s = 1 WHERE id = 2")
    assert samples == sum(len(point.measured.time.samples_s) for point in after.points if point.measured)
    assert load(path).problems[0].startswith("1 of ")


def test_a_damaged_row_of_an_older_session_is_left_out_and_said(tmp_path: Path) -> None:
    path = recorded(3, tmp_path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE outcome SET value = ? WHERE id = 2", ("[" * 100_000,))
        connection.execute("UPDATE job SET value = cast(x'ff' AS TEXT) WHERE id = 2")
        connection.execute("UPDATE session SET created_at = 7")
    session = load(path)
    assert len(session.points) < 5
    assert session.is_damaged
    assert session.problems[0].startswith("3 of 6 points, 1 of 2 jobs and the session's date and UUID are")
    assert session.created_at == session.origins[0].recorded_at


@pytest.mark.parametrize("value", ["7", "'text'", "0.5"])
def test_a_trace_of_an_older_session_that_holds_no_bytes_is_left_out_and_not_lifted(
    tmp_path: Path, value: str
) -> None:
    path = recorded(3, tmp_path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE trace SET chrome_json_gz = {value}")
        session = load(path)
        assert session.traces == ()
        assert session.problems[0].startswith("1 of 1 trace is damaged and left out")
        assert len(session.points) == 6
        with pytest.raises(SessionError, match=r"Nothing can be added to .* is damaged"):
            SessionStore.append(path)
        with pytest.raises(sqlite3.DatabaseError, match="trace 1 holds no bytes"):
            lift_schema(connection)
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
        assert not connection.in_transaction
    copy(path, tmp_path / "whole.roofscope")
    assert load(tmp_path / "whole.roofscope").problems == ()


_WRITE_WITH_A_LOG_AND_DIE = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("UPDATE session SET created_at = '2020-01-01T00:00:00+00:00'")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_log_that_an_older_version_left_when_it_was_killed_is_read_and_folded(tmp_path: Path) -> None:
    path = recorded(3, tmp_path)
    subprocess.run([*python(_WRITE_WITH_A_LOG_AND_DIE), path], check=False)
    assert path.with_name(f"{path.name}-wal").stat().st_size
    assert load(path).created_at == "2020-01-01T00:00:00+00:00"
    SessionStore.append(path).close()
    assert list(tmp_path.iterdir()) == [path]
    assert load(path).created_at == "2020-01-01T00:00:00+00:00"


def test_a_session_without_generated_code_is_whole_and_takes_some(tmp_path: Path) -> None:
    """The table came with format 5: a file of format 4 has checksums and a tally, and lacks no row."""
    path = recorded(4, tmp_path)
    before = load(path)
    assert (before.codes, before.problems, before.is_damaged) == ((), (), False)
    codes = (Code(CodeKind.PTX, "softmax", "// PTX"),)
    with SessionStore.append(path) as store:
        kept = store.add_code(POINT.job, POINT.implementation, codes)
    after = load(path)
    assert (after.codes, after.problems, after.is_damaged) == ((kept,), (), False)
    assert after.points == before.points
    assert load_code(path, kept.number) == codes


def test_a_session_of_format_4_in_pages_alone_is_not_said_to_lack_a_count(tmp_path: Path) -> None:
    path = recorded(4, tmp_path)
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])
    found = load(path)
    assert len(found.points) == 6
    assert not any("count of rows" in problem for problem in found.problems)
