"""Other people's kernels: what is said where they are not installed. Their numbers need a GPU: tests/gpu."""

import sys
from pathlib import Path

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.build.providers import build, library
from roofscope.profiling.worker.failures import Unavailable
from roofscope.tests.kernels.cases import CATALOG, implementations, name_of

LIGERS = [pair for pair in implementations(Provider.LIBRARY) if pair[1].variant == "liger"]


def request_of(folder: Path, stem: str, kernel: str = "softmax", device: str = "cuda:0") -> BuildRequest:
    version = Implementation(kernel, Provider.LIBRARY, stem.removeprefix("library_"), "hash")
    return BuildRequest(version, folder, Workload(kernel, Dtype.FLOAT32, {}), torch.device(device))


@pytest.mark.parametrize(("kernel", "version"), LIGERS, ids=name_of)
def test_a_missing_package_is_one_sentence(
    kernel: Kernel, version: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "liger_kernel", None)
    with pytest.raises(Unavailable, match=r"^Liger-Kernel is not installed; install the `peers` extra\.$"):
        library.build(request_of(kernel.folder, version.stem, kernel.spec.name))


def test_any_other_missing_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "library_theirs.py").write_text("from not_there.inside import run")
    with pytest.raises(Unavailable, match=r"^The package not_there is not installed here\.$"):
        library.build(request_of(tmp_path, "library_theirs"))


def test_a_broken_package_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "library_theirs.py").write_text("from json.inside import run")
    with pytest.raises(ModuleNotFoundError):
        library.build(request_of(tmp_path, "library_theirs"))


def test_libraries_need_a_gpu() -> None:
    softmax = CATALOG.kernel("softmax")
    assert softmax is not None
    with pytest.raises(Unavailable, match="Library kernels need an NVIDIA GPU"):
        build(request_of(softmax.folder, "library_liger", device="cpu"))


def test_the_first_call_is_timed_as_compiling(tmp_path: Path) -> None:
    (tmp_path / "library_theirs.py").write_text("def run(x):\n    return x + 1\n")
    built = library.build(request_of(tmp_path, "library_theirs"))
    assert built.call(torch.zeros(3)).tolist() == [1, 1, 1]
    assert built.info().compile_s > 0
