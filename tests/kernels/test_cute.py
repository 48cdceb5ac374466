"""The CuTe DSL: what is said without it, a folder of one's own with a played one, and what it compiles here.

It compiles for a GPU that is not here; the numbers of its kernels need one: tests/gpu.
"""

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import Kernel, load_module, scan
from roofscope.profiling.planning.plan import by_default
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.worker.build.contract import BuildRequest
from roofscope.profiling.worker.build.machine_code import Budget, tool_path
from roofscope.profiling.worker.build.providers import build, cute
from roofscope.profiling.worker.candidate.messages import Layout, Target
from roofscope.profiling.worker.failures import BuildError, Refusal, Unavailable
from roofscope.tests.kernels.cases import CATALOG, implementations, name_of

SHIPPED = list(implementations(Provider.CUTE))
CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
HOPPER = "sm_90a"
SPEC = """
from roofscope import Axis, KernelSpec, Preset, TensorSpec, Tolerance, WorkFormula
SPEC = KernelSpec(
    name="twice", title="Twice", formula="y = 2 x", axes=(Axis("n", "elements"),),
    inputs=(TensorSpec("x", ("n",)),), outputs=(TensorSpec("y", ("n",)),),
    work=WorkFormula(flop_count="n", read_bytes="n*s", write_bytes="n*s"),
    tolerance=Tolerance(float32=1e-6, float16=1e-3, bfloat16=8e-3),
    presets=(Preset("small", {"n": 64}),), odd_sizes=({"n": 7},), large_magnitude=1e4,
)
"""
MINE = """
import torch
from cutlass import cute
from roofscope import Choice

DOMAIN = "n >= 4"
FACTOR = Choice(2, 3)


def run(x: torch.Tensor) -> torch.Tensor:
    return cute.compile(lambda values: FACTOR * values)(x)
"""


def request_of(
    kernel: Kernel, version: Implementation, device: torch.device = GPU, inputs: tuple[str, ...] = ()
) -> BuildRequest:
    workload = Workload(kernel.spec.name, Dtype.FLOAT32, {})
    return BuildRequest(version, kernel.folder, workload, device, inputs)


@pytest.fixture
def mine(tmp_path: Path) -> tuple[Kernel, Implementation]:
    """A kernel in a folder of the user's own, and its version in the DSL."""
    folder = tmp_path / "twice"
    folder.mkdir()
    (folder / "spec.py").write_text(SPEC)
    for name in ("reference.py", "eager.py"):
        (folder / name).write_text("def run(x):\n    return 2 * x\n")
    (folder / "cute_mine.py").write_text(MINE)
    kernel = scan([tmp_path]).kernel("twice")
    assert kernel is not None
    version = kernel.implementation("cute_mine")
    assert version is not None
    return kernel, version


@pytest.fixture
def played_dsl(monkeypatch: pytest.MonkeyPatch) -> None:
    """A DSL that compiles nothing: what it returns calls the function on tensors of the CPU."""

    class JitCompiledFunction:
        def __init__(self, function: Any) -> None:
            self._function = function

        def __call__(self, *arguments: Any) -> Any:
            return self._function(*arguments)

    def module(name: str, **values: Any) -> ModuleType:
        made = ModuleType(name)
        vars(made).update(values)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    runtime = module("cutlass.cute.runtime", from_dlpack=lambda tensor: tensor)
    dsl = module("cutlass.cute", compile=JitCompiledFunction, runtime=runtime)
    executor = module("cutlass.base_dsl.jit_executor", JitCompiledFunction=JitCompiledFunction)
    base = module("cutlass.base_dsl", jit_executor=executor)
    module("cutlass", cute=dsl, base_dsl=base)
    monkeypatch.setenv("CUTE_DSL_ARCH", HOPPER)


def test_a_version_in_ones_own_folder_is_found_with_its_domain_and_parameters(
    mine: tuple[Kernel, Implementation],
) -> None:
    kernel, version = mine
    assert (version.provider, version.label, version.domain) == (Provider.CUTE, "CuTe mine", "n >= 4")
    assert [one.name for one in version.parameters] == ["FACTOR"]
    assert [source.name for source in kernel.sources(version)] == ["cute_mine.py"]
    assert kernel.is_unchanged(version)
    assert by_default(kernel, version)
    assert not any(by_default(*shipped) for shipped in SHIPPED)


@pytest.mark.usefixtures("played_dsl")
def test_a_version_in_ones_own_folder_is_built_and_what_it_compiles_is_noted(
    mine: tuple[Kernel, Implementation],
) -> None:
    kernel, version = mine
    built = cute.build(request_of(kernel, version, inputs=("x",)))
    assert built.call(torch.ones(5)).tolist() == [2.0] * 5
    assert built.info().compile_s > 0
    assert built.info().architecture == HOPPER
    assert built.info().kernels == ()  # it holds no machine code
    assert list(built.code(Budget(1.0))) == []
    chosen = version.with_parameters(tuple(one.chosen(3) for one in version.parameters))
    assert cute.build(request_of(kernel, chosen)).call(torch.ones(2)).tolist() == [3.0, 3.0]


