"""torch.compile as a provider, on the CPU: what it counts, and what it compiles."""

from pathlib import Path

import pytest
import torch

from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.results.outcome import BuildInfo
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Built

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles

PLAIN = "def run(x):\n    return x.sin() * 2\n"
BRANCH = "def run(x):\n    if x.sum().item() > 0:\n        return x + 1\n    return x - 1\n"
REGION = """
import torch
def region(piece):
    return piece.cos() * 2
def run(x):
    return torch.cat([region(x[:64]), region(x[64:])])
"""


def built(folder: Path, source: str, mode: str = "default") -> Built:
    (folder / "eager.py").write_text(source)
    version = Implementation("toy", Provider.COMPILE, mode, "hash")
    workload = Workload("toy", Dtype.FLOAT32, {})
    return providers.build(BuildRequest(version, folder, workload, torch.device("cpu")))


def counts(info: BuildInfo) -> tuple[int | None, int | None, int | None]:
    return info.graph_count, info.graph_breaks, info.recompiles


@pytest.mark.parametrize(
    "mode", ["default", pytest.param("max_autotune_no_cudagraphs", marks=pytest.mark.exhaustive)]
)
def test_only_the_measured_sizes_count(tmp_path: Path, mode: str) -> None:
    version = built(tmp_path, PLAIN, mode)
    for size in (100, 37, 100, 5):
        x = torch.rand(size)
        torch.testing.assert_close(version.call(x), x.sin() * 2)
    assert counts(version.info()) == (1, 0, 0)
    assert version.info().compile_s > 0


def test_sizes_that_the_first_inputs_element_count_does_not_tell_apart_do_not_count(tmp_path: Path) -> None:
    version = built(tmp_path, "def run(x, y):\n    return x.sum() + y * 2\n")
    for rows, cols, length in ((6, 10, 30), (10, 6, 30), (6, 10, 17)):
        x, y = torch.rand(rows, cols), torch.rand(length)
        torch.testing.assert_close(version.call(x, y), x.sum() + y * 2)
    assert counts(version.info()) == (1, 0, 0)


def test_a_branch_on_the_data_breaks_the_graph_and_is_compiled_when_taken(tmp_path: Path) -> None:
    version = built(tmp_path, BRANCH)
    for shift in (0.0, 0.0, -1.0):
        x = torch.rand(100) + shift
        assert torch.equal(version.call(x), x - 1 if shift else x + 1)
    graphs, breaks, recompiles = counts(version.info())
    assert breaks == 1
    assert graphs is not None
    assert graphs >= 3
    assert recompiles is not None
    assert recompiles >= 1


def test_a_break_says_its_line_and_a_recompile_the_guard_that_failed(tmp_path: Path) -> None:
    for name in ("one", "another"):
        (tmp_path / name).mkdir()
    version = built(tmp_path / "one", BRANCH)
    other = built(tmp_path / "another", REGION)  # what another notes is not its own
    for shift in (0.0, -1.0):
        version.call(torch.rand(100) + shift)
        version.call(torch.rand(37) + shift)  # nor what verification at another size does
        other.call(torch.rand(100))
    notes = version.info().compile_notes
    assert notes is not None
    (broken,) = notes.breaks
    assert (broken.file, broken.line, broken.code) == ("eager.py", 2, "if x.sum().item() > 0:")
    assert "item()" in broken.reason
    assert broken.count == 1
    assert notes.recompiles
    assert all(note.file == "eager.py" and note.line == 2 for note in notes.recompiles)
    region = other.info().compile_notes
    assert region is not None
    assert not region.breaks
    assert "size mismatch at index 0. expected 64, actual 36" in region.recompiles[0].reason


def test_a_region_is_compiled_and_the_python_round_it_is_not(tmp_path: Path) -> None:
    for _ in range(2):  # what varied in a module before says nothing of a fresh one
        version = built(tmp_path, REGION)
        for _ in range(2):
            x = torch.rand(100)
            torch.testing.assert_close(version.call(x), x.cos() * 2)
        assert counts(version.info()) == (2, 0, 1)  # 64 and 36 elements
