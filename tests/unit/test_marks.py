"""Pins, notes and tags of points: as values, in the session's file, from the command line."""

import contextlib
import csv
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.compare.marks_text import mark_lines, workload_name
from roofscope.app.presentation.report.content import judged_rows, result_rows
from roofscope.profiling.analysis.comparison import Baselines, comparable
from roofscope.profiling.analysis.export import csv_report, json_report
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.analysis.frame import make_frame
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.marks import (
    MOST_MOMENT_NOTE,
    MOST_MOMENTS,
    MOST_NOTE,
    Mark,
    Moment,
    pins_of,
    tags_of,
    why_unfit,
    with_mark,
)
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.results.session_file import save_whole
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_schema import FORMAT_VERSION
from roofscope.profiling.results.session_storable import NotStorable
from roofscope.profiling.results.session_writer import SessionStore, copy
from roofscope.tests.qt.conftest import write_session
from roofscope.tests.recorded import kept

AT = "2026-01-02T03:04:05.678+00:00"
LATER = "2026-01-02T03:04:06.000+00:00"
PIN = Mark(pinned_at=AT, note="best so far", tags=("release", "H200"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.roofscope"
    write_session(path)
    return path


def add_marks(path: Path, *marks: tuple[int, Mark]) -> None:
    with SessionStore.append(path) as store:
        for number, mark in marks:
            store.add_mark(number, mark)


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [str(word) for word in words])
    return result.exit_code, result.output


def test_a_change_makes_a_new_mark_and_leaves_the_old_one() -> None:
    mark = Mark().pinned(AT).tagged(" a  b ").tagged("c").tagged("a b").noted("  text\n")
    assert mark == Mark(AT, "text", ("a b", "c"))
    assert mark.pinned(LATER) is mark
    assert mark.untagged("c").tags == ("a b",)
    assert mark.unpinned().noted("").untagged("a b").untagged("c").is_empty
    assert Mark().tagged("  ") == Mark()


def test_times_in_traces_stand_in_order_and_are_taken_back(path: Path) -> None:
    late, early, other = Moment(3, 900, "slow"), Moment(3, 5), Moment(2, 7_000_000_000)
    mark = PIN.with_moment(late).with_moment(early).with_moment(other)
    assert mark.moments == (other, early, late)
    renamed = Moment(3, 900, "the gap")
    assert mark.with_moment(renamed).moments == (other, early, renamed)
    assert mark.without_moment(renamed).without_moment(early).without_moment(other) == PIN
    add_marks(path, (1, mark))
    assert load(path).marks == {1: mark}
    assert not Mark(moments=(early,)).is_empty


@pytest.mark.parametrize(
    "moments",
    [
        (Moment(1, 1, "n" * (MOST_MOMENT_NOTE + 1)),),
        tuple(Moment(1, at) for at in range(MOST_MOMENTS + 1)),
        (Moment(-1, 1),),
        (Moment(1, 1 << 63),),
    ],
)
def test_what_is_no_time_of_a_trace_is_unfit(moments: tuple[Moment, ...]) -> None:
    assert why_unfit(Mark(moments=moments)).endswith(".")


def test_the_earliest_pin_comes_first() -> None:
    marks = with_mark(with_mark({}, 1, Mark(pinned_at=LATER)), 7, PIN)
    assert pins_of(marks) == (7, 1)
    assert tags_of(marks.values()) == ("H200", "release")
    assert with_mark(marks, 7, Mark()) == {1: Mark(pinned_at=LATER)}
    assert 7 in marks


def test_the_newest_mark_of_a_point_is_what_a_session_opens_with(path: Path) -> None:
    add_marks(path, (1, PIN), (2, Mark(note="?")), (1, PIN.untagged("H200")), (2, Mark()))
    session = load(path)
    assert session.marks == {1: PIN.untagged("H200")}
    assert (session.problems, session.is_damaged) == ((), False)
    copy(path, path.with_name("copy.roofscope"))
    save_whole(path, path.with_name("whole.roofscope"))
    for name in ("copy", "whole"):
        assert load(path.with_name(f"{name}.roofscope")).marks == session.marks


@pytest.mark.parametrize("name", ["h200-gelu", "h200-tour"])
def test_an_older_session_takes_marks(tmp_path: Path, name: str) -> None:
    path = Path(shutil.copyfile(kept(name), tmp_path / "old.roofscope"))
    before = load(path)
    assert before.marks == {}
    add_marks(path, (1, PIN))
    after = load(path)
    assert (after.marks, after.points, after.problems) == ({1: PIN}, before.points, ())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT_VERSION,)


def test_a_damaged_mark_is_left_out_and_said(path: Path) -> None:
    add_marks(path, (1, PIN), (2, PIN))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE mark SET outcome = 3 WHERE id = 2")
    session = load(path)
    assert session.marks == {1: PIN}
    assert session.is_damaged
    assert (
        session.problems[0].startswith("1 of 2 pins, notes and tags are damaged")
        or "1 of 2" in (session.problems[0])
    )


