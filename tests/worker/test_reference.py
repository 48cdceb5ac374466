"""A user's reference runs in the process that judges, which outlives it."""

import sys
from pathlib import Path

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.worker.job.reference import load_reference

FORM = """\
FILE = "add.py"
CALL = "add(x)"
REFERENCE = "add.py:ref"
SIZES = {"n": 64}
INPUTS = {"x": "n"}
OUTPUTS = {"out": "n"}
"""
EARLY = "import helper\ndef ref(x):\n    return x * helper.ALPHA\n"
LATE = "def ref(x):\n    import helper\n    return x * helper.ALPHA\n"
ADD = "def add(x):\n    return x\n"


def kernel_in(folder: Path, source: str, alpha: int = 0) -> Kernel:
    folder.mkdir(exist_ok=True)
    (folder / "add.py").write_text(source + ADD)
    (folder / "helper.py").write_text(f"ALPHA = {alpha}\n")
    (folder / "add.roofscope.py").write_text(FORM)
    catalog = scan([folder / "add.roofscope.py"])
    assert catalog.problems == ()
    return catalog.kernels[0]


def value(kernel: Kernel) -> float:
    found = load_reference(kernel)[0](torch.ones(1))
    assert isinstance(found, torch.Tensor)
    return found.item()


@pytest.mark.parametrize("source", [EARLY, LATE])
def test_each_reference_has_the_helper_beside_it_as_it_is_now(tmp_path: Path, source: str) -> None:
    path, modules = sys.path[:], set(sys.modules)
    a, b = kernel_in(tmp_path / "a", source, 1), kernel_in(tmp_path / "b", source, 2)
    first, second = load_reference(a)[0], load_reference(b)[0]
    assert [float(run(torch.ones(1))[0]) for run in (first, second, first)] == [1, 2, 1]
    assert value(kernel_in(tmp_path / "a", source, 7)) == 7
    assert sys.path == path
    assert "helper" not in set(sys.modules) - modules


def test_a_reference_keeps_its_settings_of_torch_to_itself(tmp_path: Path) -> None:
    before = torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()
    source = (
        "import torch\ntorch.set_default_dtype(torch.float64)\n"
        "torch.set_num_threads(torch.get_num_threads() + 1)\n"
        "torch.set_grad_enabled(False)\n"
        "def ref(x):\n    torch.use_deterministic_algorithms(True)\n"
        "    return torch.zeros(1) + torch.is_grad_enabled()\n"
    )
    run, _ = load_reference(kernel_in(tmp_path, source))
    for _ in range(2):
        found = run(torch.ones(1))
        assert isinstance(found, torch.Tensor)
        assert (found.dtype, found.item()) == (torch.float64, 0)
        assert before == (torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled())
        assert not torch.are_deterministic_algorithms_enabled()


def test_what_the_caller_has_set_stays_set(tmp_path: Path) -> None:
    run, _ = load_reference(kernel_in(tmp_path, EARLY, 3))
    with torch.no_grad():
        run(torch.ones(1))
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_an_edit_of_what_the_reference_imports_is_another_judge(tmp_path: Path) -> None:
    before = kernel_in(tmp_path, EARLY, 1)
    after = kernel_in(tmp_path, EARLY, 5)
    assert before.judge != after.judge
    eager, edited = before.implementation("eager"), after.implementation("eager")
    assert eager
    assert edited
    assert eager.source_hash != edited.source_hash
    assert [source.name for source in after.sources(edited)] == ["add.py", "helper.py"]
    assert not before.is_unchanged(eager)


def test_a_reference_in_another_folder_is_judged_by_what_lies_beside_it(tmp_path: Path) -> None:
    kernel_in(tmp_path / "sub", EARLY, 1)
    kernel_in(tmp_path, LATE, 3)
    (tmp_path / "add.roofscope.py").write_text(FORM.replace('"add.py:ref"', '"sub/add.py:ref"'))
    (kernel,) = scan([tmp_path / "add.roofscope.py"]).kernels
    assert value(kernel) == 1
    (tmp_path / "sub" / "helper.py").write_text("ALPHA = 4\n")
    (edited,) = scan([tmp_path / "add.roofscope.py"]).kernels
    assert edited.judge != kernel.judge
    assert value(edited) == 4
