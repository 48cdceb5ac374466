"""Values that no measurement gives: read from a file they are left out, and they are not written into one."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from roofscope.app.presentation.roofline.points import all_points
from roofscope.profiling.analysis.verdict import limiting_roof
from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.spec import Tolerance, Work
from roofscope.profiling.results.outcome import Failed, FailureKind, Measured, Stage
from roofscope.profiling.results.session import Origin
from roofscope.profiling.results.session_reader import SessionError, _NewestOrigin, load
from roofscope.profiling.results.session_storable import NotStorable, stored_text
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.run_events import OutcomeArrived
from roofscope.profiling.supervision.safe_store import SafeStore
from roofscope.tests.sessions import CEILINGS, DEVICE, ENVIRONMENT, SPECS, make_session

POINTS = make_session().points[:8]
NAN, INFINITE = float("nan"), float("inf")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        store.add_environment(ENVIRONMENT, DEVICE.id)
        store.add_kernel(SPECS[0])
        store.add_kernel(SPECS[1])
        store.add_ceiling(CEILINGS[0])
        store.add_ceiling(CEILINGS[4])
        for point in POINTS:
            store.add_outcome(point.job, point.implementation, point.outcome)
    return path


def as_a_stranger(path: Path, statement: str, *values: object) -> None:
    """Change a file of an older format, which has no checksums."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TABLE tally")
        connection.execute("PRAGMA user_version = 3")
        connection.execute(statement, values)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("$.time.samples_s", "[]", "1 of 8 points"),
        ("$.time.median_s", "0", "1 of 8 points"),
        ("$.time.median_s", "-1e-3", "1 of 8 points"),
        ("$.time.median_s", "5e-324", "1 of 8 points"),
        ("$.time.rounds", "[1]", "1 of 8 points"),
        ("$.time.calls_per_block", "0", "1 of 8 points"),
        ("$.host_s", "0", "1 of 8 points"),
        ("$.method", '"magic"', "1 of 8 points"),
        ("$.type", '"guessed"', "1 of 8 points"),
        ("$.verification", "null", "1 of 8 points"),
    ],
)
def test_an_impossible_outcome_is_left_out_and_said(path: Path, place: str, value: str, words: str) -> None:
    statement = "UPDATE outcome SET value = json_set(value, ?, json(?)) WHERE id = 1"
    as_a_stranger(path, statement, place, value)
    session = load(path)
    assert len(session.points) == 7
    assert session.problems[0].startswith(f"{words} is damaged and left out")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE ceiling SET value = json_set(value, '$.value', 0) WHERE id = 1", "1 of 2 c"),
        (
            "UPDATE ceiling SET value = json_set(value, '$.recorded_at', 'x') WHERE id = 1",
            "1 of 2 ceilings is",
        ),
        (
            "UPDATE job SET value = json_set(value, '$.work.flop_count', -1) WHERE id = 1",
            "4 of 8 points and 1",
        ),
        (
            "UPDATE job SET value = json_set(value, '$.work.flop_count', 0.5) WHERE id = 2",
            "4 of 8 points and 1 of 2 jobs",
        ),
        ("UPDATE outcome SET recorded_at = 'yesterday' WHERE id = 2", "1 of 8 points is"),
        ("UPDATE outcome SET recorded_at = 7 WHERE id = 2", "1 of 8 points is"),
        ("UPDATE outcome SET value = x'ff00' WHERE id = 2", "1 of 8 points is"),
        ("UPDATE outcome SET value = '' WHERE id = 2", "1 of 8 points is"),
        ("UPDATE session SET created_at = ''", "the session's date and UUID is"),
        ("DELETE FROM session", "the session's date"),
        (
            "UPDATE kernel SET spec = json_set(spec, '$.tolerance.float32', -1) WHERE rowid = 1",
            "1 of 2 k",
        ),
        ("UPDATE environment SET value = json_set(value, '$.devices[0].memory_bytes', -1)", "1 of 1 environ"),
    ],
)
def test_an_impossible_row_is_left_out_and_said(path: Path, statement: str, words: str) -> None:
    as_a_stranger(path, statement)
    session = load(path)
    assert words in session.problems[0]
    assert session.created_at


@pytest.mark.parametrize("table", ["environment", "ceiling"])
def test_a_file_with_more_environments_or_ceilings_than_a_session_has_is_refused(
    path: Path, table: str
) -> None:
    rest = "device_id, value, recorded_at" if table == "environment" else "value, environment"
    count = "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 10100)"
    as_a_stranger(
        path, f"{count} INSERT INTO {table} (id, {rest}) SELECT i, {rest} FROM n, {table} WHERE id = 1"
    )
    with pytest.raises(SessionError, match="holds more than a session does"):
        load(path)


class CountedDate(str):
    compared = 0

    def __lt__(self, other: str) -> bool:
        CountedDate.compared += 1
        return super().__lt__(other)