def test_marks_are_found_page_by_page_too(path: Path) -> None:
    add_marks(path, (1, PIN))
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])
    assert load(path).marks == {1: PIN}


def test_the_mark_of_a_lost_point_is_none_of_the_next(path: Path) -> None:
    last = load(path).points[-1].number
    add_marks(path, (last, PIN))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM outcome WHERE id = ?", (last,))
    assert load(path).marks == {}


def test_a_lost_file_takes_no_mark_with_it(path: Path) -> None:
    point = load(path).points[0]
    with SessionStore.append(path) as store:
        store.add_mark(1, PIN)  # of a point that is lost with the file
        added = store.add_outcome(point.job, point.implementation, point.outcome)
        store.add_mark(added.number, PIN)
        path.unlink()
        rescued = store.rescued([path.parent])
    rescued.close()
    session = load(rescued.path)
    assert (session.marks, session.problems) == ({added.number: PIN}, ())


@pytest.mark.parametrize(
    "mark", [Mark(note="x" * (MOST_NOTE + 1)), Mark(tags=("t" * 61,)), Mark(tags=tuple("abcdefghijk" * 3))]
)
def test_what_is_too_long_is_refused_in_a_sentence(path: Path, mark: Mark) -> None:
    assert why_unfit(mark).endswith(".")
    with pytest.raises(NotStorable):
        add_marks(path, (1, mark))
    assert load(path).marks == {}


def test_a_point_is_pinned_from_the_command_line(path: Path) -> None:
    point = next(point for point in load(path).points if point.measured)
    assert run("pin", path) == (0, f"{path} has no pin, note or tag.\n")
    code, output = run("pin", path, point.number, "--note", "keep\nthis", "--tag", "release")
    assert code == 0
    assert "pinned; its workload's first pin: the baseline; tags release; note: keep this" in output
    mark = load(path).marks[point.number]
    assert (mark.note, mark.tags) == ("keep\nthis", ("release",))
    listed = run("pin", path)[1]
    assert listed.startswith(f"{point.number}: ")
    assert "pin 1 · release · keep" in listed
    assert run("pin", path, point.number, "--remove", "--tag", "release")[0] == 0
    assert load(path).marks[point.number].is_pinned
    assert run("pin", path, point.number, "--remove")[0] == 0
    assert load(path).marks[point.number] == Mark(note="keep\nthis")
    assert "nothing is left" in run("pin", path, point.number, "--remove", "--note", "")[1]
    assert load(path).marks == {}


def test_a_note_needs_no_pin(path: Path) -> None:
    point = next(point for point in load(path).points if point.measured)
    code, output = run("pin", path, point.number, "--note", "odd", "--no-pin")
    assert (code, load(path).marks) == (0, {point.number: Mark(note="odd")})
    assert f"{workload_name(point)}, {point.implementation.label}: not pinned; note: odd." in output
    assert point.job.workload.dtype.label in output
    assert run("pin", path, point.number, "--no-pin")[0] == 2
    run("pin", path, point.number)
    run("pin", path, point.number, "--tag", "x", "--no-pin")
    assert load(path).marks[point.number].is_pinned


def test_marks_are_in_every_export_and_in_show(path: Path) -> None:
    other, point = [point for point in load(path).points if point.measured][:2]
    assert other.job == point.job
    add_marks(path, (point.number, PIN.noted("best, so far\n=1+1")))
    session = load(path)
    record = json.loads(json_report(session))["points"][point.number - 1]
    assert (record["number"], record["pinned"], record["tags"]) == (point.number, True, "; ".join(PIN.tags))
    assert record["note"] == "best, so far\n=1+1"
    frame = make_frame([session])
    assert frame["pinned"].sum() == 1
    assert list(frame.loc[frame["pinned"], "number"]) == [point.number]
    rows = list(csv.DictReader(csv_report(session).splitlines(keepends=True)))
    [row] = [row for row in rows if row["pinned"] == "True"]
    assert row["tags"] == "; ".join(PIN.tags)
    assert "best, so far" in row["note"]
    code, output = run("show", path)
    assert code == 0
    assert mark_lines(session)[0] in output.splitlines()


def test_a_pinned_baseline_is_that_of_the_table_and_of_the_exports_too(path: Path) -> None:
    other, point = [point for point in load(path).points if point.measured][:2]
    add_marks(path, (point.number, Mark(pinned_at=AT)))
    session = load(path)
    records = {each.number: each for each in point_records(session)}
    assert records[point.number].speed_up_verdict == "baseline"
    assert records[other.number].speed_up_baseline == point.implementation.stem
    assert point.measured
    assert other.measured
    expected = point.measured.time.median_s / other.measured.time.median_s
    assert records[other.number].speed_up == pytest.approx(expected)
    shown = [line for line in run("show", path)[1].splitlines() if "baseline" in line]
    assert any(point.implementation.label in line for line in shown)
    row = next(row for row in result_rows(judged_rows(session), session) if row.number == point.number)
    assert "baseline" in [cell.text for cell in row.cells]


