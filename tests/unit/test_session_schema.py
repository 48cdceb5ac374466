"""Versions of the session file: old ones open, what is added to is lifted, what is foreign is refused."""

import contextlib
import hashlib
import shutil
import sqlite3
import uuid
from pathlib import Path

import pytest

from roofscope import __version__
from roofscope.profiling.results.session import Identity
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.results.session_schema import FORMAT_VERSION
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.recorded import GELU, recorded
from roofscope.tests.sessions import make_session

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
RECORDED = [recorded(name) for name in ("h200", "h200-gelu", "h200-tour")]  # of format 1


def change(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def ask(path: Path, statement: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def test_a_new_session_has_a_uuid_the_version_and_its_labels(tmp_path: Path) -> None:
    labels = {"commit": "abc", "night": "1"}
    with SessionStore.create(tmp_path / "a.roofscope", labels) as store:
        identity = store.identity
    assert identity.uuid
    assert uuid.UUID(identity.uuid).version == 4
    assert (identity.roofscope_version, identity.labels) == (__version__, labels)
    assert load(tmp_path / "a.roofscope").identity == identity
    with SessionStore.create(tmp_path / "b.roofscope") as other:
        assert other.identity.uuid != identity.uuid


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.stem)
def test_an_old_file_opens_unchanged_and_lacks_what_came_later(recorded: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(recorded, tmp_path))
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load(path).identity == Identity()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_old_file_that_is_added_to_is_lifted_and_keeps_its_rows(tmp_path: Path) -> None:
    path = Path(shutil.copy(GELU, tmp_path))
    before = load(path)
    with SessionStore.append(path) as store:
        assert store.identity.uuid
        point = before.points[1]
        store.add_outcome(point.job, point.implementation, point.outcome)
    after = load(path)
    assert after.points[:-1] == before.points
    assert after.points[-1].outcome == point.outcome
    assert (after.created_at, after.identity.roofscope_version) == (before.created_at, None)
    assert ask(path, "PRAGMA user_version") == [(FORMAT_VERSION,)]
    assert ask(path, "SELECT count(*) FROM point") == [(len(after.points),)]
    with SessionStore.append(path) as again:
        assert again.identity == after.identity


def test_a_lift_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = Path(shutil.copy(GELU, tmp_path))
    change(path, "CREATE TABLE label (mine)")
    with pytest.raises(SessionError, match="table label already exists"):
        SessionStore.append(path)
    assert ask(path, "PRAGMA user_version") == [(1,)]
    assert [row[1] for row in ask(path, "PRAGMA table_info(session)")] == ["created_at"]
    assert len(load(path).points) == 14


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (
            ("CREATE TRIGGER keep AFTER INSERT ON outcome BEGIN DELETE FROM outcome; END",),
            "holds the trigger 'keep'",
        ),
        (
            (
                "ALTER TABLE outcome RENAME TO hidden",
                f"CREATE VIEW outcome AS {ENDLESS} SELECT i AS id, '' AS implementation FROM n",
            ),
            "'outcome', which is no plain table",
        ),
        (
            ("ALTER TABLE ceiling ADD COLUMN large AS (zeroblob(1000000000))",),
            "a table 'ceiling' with AS",
        ),
        (("CREATE INDEX quick ON outcome (zeroblob(1000000))",), "the index 'quick'"),
        (
            ("DROP TABLE proof", "CREATE TABLE proof (id CHECK (zeroblob(1000000000)))"),
            "a table 'proof' with CHECK",
        ),
        (
            ("DROP TABLE proof", "CREATE VIRTUAL TABLE proof USING fts3(value)"),
            "'proof', which is no plain table",
        ),
    ],
)
def test_a_file_that_would_act_is_refused_for_reading_and_for_writing(
    tmp_path: Path, statements: tuple[str, ...], words: str
) -> None:
    path = tmp_path / "a.roofscope"
    SessionStore.create(path).close()
    change(path, "PRAGMA legacy_alter_table = ON", *statements)
    with pytest.raises(SessionError, match=words):
        load(path)
    with pytest.raises(SessionError, match=words):
        SessionStore.append(path)


def test_another_view_named_point_is_never_read(tmp_path: Path) -> None:
    path, point = tmp_path / "a.roofscope", make_session().points[0]
    with SessionStore.create(path) as store:
        store.add_outcome(point.job, point.implementation, point.outcome)
    change(path, "DROP VIEW point", "CREATE VIEW point AS SELECT * FROM nowhere")
    assert len(load(path).points) == 1
    with SessionStore.append(path) as store:
        store.save_as(tmp_path / "b.roofscope")
    assert len(load(tmp_path / "b.roofscope").points) == 1


def test_a_program_killed_while_it_makes_a_file_leaves_no_half_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.roofscope"
    monkeypatch.setattr("roofscope.profiling.results.session_schema._TALLY", "this is no SQL;")
    with pytest.raises(SessionError, match="cannot be written"):
        SessionStore.create(path)
    assert list(tmp_path.iterdir()) == []
