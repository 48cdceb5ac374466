"""`plot`, as a user types it."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.cli.sweeps import draw_sweeps, sweep_lines
from roofscope.profiling.paths import ASSETS
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
        (("--sweep", "--out", "a.csv"), "names a .csv file; end it in .svg or .png."),
        (("--kernel", "softmax"), "add --sweep"),
    ],
)
def test_a_mistake_is_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    code, text = plot(RECORDED, *words)
    assert code == 2
    assert sentence in text


def test_a_run_draws_each_kernel_into_a_file_of_its_own(tmp_path: Path) -> None:
    session = sweep_session(range(10, 13), kernels=("vector_add", "gelu"))
    lines = list(draw_sweeps(session, tmp_path / "a.svg"))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a-gelu-fp32.svg", "a-vector_add-fp32.svg"]
    assert [line.split()[-1] for line in lines] == [
        str(tmp_path / name) for name in ("a-vector_add-fp32.svg", "a-gelu-fp32.svg")
    ]
    [_] = draw_sweeps(sweep_session(range(10, 13)), tmp_path / "b.svg")
    assert (tmp_path / "b.svg").exists()


def test_a_run_without_a_sweep_says_so(tmp_path: Path) -> None:
    session = make_session()
    session.points = tuple(point for point in session.points if point.implementation.kernel == "softmax")
    [said] = draw_sweeps(session, tmp_path / "a.svg")
    assert "no sweep" in said
    assert list(sweep_lines(session)) == [said]
    assert not (tmp_path / "a.svg").exists()


def test_a_picture_that_cannot_be_is_refused_before_the_run(tmp_path: Path) -> None:
    out = str(tmp_path / "a.pdf")
    done = CliRunner().invoke(cli, ["run", "vector_add", "--plot", out, "--device", "cpu"])
    assert done.exit_code == 2
    assert "names no picture; end it in .svg or .png." in done.output
