"""A damaged session: a changed byte is said, and every whole row is read and can be saved."""

import contextlib
import os
import random
import sqlite3
from pathlib import Path

import pytest

from roofscope.app.cli.salvage import command as salvage
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.results import session_pages
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_file import save_whole
from roofscope.profiling.results.session_pages import LAYOUTS, rows_in
from roofscope.profiling.results.session_reader import SessionError, load, load_trace
from roofscope.profiling.results.session_rows import checksum_of
from roofscope.profiling.results.session_schema import OUR_TABLES
from roofscope.profiling.results.session_writer import SessionStore, copy
from roofscope.tests.sessions import CEILINGS, DEVICE, ENVIRONMENT, SPECS, make_session

POINTS = make_session().points[:12]
TRACE = random.Random(1).randbytes(9000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path, {"commit": "abc"}) as store:
        store.add_environment(ENVIRONMENT, DEVICE.id)
        for spec in SPECS:
            store.add_kernel(spec)
        store.add_kernel(SPECS[0])
        for ceiling in CEILINGS[:4]:
            store.add_ceiling(ceiling)
        for point in POINTS:
            store.add_outcome(point.job, point.implementation, point.outcome)
        store.add_sources(POINTS[0].implementation, [SourceFile("eager.py", "ab", "def run(): ...")])
        store.add_trace(POINTS[0].job, POINTS[0].implementation, TRACE)
    return path


def content(session: Session) -> list[object]:
    parts = (session.created_at, session.identity, session.origins, session.specs, session.sources)
    return [*parts, session.ceilings, session.points, session.traces, session.proofs]


def change(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_no_changed_byte_changes_what_is_read_without_a_word(path: Path) -> None:
    """A sample; 15,000 changes are tried by benchmarks/session_bytes.py."""
    whole, original = path.read_bytes(), content(load(path))
    dice = random.Random(20)
    told = 0
    for _ in range(250):
        changed = bytearray(whole)
        changed[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        try:
            session = load(path)
        except SessionError:
            told += 1
            continue
        told += bool(session.problems)
        assert session.problems or content(session) == original
        assert bool(session.problems) == session.is_damaged
    assert told


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE outcome SET value = replace(value, 'sm_90', 'sm_80') WHERE id = 3", "1 of 12 points is"),
        ("UPDATE outcome SET median_s = median_s / 2 WHERE id = 3", "1 of 12 points is"),
        ("UPDATE outcome SET id = 99 WHERE id = 3", "1 of 12 points is"),
        ("UPDATE outcome SET job = 2 WHERE job = 1", "4 of 12 points are"),
        ("DELETE FROM outcome WHERE id = 12", "1 of 12 points is"),
        ("DELETE FROM outcome", "12 of 12 points are"),
        ("UPDATE session SET created_at = '2020-01-01T00:00:00+00:00'", "the session's date and UUID is"),
        ("UPDATE label SET value = 'def'", "1 of 1 label is"),
        ("UPDATE kernel SET name = 'other' WHERE name = 'gelu'", "1 of 5 kernels' specifications is"),
        ("UPDATE trace SET chrome_json_gz = zeroblob(7)", "1 of 1 trace is"),
        ("UPDATE ceiling SET environment = NULL WHERE id = 2", "1 of 4 ceilings is"),
        ("UPDATE tally SET row_count = 11 WHERE name = 'outcome'", "others may be missing"),
        ("DROP TABLE tally", "others may be missing"),
        ("PRAGMA user_version = 3", "every row found in it is whole"),
        ("DROP TABLE ceiling", "damaged"),
    ],
)
def test_a_row_that_is_not_what_was_written_is_left_out_and_said(
    path: Path, statement: str, words: str
) -> None:
    change(path, "PRAGMA secure_delete = ON", statement)
    session = load(path)
    assert words in " ".join(session.problems)
    assert session.is_damaged
    assert all(point.outcome in [one.outcome for one in POINTS] for point in session.points)


