"""roofscope.measure and compare with a real worker on the CPU."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import roofscope
from roofscope.app.notebook import workspace
from roofscope.app.notebook.measuring import MeasureError, compare, measure
from roofscope.app.notebook.result import NotMeasured
from roofscope.profiling.planning.derivation import Derivation, DeriveError, Question
from roofscope.profiling.results import session_reader
from roofscope.profiling.results.outcome import Failed, FailureKind
from roofscope.profiling.worker.derive.deriving import derivation, with_types_of_subject
from roofscope.tests.children import python

FACTOR = 2.0


def doubled(x: torch.Tensor, factor: float = FACTOR) -> torch.Tensor:
    return x * factor


def wrong(x: torch.Tensor) -> torch.Tensor:
    return x * 2.01


def crashing(x: torch.Tensor) -> torch.Tensor:
    import os

    os.kill(os.getpid(), 11)
    return x


def added(x: torch.Tensor) -> torch.Tensor:
    return x + x


def looked_up(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return x[rows] * 2


def only_right_on_its_contents(x: torch.Tensor) -> torch.Tensor:
    return x + 3.0  # which is 2 x where x is 3


@pytest.fixture(autouse=True)
def devices_without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a worker on the CPU, also on a machine with a GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def derived_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is derived in this process, which has torch; another one is started in the tests without this."""

    def here(question: Question) -> Derivation:
        try:
            return with_types_of_subject(question, derivation(question, time.monotonic() + 60))
        except Exception as error:
            raise DeriveError(str(error)) from error

    monkeypatch.setattr(workspace, "derive", here)


X = torch.randn(64, 128)


def test_a_function_is_verified_and_timed(tmp_path: Path) -> None:
    path = tmp_path / "kept.roofscope"
    result = measure(doubled, X, reference="x * 2", ceilings=False, session=path)
    assert result.is_measured
    assert result.median_s > 0
    assert result.relative_error <= 1e-6
    assert (result.byte_count, result.flop_count) == (2 * X.nbytes, X.numel())
    assert result.point.job.work.is_derived
    assert result.point.label == "doubled / eager doubled"
    assert "65.5 kB, 8.19 kFLOP (derived)" in repr(result)
    assert "; at these sizes, no others were tried" in repr(result)
    html = result._repr_html_()
    assert html.count("<svg") == 1
    assert "(derived)" in html
    kept = session_reader.load(path)
    assert kept.points[0].job.work.is_derived
    assert kept.specs["doubled"].work.derived.startswith("Derived from the reference:")
    assert roofscope.load(path).frame()["kernel"].tolist() == ["doubled"]


def test_a_crash_costs_a_result_and_not_the_program() -> None:
    result = measure(crashing, X, reference="x", ceilings=False)
    assert not result.is_measured
    assert isinstance(result.point.outcome, Failed)
    assert result.point.outcome.kind is FailureKind.WORKER_LOST
    assert "SIGSEGV" in repr(result)
    assert "<svg" not in result._repr_html_()
    with pytest.raises(NotMeasured, match=r"crashing has no time\. Failed"):
        _ = result.median_s


@pytest.mark.usefixtures("derived_here")
def test_a_wrong_function_says_where() -> None:
    result = measure(wrong, X, reference="x * 2", ceilings=False)
    assert isinstance(result.point.outcome, Failed)
    assert result.point.outcome.kind is FailureKind.WRONG_VALUES


@pytest.mark.usefixtures("derived_here")
def test_without_a_reference_float64_judges() -> None:
    result = measure(torch.nn.Linear(128, 16), X, ceilings=False)
    assert result.is_measured
    # The weights are inputs that it brings itself.
    assert result.byte_count == X.nbytes + 4 * (128 * 16 + 16) + 4 * 64 * 16
    assert result.flop_count == 2 * 64 * 128 * 16


@pytest.mark.usefixtures("derived_here")
def test_strides_and_indices_are_kept() -> None:
    rows = torch.tensor([5, 63, 5, 0])
    result = measure(looked_up, X.T, rows, ceilings=False, reference=looked_up)
    assert result.is_measured, repr(result)


