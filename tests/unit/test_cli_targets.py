"""What a command may write: never the session it reads, never a name that promises something else."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest
import typer

from roofscope.app.cli.export import export_session
from roofscope.app.cli.points import point_named
from roofscope.app.cli.trace import Wanted, record_trace
from roofscope.app.cli.trace_recording import Recording
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.spec import Dtype, Work
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.sessions import empty_session, make_session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "a.roofscope"
    SessionStore.create(path).close()
    return path


def test_an_export_never_overwrites_its_session(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alias = session.parent / "alias.csv"
    alias.symlink_to(session)
    named_csv = session.parent / "b.csv"
    shutil.copy(session, named_csv)
    for source, out in ((session, session), (session, alias), (named_csv, None)):
        with pytest.raises(typer.Exit) as caught:
            export_session(source, ["csv"], out)
        assert caught.value.exit_code == 2
        assert "is the session itself" in capsys.readouterr().err
        load(source)


@pytest.mark.parametrize("name", ["b.roofscope", "b.json", "b.PNG", "b.txt", "b", "b.csv.bak"])
def test_an_export_refuses_the_suffix_of_another_format(
    session: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = session.parent / name
    with pytest.raises(typer.Exit):
        export_session(session, ["csv"], out)
    assert f"{out} does not end in .csv; name it b" in capsys.readouterr().err
    assert not out.exists()


def test_a_name_may_end_in_capitals_and_a_pipe_in_anything(session: Path) -> None:
    out, pipe = session.parent / "b.CSV", session.parent / "pipe"
    assert export_session(session, ["csv"], out) == [out]
    assert out.read_text().startswith("number,")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert export_session(session, ["csv"], pipe) == [pipe]
    assert os.read(reader, 7) == b"number,"
    os.close(reader)


def trace(session: Path, out: Path) -> int:
    """A session without points: what comes after the check of ``out`` is another refusal."""
    return record_trace(session, Wanted(("gelu/eager",)), Recording(Catalog((), (), ""), ()), out)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("a.roofscope", "is the session itself"),
        ("b.roofscope", "b.roofscope does not end in .json or .json.gz; name it b.json"),
        ("b.csv", "does not end in .json or .json.gz"),
        ("b.gz", "does not end in .json or .json.gz"),
        ("none/b.json", "none; make it first."),
        ("", "is a folder; name a file in it, such as"),
    ],
)
def test_a_trace_refuses_its_target_before_it_measures(
    session: Path, name: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        trace(session, session.parent / name)
    assert sentence in capsys.readouterr().err
    load(session)


def test_a_trace_says_which_types_were_measured(capsys: pytest.CaptureFixture[str]) -> None:
    session = make_session()
    session.points = tuple(p for p in session.points if p.job.workload.dtype is not Dtype.BFLOAT16)
    for name, dtype, sentence in (
        (
            "softmax/eager",
            Dtype.BFLOAT16,
            "softmax/eager is not in this session in bf16, only in",
        ),
        ("softmax/eagr", None, "did you mean 'softmax/eager'?"),
    ):
        with pytest.raises(typer.Exit):
            point_named(session, name, dtype, timed=True)
        assert sentence in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        point_named(empty_session(), "softmax/eager", timed=True)
    assert "holds no point; run a kernel first." in capsys.readouterr().err


def test_a_trace_is_of_the_size_that_is_named_or_of_the_largest(capsys: pytest.CaptureFixture[str]) -> None:
    session = make_session()
    points = [p for p in session.points if p.measured and p.implementation.key == "softmax/eager"]
    small, large = points[0], points[-1]
    halved = {axis: size // 2 for axis, size in large.job.workload.sizes.items()}
    workload = msgspec.structs.replace(small.job.workload, sizes=halved)
    job = msgspec.structs.replace(small.job, workload=workload, work=Work(1, 1, 1))
    session.points = (msgspec.structs.replace(small, job=job), large)
    rows = large.job.workload.sizes["rows"]
    assert point_named(session, "softmax/eager", timed=True) is session.points[1]
    assert point_named(session, "softmax/eager", None, {"rows": rows // 2}, timed=True) is session.points[0]
    with pytest.raises(typer.Exit):
        point_named(session, "softmax/eager", None, {"rows": 5}, timed=True)
    said = capsys.readouterr().err
    assert "softmax/eager is not in this session at rows=5, only at rows=" in said
    assert session.points[0].job.workload.size_label in said


def test_the_check_of_a_target_leaves_nothing_behind(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, old = session.parent / "b.json.gz", session.parent / "c.json"
    old.write_text("kept")
    for out in (new, old):
        with pytest.raises(typer.Exit):
            trace(session, out)
        assert "which is not in this machine" in capsys.readouterr().err
    assert not new.exists()
    assert old.read_text() == "kept"
