"""One file of a user's, as it stands, on the command line: from the file alone to verified points."""

import shutil
import subprocess
from pathlib import Path

from roofscope.profiling.results.outcome import Failed, Measured, Skipped
from roofscope.profiling.results.session_reader import load
from roofscope.tests.worker.command_line import keep_ceilings, main

TUTORIALS = Path(__file__).parents[1] / "data" / "tutorials"


def run(tmp_path: Path, file: str, *words: object) -> tuple[subprocess.CompletedProcess[str], Path]:
    out = tmp_path / f"{len(list(tmp_path.glob('*.roofscope')))}.roofscope"
    name, colon, function = file.partition(":")
    word = f"{tmp_path / name}{colon}{function}"
    return main(tmp_path, "run", word, *words, "--device", "cpu", "--out", out), out


def test_a_plain_function_is_measured_beside_its_reference_and_the_next_time_by_its_form(
    tmp_path: Path,
) -> None:
    keep_ceilings(tmp_path / "cache")
    shutil.copy(TUTORIALS / "eager_softmax.py", tmp_path)
    words = ("--reference", "torch.softmax(x, -1)", "--input", "x=64x48", "--provider", "eager")
    first, out = run(tmp_path, "eager_softmax.py:softmax", *words)
    assert first.returncode == 0, first.stdout + first.stderr
    session = load(out)
    assert {point.implementation.key for point in session.points} == {
        "eager_softmax.py/eager",
        "eager_softmax.py/eager_softmax",
    }
    assert all(isinstance(point.outcome, Measured) for point in session.points)
    spec = session.specs["eager_softmax.py"]
    assert [axis.name for axis in spec.axes] == ["rows", "cols"]
    assert spec.work.derived
    assert session.points[0].job.work.read_bytes == session.points[0].job.work.write_bytes == 64 * 48 * 4
    assert (tmp_path / "eager_softmax.roofscope.py").exists()
    again, out = run(tmp_path, "eager_softmax.py", "--provider", "eager", "--size", "rows=32")
    assert again.returncode == 0, again.stdout + again.stderr
    assert load(out).points[0].job.workload.sizes == {"rows": 32, "cols": 48}


def test_a_triton_tutorial_is_refused_for_its_true_reason_and_nothing_below_it_runs(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    shutil.copy(TUTORIALS / "fused_softmax.py", tmp_path)
    reference = f"{tmp_path / 'fused_softmax.py'}:naive_softmax"
    words = ("--reference", reference, "--input", "x=64x48", "--provider", "eager", "--provider", "triton")
    done, out = run(tmp_path, "fused_softmax.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {point.implementation.stem: point.outcome for point in load(out).points}
    assert isinstance(outcomes["eager"], Measured)
    refused = outcomes["triton_softmax"]
    assert isinstance(refused, Skipped)
    assert "Triton kernels need an NVIDIA GPU" in refused.message
    assert (
        'REFERENCE = "fused_softmax.py:naive_softmax"'
        in (tmp_path / "fused_softmax.roofscope.py").read_text()
    )


def test_a_wrong_function_has_a_reason_and_no_time_and_a_failing_one_names_its_line(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    source = "def wrong(x):\n    return 3 * x\n\n\ndef broken(x):\n    return x.no_such_thing\n"
    (tmp_path / "mine.py").write_text(source)
    words = ("--reference", "2 * x", "--input", "x=100", "--provider", "eager")
    done, out = run(tmp_path, "mine.py:wrong,broken", *words)
    assert done.returncode == 1
    outcomes = {point.implementation.stem: point.outcome for point in load(out).points}
    wrong, broken = outcomes["eager_wrong"], outcomes["eager_broken"]
    assert isinstance(wrong, Failed)
    assert isinstance(broken, Failed)
    assert "no_such_thing" in broken.message
    assert f'{tmp_path / "mine.py"}", line 6' in broken.log


def test_a_reference_that_fails_is_said_before_anything_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(x):\n    return x\n")
    done, _ = run(tmp_path, "mine.py", "--reference", "torch.no_such(x)", "--input", "x=100")
    assert done.returncode == 2
    assert "the reference 'torch.no_such(x)' cannot be run" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "mine.roofscope.py").exists()


def test_options_of_a_file_need_one(tmp_path: Path) -> None:
    done = main(tmp_path, "run", "softmax", "--reference", "x")
    assert done.returncode == 2
    assert "--reference, --input, --call, --grid and --block are of a file" in done.stderr


def test_an_extension_in_plain_cpp_is_built_by_its_own_name(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    shutil.copy(TUTORIALS / "add_extension.cpp", tmp_path)
    words = ("--reference", "a + b", "--input", "a=1000", "--input", "b=1000", "--provider", "cuda_ext")
    _, out = run(tmp_path, "add_extension.cpp", *words)
    (point,) = load(out).points
    assert point.implementation.stem == "cuda_ext_add"
    if shutil.which("c++") is None:
        assert not isinstance(point.outcome, Measured)
    else:
        assert isinstance(point.outcome, Measured), point.outcome


def test_a_model_of_kernelbench_brings_its_inputs_and_its_weights_itself(tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    model = "class {}(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
    model += "        self.linear = nn.Linear(n, n)\n    def forward(self, x):\n        return {}\n"
    text = "import torch\nimport torch.nn as nn\n" + model.format("Model", "self.linear(x)")
    text += model.format("ModelNew", "torch.addmm(self.linear.bias, x, self.linear.weight.T)")
    text += "def get_inputs():\n    return [torch.rand(8, 32)]\ndef get_init_inputs():\n    return [32]\n"
    (tmp_path / "answer.py").write_text(text)
    done, out = run(tmp_path, "answer.py", "--provider", "eager")
    assert done.returncode == 0, done.stdout + done.stderr
    session = load(out)
    assert all(isinstance(point.outcome, Measured) for point in session.points)
    assert {point.implementation.stem for point in session.points} == {"eager", "eager_modelnew"}
    assert session.specs["answer.py"].formula == "answer.py:Model"
    (tmp_path / "other.py").write_text(text.replace("return [32]", "return [32, 7]"))
    done, _ = run(tmp_path, "other.py", "--provider", "eager")
    assert done.returncode == 2
    assert "Model cannot be made: TypeError" in done.stderr
    assert "Traceback" not in done.stderr
