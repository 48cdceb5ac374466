"""What a save asks for: which jobs, instead of what, and what is said of it; and its line of text."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.app.presentation.live_line import change_text, live_line, reading_before
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.file_watch import Saved
from roofscope.profiling.planning.plan import Job, Quality, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.outcome import Failed, FailureKind, Measured, Stage
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision.live_edits import LiveEdits
from roofscope.profiling.supervision.protocol import Run
from roofscope.tests.sessions import make_session, measured
from roofscope.tests.worker.toys import REFERENCE, add_toy


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = add_toy(tmp_path / "mine", "toy", REFERENCE)
    (folder / "triton_a.py").write_text("def run(x): ...\n")
    return folder


def look(toy: Path) -> Catalog:
    return scan([toy.parent])


def planned(toy: Path, *stems: str, sizes: tuple[int, ...] = (65536,)) -> list[Job]:
    choices = [SizeChoice("small", {"n": n}) for n in sizes]
    kernels, float32 = look(toy).kernels, [Dtype.FLOAT32]
    return list(
        plan_jobs(
            kernels, device="cpu", dtypes=float32, size_choices=choices, stems=stems, quality=Quality.EXACT
        )
    )


def save(toy: Path, *names: str) -> tuple[Catalog, Saved]:
    for name in names:
        (toy / name).write_text(f"{(toy / name).read_text()}# edited\n")
    return look(toy), Saved(frozenset(toy / name for name in names))


def test_an_edited_version_is_measured_quickly_where_it_was_measured(toy: Path) -> None:
    live, before = LiveEdits(look(toy)), planned(toy, "triton_a", "eager", sizes=(65536, 4096))
    catalog, saved = save(toy, "triton_a.py")
    found = live.saved(catalog, saved, before, "cpu", 7)
    assert not found.supersedes
    assert [run.job.id for run in found.runs] == ["job-7", "job-8"]
    for run, old in zip(found.runs, before, strict=True):
        assert run.job.workload == old.workload
        assert run.job.quality is Quality.QUICK
        [implementation] = run.job.implementations
        assert implementation.stem == "triton_a"
        assert implementation.source_hash != old.implementations[0].source_hash


def test_a_new_version_is_measured_where_its_kernel_was(toy: Path) -> None:
    live, before = LiveEdits(look(toy)), planned(toy, "eager")
    (toy / "triton_b.py").write_text("def run(x): ...\n")
    found = live.saved(look(toy), Saved(frozenset({toy / "triton_b.py"})), before, "cpu", 2)
    assert [one.stem for one in found.runs[0].job.implementations] == ["triton_b"]
    nothing = LiveEdits(scan([]))
    found = nothing.saved(look(toy), Saved(frozenset({toy / "triton_b.py"})), [], "cpu", 2)
    assert found.runs == ()
    assert {one.stem for one in found.unplanned} == {"eager", "triton_a", "triton_b"}


def test_a_save_of_what_is_under_way_supersedes_it_and_keeps_what_is_left(toy: Path) -> None:
    live, before = LiveEdits(look(toy)), planned(toy, "triton_a", "eager")
    first = live.saved(*save(toy, "triton_a.py", "eager.py"), before, "cpu", 2)
    assert {one.stem for one in first.runs[0].job.implementations} == {"triton_a", "eager"}
    second = live.saved(*save(toy, "triton_a.py"), before, "cpu", 3)
    assert second.supersedes
    assert {one.stem for one in second.runs[0].job.implementations} == {"triton_a", "eager"}
    [eager] = [one for one in second.runs[0].job.implementations if one.stem == "eager"]
    live.note(second.runs[0].job, eager)
    third = live.saved(*save(toy, "eager.py"), before, "cpu", 4)
    assert not third.supersedes  # eager was done; the other one goes on
    assert [one.stem for one in third.runs[0].job.implementations] == ["eager"]
    live.forget()
    assert not live.is_open


def test_what_was_given_up_is_planned_again_as_it_was_and_with_it_what_was_edited(toy: Path) -> None:
    """A reference's save concerns all; a version is saved while the worker reads that, and all is dropped."""
    live, before = LiveEdits(look(toy)), planned(toy, "eager", sizes=(65536, 4096))
    live.begin(map(Run, before))
    live.note(before[0], before[0].implementations[0])
    catalog, _ = save(toy, "triton_a.py", "eager.py")
    found = live.given_up(catalog, before, "cpu", 7)
    kernel = catalog.kernel("toy")
    assert kernel
    first, second = (run.job for run in found.runs)
    assert first == replace(before[1], id="job-7", implementations=(kernel.implementation("eager"),))
    assert [one.stem for one in second.implementations] == ["triton_a"]
    assert second.id == "job-8"
    assert live.is_open
    assert live.saved(catalog, Saved(frozenset({toy / "eager.py"})), before, "cpu", 9).said == ()


def test_sizes_that_a_spec_no_longer_takes_are_said(toy: Path) -> None:
    live, before = LiveEdits(look(toy)), planned(toy, "eager")
    spec = toy / "spec.py"
    spec.write_text(spec.read_text().replace('Axis("n", "elements")', 'Axis("n", "elements", minimum=70000)'))
    (toy / "spec.py").write_text(spec.read_text().replace("65536", "99999").replace("1237", "71237"))
    found = live.saved(look(toy), Saved(frozenset({spec})), before, "cpu", 2)
    assert found.runs == ()
    assert found.said == ("toy needs n >= 70000, got 65536.",)


def test_of_what_is_edited_only_what_is_wanted_is_measured(toy: Path) -> None:
    live, before = LiveEdits(look(toy)), planned(toy, "triton_a", "eager")
    found = live.saved(
        *save(toy, "triton_a.py", "eager.py"), before, "cpu", 2, lambda one: one.stem == "triton_a"
    )
    assert [one.stem for one in found.runs[0].job.implementations] == ["triton_a"]


def grown(session: Session, outcome: Measured | Failed) -> Point:
    """The first point of the session that has a time, measured once more."""
    old = next(point for point in session.points if point.measured)
    number = max(point.number for point in session.points) + 1
    point = replace(old, number=number, job=replace(old.job, id=f"job-{number}"), outcome=outcome)
    session.points = (*session.points, point)
    return point


def test_a_line_has_the_time_the_change_and_the_verdict() -> None:
    session = make_session()
    old = next(point for point in session.points if point.measured)
    assert reading_before(session, old) is None
    assert old.measured
    twice = grown(session, measured(old.measured.time.median_s / 2))
    assert reading_before(session, twice) == old
    assert "2.00× ± " in change_text(twice, old)
    assert "as fast as before" in live_line(session, twice)
    alike = grown(session, twice.outcome)  # type: ignore[arg-type]
    assert change_text(alike, reading_before(session, alike)) == "not distinguishable from before"


def test_a_line_of_a_failure_names_its_line_and_the_time_that_stays() -> None:
    session = make_session()
    old = next(point for point in session.points if point.measured)
    log = f'Traceback\n  File "/k/{old.implementation.stem}.py", line 2, in run\nNameError: no such name'
    point = grown(session, Failed(FailureKind.LAUNCH_ERROR, Stage.VERIFY, "It raised.", log))
    from roofscope.profiling.planning.catalog import SourceFile

    session.sources = {
        point.implementation.source_hash: (SourceFile(f"{old.implementation.stem}.py", "", "a\nb\nc\n"),)
    }
    text = live_line(session, point)
    assert f"launch error at {old.implementation.stem}.py:2: NameError: no such name" in text
    assert "(its time stays " in text
    session.sources = {}
    assert "Failed (launch error): It raised." in live_line(session, point)