def test_the_environment_of_an_older_row_is_found_by_a_few_comparisons() -> None:
    dates = [f"2026-01-01T00:{number * 7 % 60:02}:00+00:00" for number in range(1000)]
    origins = [Origin(number, ENVIRONMENT, DEVICE.id, date) for number, date in enumerate(dates, start=1)]
    newest = _NewestOrigin(origins)
    for minute in range(0, 60, 7):
        date = f"2026-01-01T00:{minute:02}:30+00:00"
        assert newest.at(CountedDate(date)) == [one.number for one in origins if one.recorded_at <= date][-1]
    assert 0 < CountedDate.compared < 200
    assert newest.at("2025") == 1
    assert _NewestOrigin([]).at("2025") is None


def test_a_point_is_kept_without_its_kernels_specification_but_has_no_roof(path: Path) -> None:
    as_a_stranger(path, "DELETE FROM kernel")
    session = load(path)
    assert len(session.points) == 8
    assert limiting_roof(session.points[0], session) is None
    assert all_points(session) == []


def test_an_infinite_tolerance_costs_the_point_and_not_the_session(tmp_path: Path) -> None:
    bad = replace(SPECS[0], tolerance=Tolerance(INFINITE, 1e-3, 1e-2))
    kernel = Kernel(bad, tmp_path, POINTS[0].job.implementations)
    store = SessionStore.create(tmp_path / "a.roofscope")
    safe = SafeStore(store)
    recorder = Recorder(safe, Catalog((kernel,), (), ""), DEVICE, CeilingCache(print, tmp_path / "ceilings"))
    for point in POINTS:
        recorder.handle(OutcomeArrived(point.job, point.implementation, point.outcome))
    safe.close()
    session = load(store.path)
    assert session.problems == ()
    [first, *_] = session.points
    assert isinstance(first.outcome, Failed)
    assert first.outcome.kind is FailureKind.INTERNAL
    assert "GELU" not in first.outcome.message
    assert (
        "cannot be kept. This kernelspec cannot be stored: Expected `float`, got `null`"
        in first.outcome.message
    )
    others = [point.outcome for point in session.points if point.implementation.kernel != "gelu"]
    assert others == [point.outcome for point in POINTS if point.implementation.kernel != "gelu"]


@pytest.mark.parametrize(
    "work", [Work(1, 2, 10**400), Work(-1, 2, 2), Work(0.5, 8, 8)], ids=["huge", "negative", "broken"]
)
def test_work_that_is_no_count_makes_the_outcome_a_failure(tmp_path: Path, work: Work) -> None:
    point, path = POINTS[0], tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        kept = store.add_outcome(replace(point.job, work=work), point.implementation, point.outcome)
        store.add_outcome(POINTS[1].job, POINTS[1].implementation, POINTS[1].outcome)
    session = load(path)
    assert session.problems == ()
    assert session.points[0] == kept
    assert isinstance(kept.outcome, Failed)
    assert kept.job.work == Work(0, 0, 0)
    assert session.points[1].outcome == POINTS[1].outcome


@pytest.mark.parametrize("median_s", [NAN, INFINITE, 0.0, -1.0])
def test_a_time_that_is_none_makes_the_outcome_a_failure(tmp_path: Path, median_s: float) -> None:
    point, path = POINTS[0], tmp_path / "a.roofscope"
    outcome: Any = point.outcome
    assert isinstance(outcome, Measured)
    broken = replace(outcome, time=replace(outcome.time, median_s=median_s))
    with SessionStore.create(path) as store:
        kept = store.add_outcome(point.job, point.implementation, broken)
    assert isinstance(kept.outcome, Failed)
    assert load(path).points == (kept,)


def test_text_that_is_no_unicode_makes_the_outcome_a_failure(tmp_path: Path) -> None:
    point, path = POINTS[0], tmp_path / "a.roofscope"
    broken = Failed(FailureKind.INTERNAL, Stage.BUILD, "\udcff")
    with SessionStore.create(path) as store:
        kept = store.add_outcome(point.job, point.implementation, broken)
    assert load(path).points == (kept,)


class Count(Struct):
    value: int


def test_a_count_of_65_bits_is_not_stored() -> None:
    """JSON takes it, and no later opening does."""
    assert stored_text(Count(2**63 - 1)) == '{"value":9223372036854775807}'
    with pytest.raises(NotStorable, match=r"This count cannot be stored: .* longer than 64 bits"):
        stored_text(Count(2**63))


def test_a_ceiling_that_is_none_touches_no_file(tmp_path: Path) -> None:
    store = SessionStore.create(tmp_path / "a.roofscope")
    with store, pytest.raises(NotStorable, match="This ceiling cannot be stored"):
        store.add_ceiling(replace(CEILINGS[0], value=NAN))
    assert load(tmp_path / "a.roofscope").ceilings == ()
