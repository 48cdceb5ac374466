"""The CUDA versions compiled by NVRTC with no GPU: each for one architecture, and for all that we claim."""

import functools
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider
from roofscope.profiling.worker.build.contract import double_instructions
from roofscope.profiling.worker.build.without_gpu.resource_usage import usage_in
from roofscope.profiling.worker.failures import Refusal
from roofscope.tests.kernels.cases import implementations, name_of, random_inputs

cuda = pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

# Of each set of instructions one: 8.6 has those of 8.0, and less shared memory, which launchers ask for.
CAPABILITIES = [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)]
_OLDEST = (7, 5)
_EVERY_DTYPE = (9, 0)  # elsewhere one will do: half a second a compilation


def targets(kernel: Kernel, version: Implementation) -> list[tuple[tuple[int, int], Dtype]]:
    """What a version is compiled for: a capability and an element type each."""
    launcher = load_module(kernel.folder / f"{version.stem}.py")
    return [
        (capability, dtype)
        for capability in _capabilities(launcher)
        for dtype in (kernel.spec.dtypes if capability == _EVERY_DTYPE else kernel.spec.dtypes[-1:])
    ]


def _capabilities(launcher: ModuleType) -> list[tuple[int, int]]:
    """Those a launcher claims: from a least one on, or the one whose own instructions it uses."""
    oldest = getattr(launcher, "MINIMUM_COMPUTE_CAPABILITY", _OLDEST)
    newest = getattr(launcher, "MAXIMUM_COMPUTE_CAPABILITY", CAPABILITIES[-1])
    return [capability for capability in CAPABILITIES if oldest <= capability <= newest]


@functools.cache
def cuobjdump() -> Path | None:
    """The tool that comes with Triton."""
    triton = pytest.importorskip("triton", reason="cuobjdump comes with Triton, which is not installed here")
    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return path if path.exists() else None


each_version = pytest.mark.parametrize(
    ("kernel", "version"), list(implementations(Provider.CUDA)), ids=name_of
)


@each_version
def test_compiles_for_one_architecture(kernel: Kernel, version: Implementation, tmp_path: Path) -> None:
    """The one for which all dtypes are compiled below, where the version claims it."""
    every = targets(kernel, version)
    one = next((target for target in every if target[0] == _EVERY_DTYPE), every[-1])
    compile_without_spilling(kernel, version, [one], tmp_path)


@pytest.mark.exhaustive
@each_version
def test_compiles_for_every_architecture(kernel: Kernel, version: Implementation, tmp_path: Path) -> None:
    compile_without_spilling(kernel, version, targets(kernel, version), tmp_path)


def compile_without_spilling(
    kernel: Kernel, version: Implementation, every: list[tuple[tuple[int, int], Dtype]], folder: Path
) -> None:
    """Each kernel of the compiled file keeps to registers; a file without one has a launcher that refuses."""
    source = kernel.folder / f"{version.stem}.cu"
    tool = cuobjdump()

    def usage(capability: tuple[int, int], dtype: Dtype) -> str:
        """What the kernels of the compiled file need; nothing without the tool that tells."""
        compiled = cuda.compile_source(source, dtype, cuda.architecture_of(capability))
        assert compiled.code.startswith(b"\x7fELF")
        if tool is None:
            return ""
        cubin = folder / "sm_{}{}_{}.cubin".format(*capability, dtype)
        cubin.write_bytes(compiled.code)
        return subprocess.run([tool, "-res-usage", cubin], capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        usages = list(pool.map(usage, *zip(*every, strict=True)))
    if tool is None:
        pytest.skip("compiled; whether it spills cannot be told without cuobjdump")

    for target, text in zip(every, usages, strict=True):
        kernels = re.findall(r"Function (\w+):\s+REG:\d+ STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", text)
        if not kernels:  # then the launcher must say so
            inputs = random_inputs(kernel, kernel.spec.odd_sizes[0], target[1])
            with pytest.raises(Refusal):
                load_module(source.with_suffix(".py")).run(None, *inputs)
        spilling = [name for name, stack, local in kernels if int(stack) or int(local)]
        assert spilling == [], target


@pytest.mark.parametrize("kernel", ["softmax", "rms_norm", "add_rms_norm", "layer_norm"])
def test_registers_of_held_rows_are_as_their_launchers_say(kernel: str) -> None:
    """Which say how many rows run at once; other compilers give a few more or less."""
    found = usage_in(cuda.compile_source(LIBRARY / kernel / "cuda_cluster.cu", Dtype.BFLOAT16, "sm_90a").code)
    held = load_module(LIBRARY / kernel / "cuda_cluster.py").HELD
    names = [*(f"{packs}" for packs in (1, 2, 4, 8)), *(f"{packs}_any" for packs in (2, 4, 8))]
    for name, registers in zip(names, (*held.aligned, *held.anywhere), strict=True):
        assert abs(found[f"{kernel}_cluster_held_{name}"].registers - registers) <= 8, name


@pytest.mark.parametrize(("stem", "doubles"), [("cuda_naive", True), ("cuda_sigmoid", False)])
def test_arithmetic_in_double_is_counted(stem: str, doubles: bool) -> None:
    """Of the naive GELU by constants alone: its source does not have the word."""
    source = LIBRARY / "gelu" / f"{stem}.cu"
    _, ptx = cuda.compiled(source, Dtype.FLOAT32, "sm_90a")
    count = double_instructions(ptx)
    assert ptx
    assert (count > 10) is doubles
