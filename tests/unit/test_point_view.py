"""The view `point` of a session file says to any SQLite tool what the export says."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from roofscope.profiling.analysis.frame import make_frame
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import make_session


def points(path: Path) -> list[dict[str, Any]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM point ORDER BY number")]


def check(path: Path) -> None:
    frame: Any = make_frame([load(path)])
    exported = frame.astype(object).where(frame.notna(), None).to_dict("records")
    found = points(path)
    assert len(found) == len(exported) > 0
    for seen, expected in zip(found, exported, strict=True):
        assert seen["median_s"] == expected["median_s"]
        for name, value in seen.items():
            # SQLite may read a number from JSON to another last digit.
            exact = pytest.approx(expected[name], rel=1e-14) if isinstance(value, float) else expected[name]
            assert value == exact, name


@pytest.mark.parametrize("name", ["h200", "h200-gelu", "h200-tour"])
def test_of_recorded_sessions(name: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(kept(name), tmp_path))
    SessionStore.append(path).close()  # lifts it
    check(path)


def test_of_a_new_session_with_every_outcome(tmp_path: Path) -> None:
    path, session = tmp_path / "a.roofscope", make_session(full=True)
    with SessionStore.create(path) as store:
        assert session.environment
        assert session.device
        store.add_environment(session.environment, session.device.id)
        for spec in session.specs.values():
            store.add_kernel(spec)
        for point in session.points:
            store.add_outcome(point.job, point.implementation, point.outcome)
    check(path)
    assert {row["outcome"] for row in points(path)} == {"measured", "failed", "skipped", "cancelled"}


def test_a_copy_has_it_too(tmp_path: Path) -> None:
    point = make_session().points[0]
    with SessionStore.create(tmp_path / "a.roofscope", {"commit": "1"}) as store:
        store.add_outcome(point.job, point.implementation, point.outcome)
        store.save_as(tmp_path / "b.roofscope")
        identity = store.identity
    assert [row["median_s"] for row in points(tmp_path / "b.roofscope")] == [
        point.measured.time.median_s if point.measured else None
    ]
    assert load(tmp_path / "b.roofscope").identity == identity