def test_rows_are_found_in_the_pages_of_a_file_that_sqlite_cannot_read(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(b"\xff" * 100 + whole[100:])  # the header
    session = load(path)
    assert session.points == tuple(point for point in load_from(whole, path).points)
    path.write_bytes(whole[: 2 * 4096] + b"\xff" * 4096 + whole[3 * 4096 :])
    assert load(path).points


def load_from(whole: bytes, path: Path) -> Session:
    other = path.with_name("whole.roofscope")
    other.write_bytes(whole)
    return load(other)


def test_every_row_is_found_in_the_pages_of_a_whole_file(path: Path) -> None:
    found = list(rows_in(path.read_bytes()))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        for table in OUR_TABLES:
            cursor = connection.execute(f"SELECT * FROM {table}")
            assert tuple(column[0] for column in cursor.description) == LAYOUTS[table]
            rows = [dict(zip(LAYOUTS[table], row, strict=True)) for row in cursor]
            assert [row for name, row in found if name == table] == rows


def hostile(page_count: int, pointers: list[int], *, columns: int) -> bytes:
    """Leaves whose rows claim to be as long as the file: their chain of pages runs in a circle, to page 2."""
    size = page_count * 4096
    least = (4096 - 12) * 32 // 255 - 23
    local = least + (size - least) % 4092
    local = local if local <= 4061 else least
    blob = 2 * (size - columns - 4) + 12  # the last column: all that is left
    header = bytes([columns + 4, *[0] * (columns - 1), *varint(blob)])
    cell = varint(size) + b"\1" + header.ljust(local, b"x") + (2).to_bytes(4, "big")
    page = bytearray(b"\r\0\0" + len(pointers).to_bytes(2, "big") + b"\0\0\0").ljust(4096, b"\0")
    page[8 : 8 + 2 * len(pointers)] = b"".join(at.to_bytes(2, "big") for at in pointers)
    for at in dict.fromkeys(pointers):
        page[at : at + len(cell)] = cell
    assert len(page) == 4096
    circle = (2).to_bytes(4, "big").ljust(4096, b"y")
    return b"\0" * 4096 + circle + bytes(page) * (page_count - 2)


def varint(value: int) -> bytes:
    """Of four bytes at most, as SQLite writes numbers."""
    groups = [value >> shift & 0x7F for shift in (21, 14, 7, 0)]
    return bytes([*(0x80 | group for group in groups[:-1]), groups[-1]])


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each row had that was put together."""
    sizes: list[int] = []
    real = session_pages._joined

    def counted(content: bytes, record: session_pages._Record) -> bytes:
        sizes.append(record.size)
        return real(content, record)

    monkeypatch.setattr(session_pages, "_joined", counted)
    return sizes


def test_rows_of_pages_that_run_in_a_circle_are_read_a_few_times_only(joined: list[int]) -> None:
    content = hostile(32, [1000], columns=5)
    assert list(rows_in(content)) == []
    assert sum(joined) == 8 * len(content)  # of the thirty pages that each ask for all of it


def test_a_row_that_a_page_names_often_is_read_once(joined: list[int]) -> None:
    assert list(rows_in(hostile(3, [1000] * 400, columns=5))) == []
    assert len(joined) == 1


def test_rows_with_columns_as_no_table_has_are_not_put_together(joined: list[int]) -> None:
    assert list(rows_in(hostile(32, [1000], columns=7))) == []
    assert list(rows_in(hostile(32, [1000], columns=2))) == []
    assert joined == []


def test_the_search_of_pages_ends_in_time(path: Path) -> None:
    assert list(rows_in(path.read_bytes()))
    assert list(rows_in(path.read_bytes(), longest_s=-1)) == []


def test_a_lifted_file_has_the_layout_that_pages_are_searched_for(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    path.write_bytes((ASSETS / "sessions" / "h200-gelu.roofscope").read_bytes())
    SessionStore.append(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table, layout in LAYOUTS.items():
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            assert tuple(column[1] for column in columns) == layout
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == sum(
                name == table for name, _ in rows_in(path.read_bytes())
            )


def test_a_row_proves_its_place(path: Path) -> None:
    row = {"id": 1, "value": b"{}"}
    assert checksum_of("job", row) != checksum_of("ceiling", row)
    assert checksum_of("job", row) != checksum_of("job", {**row, "id": 2})
    assert checksum_of("job", row) != checksum_of("job", {"id": 1, "other": b"{}"})
    assert checksum_of("job", row) == checksum_of("job", {**row, "added later": None})


def test_what_is_whole_can_be_saved_and_added_to(path: Path, tmp_path: Path) -> None:
    change(path, "UPDATE outcome SET value = '{}' WHERE id = 3")
    damaged = path.read_bytes()
    with pytest.raises(SessionError, match="is damaged: save what is whole under another name first"):
        SessionStore.append(path)
    target = tmp_path / "b.roofscope"
    copy(path, target)
    assert path.read_bytes() == damaged
    saved, before = load(target), load(path)
    assert saved.problems == ()
    assert content(saved) == content(before)
    assert [point.number for point in saved.points] == [1, 2, *range(4, 13)]
    assert load_trace(target, 1) == TRACE
    with SessionStore.append(target) as store:
        store.add_outcome(POINTS[2].job, POINTS[2].implementation, POINTS[2].outcome)
    assert len(load(target).points) == 12


def test_salvage_on_the_command_line(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.truncate(path, path.stat().st_size - 3 * 4096)
    target = tmp_path / "b.roofscope"
    salvage(path, target)
    out, err = capsys.readouterr()
    count = len(load(target).points)
    assert f"Saved {count} points" in out
    assert "damaged and left out; save what is whole" in err
    assert load(target).problems == ()


def test_a_damaged_trace_is_said_and_a_good_one_read_around_damage(path: Path) -> None:
    whole = path.read_bytes()
    place = whole.index(TRACE[6000:6100])
    path.write_bytes(whole[:place] + b"\0" + whole[place + 1 :])
    assert load(path).traces  # its bytes are not read before they are asked for
    with pytest.raises(SessionError, match=r"The trace 1 of .* is damaged; record it again"):
        load_trace(path, 1)
    path.write_bytes(b"\xff" * 100 + whole[100:])
    assert load_trace(path, 1) == TRACE


def test_a_session_whose_own_row_is_lost_has_the_date_of_its_oldest_row(path: Path, tmp_path: Path) -> None:
    change(path, "DELETE FROM session")
    session = load(path)
    assert session.created_at == session.origins[0].recorded_at
    save_whole(path, tmp_path / "b.roofscope")
    assert load(tmp_path / "b.roofscope").identity.uuid
