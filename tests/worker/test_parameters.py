"""Parameters from the command line to verified points, on the CPU: a version that works in chunks."""

import shutil
from pathlib import Path

import pytest

from roofscope.profiling.results.outcome import Failed, Measured, SkipKind, Skipped
from roofscope.profiling.results.session_reader import load
from roofscope.tests.worker.command_line import keep_ceilings, main
from roofscope.tests.worker.toys import REFERENCE, add_toy

# Slices are what the value makes of them: a wrong value in the worker would be a wrong time, not a wrong sum.
CHUNKS = """import torch

from roofscope import Choice, Refusal

CHUNK = Choice(64, 256, 1024)
PIECES = Choice(1, 2)
STEP = CHUNK // PIECES  # follows from what is chosen
LOG = {log!r}


def run(x, step=STEP):
    if STEP == 512:
        raise Refusal("A step of 512 is not for this machine.")
    if STEP == 32:
        return x * 3
    with open(LOG, "a") as log:
        print(CHUNK, PIECES, step, file=log)
    y = torch.empty_like(x)
    for start in range(0, x.numel(), step):
        torch.mul(x[start : start + step], 2, out=y[start : start + step])
    return y
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = add_toy(tmp_path / "kernels", "toy", REFERENCE)
    (folder / "eager_chunks.py").write_text(CHUNKS.format(log=str(tmp_path / "log")))
    keep_ceilings(tmp_path / "cache")
    return folder


def test_each_combination_is_built_with_its_values_verified_and_timed_in_one_job(
    tmp_path: Path, toy: Path
) -> None:
    out = tmp_path / "a.roofscope"
    words = ("--kernels", toy.parent, "--set", "all", "--device", "cpu", "--out", out)
    done = main(tmp_path, "run", "toy/eager_chunks", *words)
    assert done.returncode == 1, done.stdout + done.stderr  # one of them is wrong
    session = load(out)
    outcomes = {point.implementation.name: point.outcome for point in session.points}
    assert len(outcomes) == 6
    assert len({point.job.id for point in session.points}) == 1
    measured = [name for name, outcome in outcomes.items() if isinstance(outcome, Measured)]
    assert measured == [
        "eager_chunks",
        "eager_chunks CHUNK=256",
        "eager_chunks CHUNK=256 PIECES=2",
        "eager_chunks CHUNK=1024",
    ]
    assert set((tmp_path / "log").read_text().splitlines()) == {
        "64 1 64", "256 1 256", "256 2 128", "1024 1 1024",
    }  # fmt: skip
    refused = outcomes["eager_chunks CHUNK=1024 PIECES=2"]
    assert refused == Skipped(SkipKind.UNSUPPORTED, "A step of 512 is not for this machine.")
    assert isinstance(outcomes["eager_chunks PIECES=2"], Failed)
    rounds = [set(point.measured.time.rounds) for point in session.points if point.measured]
    assert set.intersection(*rounds)  # timed in turn
    drawn = main(tmp_path, "plot", out, "--grid", "X=CHUNK,Y=PIECES", "--table")
    assert drawn.returncode == 0, drawn.stderr
    assert "PIECES \\ CHUNK" in drawn.stdout
    exported = main(tmp_path, "export", out, "--csv", "--out", tmp_path / "a.csv")
    assert exported.returncode == 0, exported.stderr
    head, *rows = (tmp_path / "a.csv").read_text().splitlines()
    assert {"set_CHUNK", "set_PIECES", "parameters"} <= set(head.split(","))
    assert len(rows) == 6


def test_what_is_not_declared_is_refused_before_anything_runs(tmp_path: Path, toy: Path) -> None:
    words = ("--kernels", toy.parent, "--device", "cpu", "--out", tmp_path / "a.roofscope")
    done = main(tmp_path, "run", "toy", *words, "--set", "CHUNK=512")
    assert done.returncode == 2
    assert "eager_chunks declares CHUNK=64, 256 or 1024; '512' is none of them." in done.stderr
    listed = main(tmp_path, "list", "toy", "--kernels", toy.parent)
    assert "set      eager_chunks: CHUNK=64 (or 256, 1024); PIECES=1 (or 2)" in listed.stdout


def test_a_users_own_file_declares_them_as_well(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    source = (
        "import torch\nfrom roofscope import Choice\n\nSCALE = Choice(2, 3)\nBOTH = SCALE * 1\n\n\n"
        "def twice(x):\n    return x * BOTH\n"
    )
    (tmp_path / "mine.py").write_text(source)
    out = tmp_path / "a.roofscope"
    words = ("--reference", "2 * x", "--input", "x=1000", "--provider", "eager", "--set", "SCALE=all")
    done = main(tmp_path, "run", tmp_path / "mine.py", *words, "--device", "cpu", "--out", out)
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = {point.implementation.name: point.outcome for point in load(out).points}
    assert isinstance(outcomes["eager_twice"], Measured)
    assert isinstance(outcomes["eager_twice SCALE=3"], Failed)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_an_extension_in_cpp_gets_them_as_macros(tmp_path: Path) -> None:
    """Without the macro it would double. One build, of a quarter of a minute."""
    keep_ceilings(tmp_path / "cache")
    source = (
        "// SCALE = Choice(2, 3)\n#ifndef SCALE\n#define SCALE 2\n#endif\n#include <torch/torch.h>\n"
        "torch::Tensor twice(torch::Tensor x) { return x * SCALE; }\n"
    )
    (tmp_path / "mine.cpp").write_text(source)
    out = tmp_path / "a.roofscope"
    words = ("--reference", "3 * x", "--input", "x=1000", "--provider", "cuda_ext", "--set", "SCALE=3")
    main(tmp_path, "run", tmp_path / "mine.cpp", *words, "--device", "cpu", "--out", out)
    outcomes = {point.implementation.name: point.outcome for point in load(out).points}
    assert isinstance(outcomes["cuda_ext_twice SCALE=3"], Measured), outcomes