@pytest.mark.usefixtures("derived_here")
def test_contents_are_kept_where_they_matter() -> None:
    threes = torch.full((64, 128), 3.0)
    assert not measure(only_right_on_its_contents, threes, reference="x * 2", ceilings=False).is_measured
    kept = measure(only_right_on_its_contents, threes, reference="x * 2", ceilings=False, contents=True)
    assert kept.is_measured, repr(kept)


@pytest.mark.usefixtures("derived_here")
def test_two_functions_are_timed_in_turn() -> None:
    found = compare(doubled, added, X)
    assert found.speed_up.common_rounds > 0 or found.speed_up.ratio > 0
    assert found.interval[0] <= found.ratio <= found.interval[1]
    assert "as fast as added" in repr(found)
    with pytest.raises(AssertionError, match=r"doubled is .* as fast as added, .*; more than .*"):
        found.assert_faster(1e12)
    with pytest.raises(AssertionError, match=r"less than .* is shown"):
        found.assert_not_slower(1e12)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((1, 2), {}, "no tensor among the arguments"),
        ((X.double(),), {}, "None of the tensors is of a type that a workload can have"),
        ((X,), {"device": "cuda:9"}, "There is no device 'cuda:9'"),
        ((X,), {"reference": "x @ y"}, "NameError: name 'y' is not defined"),
        ((torch.empty(2**30, device="meta"),), {"contents": True}, r"hold 4\.00 GiB; .* at most 2\.00 GiB"),
        ((torch.empty(16, device="meta"),), {"contents": True}, "x is a shape without contents"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(
    arguments: tuple[Any, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(MeasureError, match=said):
        measure(doubled, *arguments, **options)


SCRIPT = """
import torch
import roofscope

def f(x):
    return x * 2

print(roofscope.measure(f, torch.ones(1000), ceilings=False))
"""


def test_a_script_measures_its_own_functions(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = "import runpy, sys\nrunpy.run_path(sys.argv[1], run_name='__main__')"
    found = subprocess.run([*python(run), str(script)], capture_output=True, text=True, check=False)
    assert found.stdout.startswith("f(x 1000 float32) on "), found.stderr
    assert found.stdout.count("correct") == 1


RECURSION = (
    "A module that is being measured measures in its turn when it is imported; put the call under "
    'if __name__ == "__main__".'
)
MODULE = """
import torch
import roofscope

def f(x):
    return x * 2

try:
    roofscope.measure(f, torch.ones(1000), ceilings=False)
except Exception as error:
    open(__file__ + ".said", "a").write(f"{error}\\n")
"""


def test_a_module_that_measures_at_import_does_not_measure_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "measures_at_import.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("measures_at_import")
    said = (tmp_path / "measures_at_import.py.said").read_text().splitlines()
    assert set(said) == {RECURSION}


TESTS = """
import torch

def f(x):
    return x + x

def g(x):
    return x * 2

def wrong(x):
    return x * 3

X = torch.ones(4096)

def test_measures(roofscope):
    assert roofscope.measure(f, X).median_s > 0

def test_compares(roofscope):
    roofscope.assert_not_slower(f, g, X, at_least=1e-6)

def test_is_not_that_fast(roofscope):
    roofscope.assert_faster(f, g, X, at_least=1e9)

def test_is_wrong(roofscope):
    roofscope.measure(wrong, X, reference=g)
"""


def test_the_fixture_measures_and_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    plugin = "roofscope.app.notebook.pytest_plugin"
    options = [
        "-q",
        "-p",
        "no:roofscope",
        "-p",
        plugin,
        "-p",
        "no:cacheprovider",
        "--rootdir=.",
        "test_mine.py",
    ]
    command = python(f"import pytest, sys\nsys.exit(pytest.main({options!r}))")
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 failed, 2 passed" in found.stdout, found.stdout + found.stderr
    assert "× is not shown." in found.stdout
    assert "Failed (wrong values)" in found.stdout