@pytest.mark.usefixtures("played_dsl")
def test_a_version_in_ones_own_folder_is_examined_without_a_gpu(mine: tuple[Kernel, Implementation]) -> None:
    request = replace(request_of(*mine), target=Target("sm_90", (Layout((5,), "float32"),)))
    built = build(request)
    assert built.info().architecture == HOPPER
    with pytest.raises(AssertionError, match="a GPU that is not here"):
        built.call(torch.ones(5))


@pytest.mark.usefixtures("played_dsl")
def test_what_asks_for_contents_is_not_examined(mine: tuple[Kernel, Implementation]) -> None:
    kernel, version = mine
    text = "from cutlass.cute.runtime import from_dlpack\n\n\ndef run(x):\n    return from_dlpack(x)\n"
    (kernel.folder / "cute_mine.py").write_text(text)
    target = Target("sm_90", (Layout((5,), "float32"),))
    with pytest.raises(Refusal, match="hands tensors to from_dlpack, which asks the GPU itself"):
        build(replace(request_of(kernel, version), target=target))


@pytest.mark.usefixtures("played_dsl")
def test_a_run_of_other_inputs_is_said_before_it_is_called(mine: tuple[Kernel, Implementation]) -> None:
    with pytest.raises(BuildError, match=r"run cannot be called with \(x, y\)"):
        cute.build(request_of(*mine, inputs=("x", "y")))


@pytest.mark.parametrize(("kernel", "version"), SHIPPED, ids=name_of)
def test_a_missing_package_is_one_sentence(
    kernel: Kernel, version: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cutlass.cute", None)
    with pytest.raises(Unavailable, match=r"^CuTe DSL is not installed; install the `cute` extra\.$"):
        build(request_of(kernel, version))


@pytest.mark.parametrize(("kernel", "version"), SHIPPED, ids=name_of)
def test_it_needs_a_gpu(kernel: Kernel, version: Implementation) -> None:
    with pytest.raises(Unavailable, match="CuTe DSL kernels need an NVIDIA GPU"):
        build(request_of(kernel, version, CPU))


def test_three_kernels_have_a_version() -> None:
    assert {kernel.spec.name for kernel, _ in SHIPPED} == {"vector_add", "softmax", "matmul"}


@pytest.fixture
def dsl(monkeypatch: pytest.MonkeyPatch) -> None:
    """The DSL itself, compiling for a Hopper that is not here. It reads the variable when it is imported."""
    monkeypatch.setenv("CUTE_DSL_ARCH", HOPPER)
    pytest.importorskip("cutlass.cute", reason="the CuTe DSL is not installed here")


ARGUMENTS = {
    "cute_vectors": [(torch.float32, 16), (torch.bfloat16, 16), (torch.float16, 2)],
    "cute_online": [(torch.float32, 4, 32), (torch.bfloat16, 8, 512), (torch.float16, 1, 128)],
    "cute_wgmma": [(torch.float16, 128), (torch.bfloat16, 256)],
}
CASES = [(stem, arguments) for stem, several in ARGUMENTS.items() for arguments in several]


@pytest.mark.filterwarnings("ignore")  # the DSL's own
@pytest.mark.usefixtures("dsl")
@pytest.mark.parametrize(("stem", "arguments"), CASES, ids=name_of)
def test_it_compiles_without_a_gpu_into_code_without_spills(stem: str, arguments: tuple[Any, ...]) -> None:
    (kernel,) = (kernel for kernel in CATALOG.kernels if kernel.implementation(stem))
    compiled = cute._Compiled(cute.compiled_class())
    with compiled:
        load_module(kernel.folder / f"{stem}.py").compiled(*arguments)
    assert len(compiled.cubins()) == 1
    if tool_path("cuobjdump") is None:
        return
    info = cute._info(compiled, 1.0, HOPPER)
    assert info.registers
    assert info.spill_bytes == 0
    (code,) = cute._code(compiled, Budget(60.0))
    assert code.name == {"cute_vectors": "_add", "cute_online": "_softmax", "cute_wgmma": "_multiply"}[stem]
    wide = {"cute_wgmma": "HGMMA.64x"}.get(stem, "LDG.E.128" if _is_wide(arguments) else "LDG.E")
    assert wide in code.text


SIZES = {
    "vector_add": {"n": 4096},
    "softmax": {"rows": 8, "cols": 1024},
    "matmul": {"m": 64, "n": 70, "k": 40},
}


@pytest.mark.filterwarnings("ignore")  # the DSL's own
@pytest.mark.usefixtures("dsl")
@pytest.mark.parametrize(("kernel", "version"), SHIPPED, ids=name_of)
def test_it_is_examined_as_its_own_launcher_calls_it(kernel: Kernel, version: Implementation) -> None:
    shapes = [kernel.spec.shape(tensor, SIZES[kernel.spec.name]) for tensor in kernel.spec.inputs]
    target = Target("sm_90", tuple(Layout(shape, "bfloat16") for shape in shapes))
    info = build(replace(request_of(kernel, version), target=target)).info()
    assert info.architecture == HOPPER
    assert len(info.kernels) == (1 if tool_path("cuobjdump") else 0)


def _is_wide(arguments: tuple[Any, ...]) -> bool:
    dtype, count, *_ = arguments
    return count * (dtype.itemsize if len(arguments) == 3 else 1) == 16
