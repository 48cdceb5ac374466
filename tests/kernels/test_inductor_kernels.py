"""Triton's kernels behind torch's launchers: made by torch itself of a kernel compiled ahead of time."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roofscope.profiling.results.generated import CodeKind
from roofscope.profiling.results.outcome import BuiltKernel
from roofscope.profiling.worker.build.inductor_kernels import kernels_of
from roofscope.profiling.worker.build.machine_code import Budget
from roofscope.tests.kernels.test_generated_code import compiled_ahead

pytestmark = pytest.mark.filterwarnings("ignore")  # Triton's own, while it compiles
STAGES = {CodeKind.TTIR, CodeKind.TTGIR, CodeKind.LLIR, CodeKind.PTX}
META: dict[str, Any] = {"device": 0, "device_type": "cuda", "constants": {}, "signature": {}}


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compiled for an H100 into a cache of its own, as torch compiles: in the folder that it looks in."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    return compiled_ahead()


def static_launcher(kernel: Any) -> tuple[Any, Any]:
    """Torch's static result and its launcher; loading a kernel, which needs a GPU, is played."""
    heuristics: Any = importlib.import_module("torch._inductor.runtime.triton_heuristics")
    launching: Any = pytest.importorskip("torch._inductor.runtime.static_triton_launcher")
    kernel._cubin_path = next(path for name, path in kernel.metadata_group.items() if name.endswith("cubin"))
    static = launching.StaticallyLaunchedCudaKernel(kernel)

    def load(_device: int) -> None:
        static.n_regs, static.n_spills = 40, 8

    static.load_kernel = load
    result = heuristics.StaticTritonCompileResult(static, config(), META, {"grid_type": "Grid1D"})
    return result, result.make_launcher()


def config() -> Any:
    return importlib.import_module("triton").Config({"COLS": 1024}, num_warps=8, num_stages=3)


def facts_and_kinds(tuner: object) -> tuple[BuiltKernel, set[CodeKind]]:
    from roofscope.profiling.worker.build.triton_code import built_kernels, code_of

    kernels = list(kernels_of([1, None, tuner]))
    [facts] = built_kernels(kernels)
    return facts, {code.kind for code in code_of(kernels, Budget())} - {CodeKind.SASS}


def test_a_static_launcher_gives_registers_spills_and_the_stages(kernel: Any) -> None:
    result, launcher = static_launcher(kernel)
    assert not hasattr(launcher, "bin")
    facts, kinds = facts_and_kinds(SimpleNamespace(launchers=[launcher], compile_results=[result]))
    assert (facts.name, facts.registers, facts.spill_bytes) == ("_softmax", 40, 32)
    assert facts.shared_bytes == kernel.metadata.shared
    assert (facts.warps, facts.stages, facts.cluster) == (8, 3, None)
    assert dict(facts.constants) == {"COLS": "1024"}
    assert kinds == STAGES


def test_what_became_of_a_tuned_configuration_is_found_without_its_result(kernel: Any) -> None:
    """Coordinate descent makes launchers that no list of results has."""
    _, launcher = static_launcher(kernel)
    tuner = SimpleNamespace(launchers=[launcher], compile_results=[], fn=SimpleNamespace(__name__="_softmax"))
    facts, kinds = facts_and_kinds(tuner)
    assert (facts.registers, facts.spill_bytes, facts.warps) == (40, 32, 8)
    assert facts.shared_bytes == kernel.metadata.shared
    assert kinds == STAGES


def test_the_other_launcher_gives_tritons_own_kernel(kernel: Any) -> None:
    chosen = config()
    result = SimpleNamespace(kernel=kernel, config=chosen)
    launcher = SimpleNamespace(config=chosen, n_regs=40, n_spills=8)
    other = SimpleNamespace(kernel=SimpleNamespace(), config=config())
    tuner = SimpleNamespace(launchers=[launcher], compile_results=[other, result])
    assert list(kernels_of([tuner])) == [kernel]
    kept = SimpleNamespace(launchers=[SimpleNamespace(bin=kernel)])
    assert list(kernels_of([kept])) == [kernel]


def strange(**attributes: object) -> SimpleNamespace:
    return SimpleNamespace(launchers=[SimpleNamespace(**attributes)])


def bare(_: Path) -> SimpleNamespace:
    return strange()


def wrong(_: Path) -> SimpleNamespace:
    return strange(n_regs="many", n_spills=-1, shared=None, cache_hash=7)


def nowhere(_: Path) -> SimpleNamespace:
    return strange(cache_hash="nowhere", config=3)


def text_as_metadata(folder: Path) -> SimpleNamespace:
    (folder / "key").mkdir()
    (folder / "key" / "k.json").write_text(json.dumps({"shared": "much", "num_warps": -4, "num_ctas": 1e99}))
    return SimpleNamespace(launchers=[SimpleNamespace(cache_hash="key")], fn=SimpleNamespace(__name__="k"))


@pytest.mark.parametrize(
    "make",
    [bare, wrong, nowhere, text_as_metadata],
)
def test_a_launcher_that_is_not_as_known_gives_what_it_has(
    make: Callable[[Path], SimpleNamespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    facts, kinds = facts_and_kinds(make(tmp_path))
    assert facts == BuiltKernel(facts.name)
    assert not kinds
