"""`plot`, as a user types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from msgspec.structs import replace
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.cli.run import RunOptions, run
from roofscope.app.cli.sweeps import Drawn, draw_sweeps, sweep_lines
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision.recording import Ending
from roofscope.tests.sessions import make_session
from roofscope.tests.sweeps import sweep_session

ROOT = Path(__file__).parents[2]
RECORDED = ASSETS / "sessions" / "h200.roofscope"


def plot(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["plot", *map(str, words)])
    return done.exit_code, done.output


def test_a_sweep_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    assert plot(RECORDED, "--sweep", "--kernel", "softmax", "--out", out) == (0, f"{out}\n")
    text = out.read_text()
    assert text.startswith("<svg")
    assert "softmax bf16 on NVIDIA H200" in text


def test_the_roofline_is_what_is_drawn_without_a_sweep(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    assert plot(RECORDED, "--out", out)[0] == 0
    assert "Roofline of" in out.read_text()


def test_a_png_is_drawn_from_the_svg(tmp_path: Path) -> None:
    pytest.importorskip("PySide6")
    out = tmp_path / "a.png"
    # In a process of its own: this one's Qt may be none or another platform's.
    words = ["plot", str(RECORDED), "--sweep", "--kernel", "softmax", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-P", str(ROOT / "main.py"), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert out.read_bytes().startswith(b"\x89PNG")


def test_the_table_is_printed(tmp_path: Path) -> None:
    code, text = plot(RECORDED, "--table", "--kernel", "softmax", "--y", "time")
    assert code == 0
    title, head, first, *_ = text.splitlines()
    assert title == "softmax bf16 on NVIDIA H200: time of a call"
    assert "eager PyTorch" in head
    assert first.startswith("rows=524288, cols=256")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--sweep", "--kernel", "softmaxx"), "did you mean 'softmax'?"),
        (("--sweep", "--kernel", "gelu"), "gelu was measured at one size. Measure sizes 2^10 to 2^24"),
        (("--sweep", "--kernel", "softmax", "--dtype", "fp32"), "was not measured in fp32, only in bf16"),
        (("--sweep", "--kernel", "softmax", "--x", "depth"), "There is no axis with several sizes 'depth'"),
        (("--sweep", "--kernel", "softmax", "--size", "rows=1"), "No sweep is at rows=1; leave --size out."),
        (("--sweep", "--kernel", "softmax", "--baseline", "egaer"), "did you mean 'eager'?"),
        (("--sweep", "--y", "mb"), "There is no quantity 'mb'"),
        (("--sweep", "--out", "a.csv"), "a.csv does not end in .svg or .png; name it a.svg, for instance."),
        (("--kernel", "softmax"), "add --sweep"),
        (("--linear",), "add --sweep"),
        (("--y", "time"), "There is no height of a roofline 'time'; choose from rate, roof."),
        (("--sweep", "--y", "rate"), "There is no quantity 'rate'"),
        (("--sweep", "--log", "--linear"), "two scales of one axis"),
        (("--sweep", "--table", "--kernel", "softmax", "--out", "-"), "leave one out"),
        (("--out", "none/a.svg"), "none/a.svg cannot be written: there is no folder none; make it first."),
    ],
)
def test_a_mistake_is_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    code, text = plot(RECORDED, *words)
    assert code == 2
    assert sentence in text


def test_a_run_draws_each_kernel_into_a_file_of_its_own(tmp_path: Path) -> None:
    session = sweep_session(range(10, 13), kernels=("vector_add", "gelu"))
    lines = draw_sweeps(session, tmp_path / "a.svg").lines
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a-gelu-fp32.svg", "a-vector_add-fp32.svg"]
    assert [line.split()[-1] for line in lines] == [
        str(tmp_path / name) for name in ("a-vector_add-fp32.svg", "a-gelu-fp32.svg")
    ]
    [_] = draw_sweeps(sweep_session(range(10, 13)), tmp_path / "b.svg").lines
    assert (tmp_path / "b.svg").exists()


def test_a_run_without_a_sweep_says_so(tmp_path: Path) -> None:
    session = make_session()
    session.points = tuple(point for point in session.points if point.implementation.kernel == "softmax")
    drawn = draw_sweeps(session, tmp_path / "a.svg")
    [said] = sweep_lines(session)
    assert "no sweep" in said
    assert drawn == Drawn(problem=f"Nothing was drawn. {said}")
    assert not (tmp_path / "a.svg").exists()


def test_a_picture_that_cannot_be_is_refused_before_the_run(tmp_path: Path) -> None:
    out = str(tmp_path / "a.pdf")
    done = CliRunner().invoke(cli, ["run", "vector_add", "--plot", out, "--device", "cpu"])
    assert done.exit_code == 2
    assert "a.pdf does not end in .svg or .png" in done.output


def test_the_height_of_the_roofline_is_that_which_is_named(tmp_path: Path) -> None:
    out = tmp_path / "a.svg"
    assert plot(RECORDED, "--y", "roof", "--out", out)[0] == 0
    assert "Fraction of roof" in out.read_text()


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """What a run on the CPU is to find; it measures nothing."""
    session = sweep_session(range(10, 13))
    monkeypatch.setattr("roofscope.app.cli.run.record", lambda path, *_, **__: Ending(path=path))
    monkeypatch.setattr("roofscope.app.cli.run.load", lambda path: replace(session, path=path))
    monkeypatch.setattr("roofscope.app.cli.run.shortfall", lambda *_, **__: "")
    return session


def options(tmp_path: Path, **changes: object) -> RunOptions:
    sizes, out = ("n=2^10..2^12",), tmp_path / "a.roofscope"
    given = RunOptions(["vector_add"], [Provider.EAGER], sizes=sizes, device="cpu", out=out)
    return replace(given, **changes)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_picture_that_fails_after_the_run_is_one_sentence_and_costs_no_result(
    tmp_path: Path, measured: Session, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "a.svg"
    assert run(options(tmp_path, plot=plot, as_json=as_json)) == 0
    plot.unlink()
    measured.points = measured.points[:1]
    capsys.readouterr()
    assert run(options(tmp_path, plot=plot, as_json=as_json)) == 1
    said = capsys.readouterr()
    assert said.err.strip().splitlines()[-1].startswith("Nothing was drawn. No kernel was timed at several")
    assert said.err.count("Nothing was drawn") == 1
    if as_json:
        document = json.loads(said.out)
        assert len(document["points"]) == 1
        assert document["problem"].startswith("Nothing was drawn.")
    else:
        assert "20" not in said.err
        assert "vector_add" in said.out


def test_a_roofline_that_fails_after_the_run_sets_the_exit_code(
    tmp_path: Path, measured: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("roofscope.app.cli.run.write_file", full)
    assert run(options(tmp_path, svg=True)) == 1
    said = capsys.readouterr()
    assert said.err == f"The roofline {tmp_path / 'a.svg'} cannot be written: No space left on device.\n"
    assert "vector_add" in said.out


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sizes": ("n=1024",), "plot": Path("a.svg")}, "here is one; give --size n=2^10..2^15."),
        ({"sizes": ("n=1024",), "table": True}, "here is one; give --size n=2^10..2^15."),
        ({"plot": Path("-")}, "--plot writes a picture of each kernel; name a file, such as a.svg."),
        ({"plot": Path("none/a.svg")}, "there is no folder none; make it first."),
        ({"out": Path("none/a.roofscope")}, "there is no folder none; make it first."),
        ({"out": Path("-")}, "cannot hold a session"),
        ({"out": Path("/dev/null")}, "/dev/null cannot hold a session"),
        ({"out": Path("/")}, "/ is a folder; name a file in it, such as /a.roofscope."),
        ({"out": Path("b.roofscope"), "svg": True, "plot": Path("b.svg")}, "give --plot another name"),
    ],
)
def test_what_a_run_could_not_write_is_refused_before_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, object],
    sentence: str,
) -> None:
    def record(*_: object, **__: object) -> None:
        raise AssertionError("it was run")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("roofscope.app.cli.run.record", record)
    with pytest.raises(typer.Exit) as ended:
        run(options(tmp_path, **changes))
    assert ended.value.exit_code == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_kernel_of_a_stranger_leads_to_no_other_folder(tmp_path: Path) -> None:
    session = sweep_session(range(10, 13), kernels=("vector_add", "gelu"))
    session.points = tuple(map(_led_up, session.points))
    drawn = draw_sweeps(session, tmp_path / "a.svg")
    assert not drawn.problem
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-up-fp32.svg", "a-vector_add-fp32.svg"]


def _led_up(point: Point) -> Point:
    if point.job.workload.kernel != "gelu":
        return point
    workload = replace(point.job.workload, kernel="../../up\0")
    return replace(point, job=replace(point.job, workload=workload))
