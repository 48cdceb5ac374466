"""A file that is lost while a run writes it: what was acknowledged is kept, and the user reads why."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace as replace_field

from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.results.generated import Code, CodeKind
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.results.session_reader import SessionError, load, load_code, load_trace
from roofscope.profiling.results.session_writer import SessionStore, copy
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.run_events import BecameIdle, OutcomeArrived
from roofscope.profiling.supervision.safe_store import SafeStore
from roofscope.tests.children import python
from roofscope.tests.sessions import DEVICE, ENVIRONMENT, RECORDED_AT, make_session

POINTS = make_session().points
CODES = (Code(CodeKind.PTX, "kernel", "ret;"),)
OTHER_ENVIRONMENT = replace_field(ENVIRONMENT, host="another")
NO_KERNELS = Catalog((), (), "")


class Run:
    """A recorder as a run has it, and what it said."""

    def __init__(self, path: Path, *folders: Path, append: bool = False) -> None:
        self.said: list[str] = []
        store = SessionStore.append(path) if append else SessionStore.create(path)
        cache = CeilingCache(print, path.parent / "ceilings")
        self.safe = SafeStore(store, self.said.append, folders)
        self.recorder = Recorder(self.safe, NO_KERNELS, DEVICE, cache)

    def add(self, first: int, last: int) -> None:
        for point in POINTS[first:last]:
            self.recorder.handle(OutcomeArrived(point.job, point.implementation, point.outcome))

    @property
    def path(self) -> Path:
        return self.safe.store.path


def outcomes(path: Path) -> list[object]:
    session = load(path)
    assert session.problems == ()
    return [(point.number, point.job, point.outcome) for point in session.points]


def expected(count: int) -> list[object]:
    return [(point.number, point.job, point.outcome) for point in POINTS[:count]]


def scribble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(9 * 4096)
        file.write(b"scribble" * 2000)


def replace(path: Path) -> None:
    other = path.with_name("other")
    SessionStore.create(other).close()
    other.replace(path)


def roll_back(path: Path) -> None:
    """An older copy is written over the file, as a restored backup is."""
    other = path.with_name("other")
    SessionStore.create(other).close()
    shutil.copyfile(other, path)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (Path.unlink, "was removed or cannot be reached any more"),
        (lambda path: os.truncate(path, 8192), "was changed by another program and is damaged"),
        (lambda path: os.truncate(path, 0), "was changed by another program and cannot be read any more"),
        (scribble, "was changed by another program and is damaged"),
        (replace, "was replaced by another file"),
        (roll_back, "was changed by another program and lacks results of this run"),
    ],
    ids=["removed", "truncated", "emptied", "scribbled on", "replaced", "rolled back"],
)
def test_a_file_that_is_lost_is_told_at_the_next_report_and_the_run_goes_on_in_another(
    tmp_path: Path, harm: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "a.roofscope"
    run = Run(path)
    run.add(0, 10)
    harm(path)
    run.recorder.handle(BecameIdle())  # any report: nothing needs to be written
    [said] = run.said
    assert said.startswith(f"{path} {words}.")
    assert f"The run goes on in {tmp_path / 'a-rescued.roofscope'}, which has the 10 results so far." in said
    run.add(10, 12)
    run.safe.close()
    assert outcomes(tmp_path / "a-rescued.roofscope") == expected(12)
    assert len(run.said) == 1


def test_a_file_lost_after_the_last_report_is_told_at_the_end(tmp_path: Path) -> None:
    run = Run(tmp_path / "a.roofscope")
    run.add(0, 3)
    scribble(run.path)
    run.safe.close()
    assert len(run.said) == 1
    assert outcomes(tmp_path / "a-rescued.roofscope") == expected(3)


@pytest.mark.parametrize("passed", [True, False, None])
def test_a_proof_is_found_in_the_file_at_the_end(tmp_path: Path, passed: bool | None) -> None:
    run = Run(tmp_path / "a.roofscope")
    proof = Proof(ProofName.TRAPS, passed, "8 of 8.", "", recorded_at=RECORDED_AT)
    run.safe.store.add_proof(proof)
    assert run.safe.store.loss(at_the_end=True) == ""
    run.safe.close()
    assert run.said == []
    assert load(run.path).proofs == (proof,)
    assert list(tmp_path.glob("*.roofscope")) == [tmp_path / "a.roofscope"]


def test_what_was_in_the_file_before_the_run_is_rescued_from_what_is_left_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path, {"commit": "abc"}) as store:
        for point in POINTS[:5]:
            store.add_outcome(point.job, point.implementation, point.outcome)
        trace = store.add_trace(POINTS[0].job, POINTS[0].implementation, b"gzip")
    run = Run(path, append=True)
    run.add(5, 6)
    run.safe.store._connection.execute("PRAGMA max_page_count = 1")  # full
    run.add(6, 9)
    run.safe.close()
    assert "disk is full" in run.said[0]
    rescued = load(run.path)
    assert run.path != path
    assert outcomes(run.path) == expected(9)
    assert [found.number for found in rescued.traces] == [trace.number]
    assert rescued.identity == load(path).identity


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, " 1 trace is lost; record it again."), (3, " 3 traces are lost; record them again.")],
)
def test_traces_that_were_lost_with_the_file_are_said_and_not_counted(
    tmp_path: Path, count: int, words: str
) -> None:
    run = Run(tmp_path / "a.roofscope")
    run.add(0, 4)
    for _ in range(count):
        run.safe.store.add_trace(POINTS[0].job, POINTS[0].implementation, b"gzip")
    run.path.unlink()
    run.recorder.handle(BecameIdle())
    assert run.said[0].endswith(f"which has the 4 results so far.{words}")
    run.add(4, 5)
    kept = run.safe.store.add_trace(POINTS[0].job, POINTS[0].implementation, b"again")
    os.utime(run.path)  # the rescued file is looked at, too
    run.safe.close()
    assert len(run.said) == 1
    assert outcomes(tmp_path / "a-rescued.roofscope") == expected(5)
    assert load_trace(run.path, kept.number) == b"again"


def test_generated_code_that_was_lost_is_said_and_its_number_is_never_given_again(tmp_path: Path) -> None:
    """A view that knows the lost one by its number would show the code of another point for it."""
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        before = store.add_code(POINTS[0].job, POINTS[0].implementation, CODES)
        store.add_trace(POINTS[0].job, POINTS[0].implementation, b"gzip")
    run = Run(path, append=True)
    run.add(0, 2)
    lost = [run.safe.store.add_code(p.job, p.implementation, CODES) for p in POINTS[:2]]
    path.unlink()
    run.recorder.handle(BecameIdle())
    assert run.said[0].endswith(" The generated code of 2 points is lost; measure them again to have it.")
    other = Code(CodeKind.PTX, "other", "ret;")
    kept = run.safe.store.add_code(POINTS[1].job, POINTS[1].implementation, [other])
    assert kept.number == lost[-1].number + 1 == before.number + 3
    assert run.safe.store.add_trace(POINTS[0].job, POINTS[0].implementation, b"new").number == 2
    for number in (before.number, *(one.number for one in lost)):
        with pytest.raises(SessionError, match=f"holds no generated code {number}"):
            load_code(run.path, number)
    assert load_code(run.path, kept.number) == (other,)


def test_the_number_of_a_lost_row_that_others_still_name_is_not_given_again(tmp_path: Path) -> None:
    """Else a point would be read with the environment of another, and a mark would stand at another."""
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        store.add_environment(ENVIRONMENT, DEVICE.id)
        lost = store.add_environment(OTHER_ENVIRONMENT, DEVICE.id)
        point = store.add_outcome(POINTS[0].job, POINTS[0].implementation, POINTS[0].outcome)
    assert point.origin == lost.number == 2
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM environment WHERE id = 2")
        connection.execute("UPDATE tally SET row_count = 7 WHERE name = 'environment'")
        connection.commit()
    whole = tmp_path / "whole.roofscope"
    copy(path, whole)
    with SessionStore.append(whole) as store:
        newest = store.add_environment(replace_field(ENVIRONMENT, host="elsewhere"), DEVICE.id)
    assert newest.number == 3
    session = load(whole)
    assert session.origin(session.points[0].origin) is None


def test_a_damaged_trace_is_not_rescued_as_a_whole_one(tmp_path: Path) -> None:
    path, trace = tmp_path / "a.roofscope", bytes(range(256)) * 40
    run = Run(path)
    run.safe.store.add_trace(POINTS[0].job, POINTS[0].implementation, trace)
    whole = path.read_bytes()
    place = whole.index(trace[:200])
    path.write_bytes(whole[:place] + b"x" + whole[place + 1 :])
    run.safe.store._connection.execute("PRAGMA max_page_count = 1")  # full
    run.add(0, 12)
    run.safe.close()
    assert run.said[0].endswith(" 1 trace is lost; record it again.")
    assert load(run.path).traces == ()
    assert outcomes(run.path) == expected(12)


def test_where_no_folder_takes_a_file_results_stay_in_memory_until_they_are_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "share"
    run = Run(folder / "a.roofscope", tmp_path / "none")
    run.add(0, 4)
    shutil.rmtree(folder)  # the share goes away

    make = Path.mkdir

    def mkdir(at: Path, **options: bool) -> None:
        if at != tmp_path:
            raise OSError("the share is gone")
        make(at, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", mkdir)
        run.add(4, 7)
        run.safe.store.save_as(tmp_path / "saved.roofscope")
    assert "in memory only" in run.said[0]
    assert outcomes(tmp_path / "saved.roofscope") == expected(7)
    run.safe.close()  # tried once more, and the folder can be made now
    assert run.said[1] == f"All 7 results of this run are now in {run.path}."
    assert outcomes(run.path) == expected(7)


def test_results_that_no_folder_takes_at_the_end_are_said_to_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "a.roofscope")
    run.add(0, 2)
    run.path.unlink()
    monkeypatch.setattr("roofscope.profiling.results.session_writer.make_file", _refuse)
    run.recorder.handle(BecameIdle())
    run.safe.close()
    assert run.said[1] == "No folder took a file: 2 results of this run are lost."


def _refuse(*_: object, **__: object) -> None:
    raise SessionError("full")


_LIMITED = """
import resource, sys
from pathlib import Path
from roofscope.tests.unit.test_session_rescue import Run
path = Path(sys.argv[1])
run = Run(path)
run.add(0, 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, path.stat().st_size))
run.add(1, 9)
print(run.safe.store.is_in_memory, len(run.said))
run.safe.store.save_as(Path("/dev/null"))
"""


def test_a_limit_on_the_size_of_files_keeps_results_in_memory(tmp_path: Path) -> None:
    found = subprocess.run(
        [*python(_LIMITED), tmp_path / "a.roofscope"], check=False, capture_output=True, text=True
    )
    assert found.stdout.split() == ["True", "1"], found.stderr
    assert "/dev/null exists already; choose another name" in found.stderr
    kept = outcomes(tmp_path / "a.roofscope")  # as many as its last pages had room for
    assert kept == expected(len(kept))


def test_two_programs_may_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.roofscope"
    first, second = Run(path), Run(path, append=True)
    for number in range(0, 10, 2):
        first.add(number, number + 1)
        second.add(number + 1, number + 2)
    first.safe.close()
    second.safe.close()
    assert (first.said, second.said) == ([], [])
    assert [point.outcome for point in load(path).points] == [point.outcome for point in POINTS[:10]]


def test_the_file_alone_holds_every_commit_whoever_reads_it(tmp_path: Path) -> None:
    """There is no log beside it that a copy would leave out."""
    path, copy = tmp_path / "a.roofscope", tmp_path / "copy.roofscope"
    run = Run(path)
    for number in range(3):
        run.add(number, number + 1)
        shutil.copyfile(path, copy)
        assert outcomes(copy) == expected(number + 1)
        assert sorted(tmp_path.glob("a.roofscope*")) == [path]
    run.safe.close()
