"""The CUDA versions compiled by NVRTC for every architecture we claim, with no GPU."""

import functools
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from profiling.catalog import Kernel, load_module
from profiling.spec import Dtype, Implementation, Provider
from profiling.worker.failures import Refusal
from tests.kernels.cases import implementations, name_of, random_inputs

cuda = pytest.importorskip("profiling.worker.providers.cuda", reason="cuda.core is not installed here")

CAPABILITIES = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]
_OLDEST = (7, 5)
_EVERY_DTYPE = (9, 0)  # elsewhere one will do: half a second a compilation


def cases() -> list[tuple[Kernel, Implementation, tuple[int, int], Dtype]]:
    found: list[tuple[Kernel, Implementation, tuple[int, int], Dtype]] = []
    for kernel, version in implementations(Provider.CUDA):
        launcher = load_module(kernel.folder / f"{version.stem}.py")
        found += [
            (kernel, version, capability, dtype)
            for capability in _capabilities(launcher)
            for dtype in (kernel.spec.dtypes if capability == _EVERY_DTYPE else kernel.spec.dtypes[-1:])
        ]
    return found


def _capabilities(launcher: ModuleType) -> list[tuple[int, int]]:
    """Those a launcher claims: from a least one on, or the one whose own instructions it uses."""
    oldest = getattr(launcher, "MINIMUM_COMPUTE_CAPABILITY", _OLDEST)
    newest = getattr(launcher, "MAXIMUM_COMPUTE_CAPABILITY", CAPABILITIES[-1])
    return [capability for capability in CAPABILITIES if oldest <= capability <= newest]


def _name(value: object) -> str | None:
    return "sm_{}{}".format(*value) if isinstance(value, tuple) else name_of(value)


@functools.cache
def cuobjdump() -> Path | None:
    """The tool that comes with Triton."""
    triton = pytest.importorskip("triton", reason="cuobjdump comes with Triton, which is not installed here")
    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return path if path.exists() else None


@pytest.mark.parametrize(("kernel", "version", "capability", "dtype"), cases(), ids=_name)
def test_compiles_and_keeps_to_registers(
    kernel: Kernel, version: Implementation, capability: tuple[int, int], dtype: Dtype, tmp_path: Path
) -> None:
    source = kernel.folder / f"{version.stem}.cu"
    compiled = cuda.compile_source(source, dtype, cuda.architecture_of(capability))
    assert compiled.code.startswith(b"\x7fELF")

    tool = cuobjdump()
    if tool is None:
        pytest.skip("compiled; whether it spills cannot be told without cuobjdump")
    cubin = tmp_path / "kernel.cubin"
    cubin.write_bytes(compiled.code)
    usage = subprocess.run([tool, "-res-usage", cubin], capture_output=True, text=True, check=True).stdout
    kernels = re.findall(r"Function (\w+):\s+REG:\d+ STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", usage)
    if not kernels:  # then the launcher must say so
        inputs = random_inputs(kernel, kernel.spec.odd_sizes[0], dtype)
        with pytest.raises(Refusal):
            load_module(source.with_suffix(".py")).run(None, *inputs)
    assert [name for name, stack, local in kernels if int(stack) or int(local)] == []
