"""What compilers make, without a GPU: NVRTC, Triton ahead of time, Inductor on the CPU, and disassemblers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.results.generated import CodeKind
from roofscope.profiling.results.outcome import BuiltKernel
from roofscope.profiling.worker.build import machine_code, providers
from roofscope.profiling.worker.build.contract import BuildRequest, Built, FirstCall, run_of
from roofscope.profiling.worker.build.machine_code import Budget

PLAIN = "def run(x):\n    return x.sin() * 2\n"
BRANCH = "def run(x):\n    if x.sum().item() > 0:\n        return x + 1\n    return x - 1\n"

needs_nvdisasm = pytest.mark.skipif(machine_code.tool_path("nvdisasm") is None, reason="nvdisasm is not here")


def built(folder: Path, source: str) -> Built:
    (folder / "eager.py").write_text(source)
    version = Implementation("toy", Provider.COMPILE, "default", "hash")
    request = BuildRequest(version, folder, Workload("toy", Dtype.FLOAT32, {}), torch.device("cpu"))
    return providers.build(request)


@pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles
def test_inductors_code_is_that_of_the_measured_sizes_also_when_found_on_disk(tmp_path: Path) -> None:
    for _ in range(2):  # the second one finds the graph in the cache
        version = built(tmp_path, PLAIN)
        for size in (4096, 37, 4096):
            version.call(torch.rand(size))
        [code] = version.code(Budget())
        assert (code.kind, code.name) == (CodeKind.INDUCTOR, "graph 1 of 1")
        assert "cpp_fused_mul_sin_0" in code.text
        assert "4096" in code.text
        assert "37" not in code.text.partition("cpp_fused_mul_sin_0")[2]
        assert version.info().kernels == ()


@pytest.mark.filterwarnings("ignore")
def test_each_graph_has_a_text_of_its_own(tmp_path: Path) -> None:
    version = built(tmp_path, BRANCH)
    version.call(torch.rand(1000))
    codes = list(version.code(Budget()))
    assert [code.name for code in codes] == ["graph 1 of 2", "graph 2 of 2"]
    assert codes[0].text != codes[1].text


def test_nvrtc_gives_ptx_and_machine_code() -> None:
    cuda = pytest.importorskip(
        "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not here"
    )
    module, ptx = cuda.compiled(LIBRARY / "gelu" / "cuda_naive.cu", Dtype.FLOAT32, "sm_90a")
    assert ".entry gelu" in ptx
    assert not ptx.endswith("\0")
    if machine_code.tool_path("nvdisasm"):
        [code] = machine_code.sass_of("cuda_naive", bytes(module.code), Budget())
        assert code.kind is CodeKind.SASS
        assert "EXIT" in code.text
        assert "gelu" in code.text


def compiled_ahead() -> Any:
    """The kernel of the online softmax, for an H100, as a call with these sizes would compile it."""
    pytest.importorskip("triton", reason="Triton is not installed here")
    from triton import compile as compile_triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = load_module(LIBRARY / "softmax" / "triton_online.py")._softmax
    signature = {"x": "*fp32", "y": "*fp32", "cols": "constexpr", "COLS": "constexpr"}
    source = ASTSource(kernel, signature, {"cols": 1000, "COLS": 1024})
    return compile_triton(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})


@pytest.mark.filterwarnings("ignore")  # Triton's own, while it compiles
def test_triton_gives_every_stage_and_its_constants() -> None:
    from roofscope.profiling.worker.build.triton_code import built_kernels, code_of

    kernel = compiled_ahead()
    [facts] = built_kernels([kernel, kernel])
    assert isinstance(facts, BuiltKernel)
    assert (facts.name, facts.warps, facts.cluster) == ("_softmax", 8, None)
    assert dict(facts.constants) == {"cols": "1000", "COLS": "1024"}
    assert facts.stages is not None
    assert facts.shared_bytes is not None
    codes = {code.kind: code for code in code_of([kernel], Budget())}
    assert set(codes) >= {CodeKind.TTIR, CodeKind.TTGIR, CodeKind.LLIR, CodeKind.PTX}
    assert "tt.func" in codes[CodeKind.TTIR].text
    assert "#blocked" in codes[CodeKind.TTGIR].text
    assert ".visible .entry _softmax" in codes[CodeKind.PTX].text
    assert all(code.name == "_softmax" for code in codes.values())
    if machine_code.tool_path("nvdisasm"):
        assert "EXIT" in codes[CodeKind.SASS].text


def test_a_kernel_that_says_nothing_of_itself_costs_nothing() -> None:
    from roofscope.profiling.worker.build.triton_code import built_kernels, code_of

    silent = SimpleNamespace(metadata=SimpleNamespace())
    assert built_kernels([silent]) == (BuiltKernel("kernel"),)
    assert list(code_of([silent], Budget())) == []


@needs_nvdisasm
def test_what_is_no_machine_code_gives_none() -> None:
    assert list(machine_code.sass_of("a", b"no cubin", Budget())) == []


def test_without_a_disassembler_there_is_no_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "tool_path", lambda _tool: None)
    assert list(machine_code.sass_of("a", b"", Budget())) == []
    assert list(machine_code.code_of_library("a", Path("/nowhere.so"), Budget())) == []


def test_eager_and_libraries_give_none() -> None:
    call = FirstCall(run_of(load_module(LIBRARY / "gelu" / "eager.py"), "x"))
    assert list(Built(call, lambda: None).code(Budget())) == []  # type: ignore[arg-type, return-value]
