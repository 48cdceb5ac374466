"""Other people's kernels: what is said where they are not installed. Their numbers need a GPU: tests/gpu."""

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import torch

from roofscope.profiling.paths import PACKAGE
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.build.providers import build, library
from roofscope.profiling.worker.failures import Unavailable
from roofscope.tests.kernels.cases import CATALOG, implementations, name_of

# By the end of the file's name: the module that is missing, and what the sentence calls it.
PEERS = {
    "liger": ("liger_kernel", "Liger-Kernel"),
    "quack": ("quack", "QuACK"),
    "fa4": ("flash_attn", "FlashAttention-4"),
    "cub": ("cuda.compute", "CUB for Python (cuda-cccl)"),
}
OF_A_PEER = r"roofscope\.kernels\.(shared\.(fa4|cub)|\w+\.library_\w+)$"
OF_PEERS = [pair for pair in implementations(Provider.LIBRARY) if pair[1].variant in PEERS]
# What no extra installs, as it would bring other versions of what the program needs.
APART = [pair for pair in implementations(Provider.LIBRARY) if pair[1].variant in ("flashinfer", "xqa")]


def request_of(folder: Path, stem: str, kernel: str = "softmax", device: str = "cuda:0") -> BuildRequest:
    version = Implementation(kernel, Provider.LIBRARY, stem.removeprefix("library_"), "hash")
    return BuildRequest(version, folder, Workload(kernel, Dtype.FLOAT32, {}), torch.device(device))


@pytest.mark.parametrize(("kernel", "version"), OF_PEERS, ids=name_of)
def test_a_missing_package_is_one_sentence(
    kernel: Kernel, version: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name = PEERS[version.variant]
    monkeypatch.setitem(sys.modules, module, None)
    if version.variant == "quack":  # a file may begin with what QuACK itself stands on
        monkeypatch.setitem(sys.modules, "cutlass", MagicMock())
    # Which others of this process may have imported with a stand-in.
    for imported in [name for name in sys.modules if re.match(OF_A_PEER, name)]:
        monkeypatch.delitem(sys.modules, imported)
    with pytest.raises(Unavailable) as found:
        library.build(request_of(kernel.folder, version.stem, kernel.spec.name))
    assert str(found.value) == f"{name} is not installed; install the `peers` extra."


@pytest.mark.parametrize(("kernel", "version"), APART, ids=name_of)
def test_what_no_extra_installs_is_named_by_its_package(
    kernel: Kernel, version: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "flashinfer", None)
    with pytest.raises(Unavailable, match=r"^The package flashinfer is not installed here\.$"):
        library.build(request_of(kernel.folder, version.stem, kernel.spec.name))


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("flash_attn.cute", "FlashAttention-4 is not installed; install the `peers` extra."),  # 2 is
        ("cuda.compute", "CUB for Python (cuda-cccl) is not installed; install the `peers` extra."),
        ("cutlass", "The CuTe DSL (nvidia-cutlass-dsl) is not installed; install the `peers` extra."),
        ("not_there", "The package not_there is not installed here."),
    ],
)
def test_what_is_missing_goes_by_the_name_of_its_package(tmp_path: Path, module: str, sentence: str) -> None:
    (tmp_path / "library_theirs.py").write_text(f"raise ModuleNotFoundError(name={module!r})")
    with pytest.raises(Unavailable) as found:
        library.build(request_of(tmp_path, "library_theirs"))
    assert str(found.value) == sentence


def test_only_files_of_libraries_name_their_packages() -> None:
    """Another module that imported one would take it into processes that must not start CUDA."""
    packages = re.compile(
        r"^\s*(?:from|import) "
        r"(liger_kernel|quack|flash_attn|flashinfer|cutlass|cuda\.compute|\S+\.shared\.(fa4|cub))\b",
        re.MULTILINE,
    )
    files = (file for folder in ("app", "kernels", "profiling") for file in (PACKAGE / folder).rglob("*.py"))
    importing = {str(file.relative_to(PACKAGE)) for file in files if packages.search(file.read_text())}
    of_them = (*OF_PEERS, *APART, *implementations(Provider.CUTE))
    theirs = {f"kernels/{kernel.spec.name}/{version.stem}.py" for kernel, version in of_them}
    # Imported by these alone: no server of processes imports what lies beside kernels.
    assert importing - theirs == {"kernels/shared/fa4.py", "kernels/shared/device_pointers.py"}


def test_the_server_of_processes_imports_no_library(tmp_path: Path) -> None:
    """It never touches CUDA, which does not survive a fork: QuACK asks for the GPU where it is imported."""
    for package in ("liger_kernel", "quack", "flash_attn", "flashinfer", "tvm_ffi"):
        (tmp_path / f"{package}.py").write_text(f"print('imported {package}', flush=True)")
    code = (
        "from roofscope.profiling.worker.candidate import fork_server, compilers; import torch\n"
        "fork_server._import_providers()\n"
        "compilers.Compilers().make_ready(compilers.Compiler.TRITON | compilers.Compiler.INDUCTOR)\n"
        "print('started' if torch.cuda.is_initialized() else 'no CUDA')"
    )
    paths = os.pathsep.join([str(tmp_path), str(PACKAGE / ".ci" / "path")])
    environment = {**os.environ, "PYTHONPATH": paths}
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n") == ["no CUDA", ""]


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