def test_the_first_pin_of_a_name_is_of_its_largest_workload(path: Path) -> None:
    assert run("pin", path, "softmax/triton_online", "--dtype", "bf16")[0] == 0
    [number] = load(path).marks
    points = load(path).points
    pinned = next(point for point in points if point.number == number)
    same = [p for p in points if p.implementation == pinned.implementation and p.measured]
    assert pinned.job.work.byte_count == max(
        p.job.work.byte_count for p in same if p.job.workload.dtype == pinned.job.workload.dtype
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nosuch/eager",), "There is no implementation"),
        (("999",), "has no point 999"),
        (("--remove",), "Name the point"),
        (("1", "--note", "x" * 5000), "A note has at most 4000 characters"),
    ],
)
def test_what_cannot_be_pinned_is_said(path: Path, words: tuple[str, ...], sentence: str) -> None:
    code, output = run("pin", path, *words)
    assert code == 2
    assert sentence in output
    assert load(path).marks == {}


def test_a_point_without_a_time_takes_notes_and_no_pin(path: Path) -> None:
    session = load(path)
    failed = next(
        point
        for point in session.points
        if not point.measured
        and any(one.measured and comparable(one) == comparable(point) for one in session.points)
    )
    code, output = run("pin", path, failed.number)
    assert (code, load(path).marks) == (2, {})
    assert f"Point {failed.number} has no time to compare others with" in output
    assert run("pin", path, failed.number, "--note", "why?", "--no-pin")[0] == 0
    # One of a session from before is no baseline, hides none, and can be taken back.
    other = next(p for p in session.points if p.measured and comparable(p) == comparable(failed))
    add_marks(path, (failed.number, Mark(pinned_at=AT)), (other.number, Mark(pinned_at=timestamp())))
    found = Baselines(load(path).points, pinned=pins_of(load(path).marks)).of(other)
    assert found
    assert found.number == other.number
    assert run("pin", path, failed.number, "--remove")[0] == 0


def test_hostile_notes_are_printed_as_text(path: Path) -> None:
    add_marks(path, (1, Mark(note="\x1b[31mred\x1b[0m")))
    assert "\x1b" not in run("pin", path)[1]


def test_a_deleted_point_is_nowhere_until_it_is_brought_back(path: Path, tmp_path: Path) -> None:
    before = load(path)
    chosen, others = before.points[3], [point for point in before.points if point != before.points[3]]
    add_marks(path, (chosen.number, PIN))
    assert run("delete", path) == (0, f"No point of {path} is deleted.\n")
    code, output = run("delete", path, chosen.number)
    assert code == 0
    assert "deleted; roofscope delete" in output
    assert list(load(path).points) == others
    assert load(path).marks == {}
    assert load(path).jobs == (*(point.job for point in others), chosen.job)
    whole = tmp_path / "whole.roofscope"
    save_whole(path, whole, may_replace=True)  # what salvages a damaged one
    assert list(load(whole).points) == others
    assert run("export", path, "--csv", "--out", tmp_path / "a.csv")[0] == 0
    assert len((tmp_path / "a.csv").read_text().splitlines()) == len(others) + 1
    assert run("delete", path)[1].startswith(f"{chosen.number}: ")
    code, output = run("delete", path, "999", "--bring-back")
    assert code
    assert f"deleted are: {chosen.number}." in output
    assert run("delete", path, chosen.number, "--bring-back")[0] == 0
    assert load(path).points == before.points
    assert load(path).marks == {chosen.number: PIN}
    assert not load(path).deleted


def test_a_session_of_which_every_point_is_deleted_opens(path: Path) -> None:
    points = load(path).points
    add_marks(path, *((point.number, Mark(deleted_at=AT)) for point in points))
    session = load(path)
    assert not session.points
    assert len(session.deleted) == len(points)
    assert run("delete", path, "--bring-back")[0] == 0
    assert load(path).points == points


@pytest.mark.parametrize(
    "words", [("pin", 1, "--note", "x", "--no-pin"), ("delete", 1), ("delete", "--bring-back")]
)
def test_a_session_that_came_with_the_program_stays_as_it_is(words: tuple[object, ...]) -> None:
    shipped = ASSETS / "sessions" / "h200-gelu.roofscope"
    before = shipped.read_bytes()
    code, output = run(words[0], shipped, *words[1:])
    assert code == 2
    assert "came with the program and stays as it is; copy it" in " ".join(output.split())
    assert shipped.read_bytes() == before
