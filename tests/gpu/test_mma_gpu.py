"""The mma.sync versions on a real GPU: every tile of every kernel, full and cut, at any alignment."""

from typing import Any

import pytest
import torch

from roofscope.kernels.shared import mma_matmul
from roofscope.profiling.planning.catalog import Kernel, load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.profiling.worker.build.providers import cuda

# Cut tiles, one step along k and many, more tiles than a group; k and n in whole 16-byte rows.
WHOLE_ROWS = [
    {"m": 1000, "n": 1048, "k": 528},
    {"m": 4096, "n": 256, "k": 64},
    {"m": 129, "n": 2056, "k": 16},
    {"m": 256, "n": 256, "k": 2048},
    {"m": 5, "n": 8, "k": 0},
]
ODD = [{"m": 300, "n": 1003, "k": 517}, {"m": 129, "n": 257, "k": 65}, {"m": 1, "n": 7, "k": 1}]
NAMES = ["matmul", "matmul_relu", "matmul_bias_gelu", "matmul_tf32", "matmul_fp8"]
CASES = [
    (name, dtype)
    for name in NAMES
    if (kernel := CATALOG.kernel(name))
    for dtype in kernel.spec.dtypes
    if (name, dtype) != ("matmul", Dtype.FLOAT32)
]


def built(name: str, dtype: Dtype) -> tuple[Kernel, Any, Any]:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    source = kernel.folder / "cuda_mma.cu"
    module, capability = load_module(source.with_suffix(".py")), torch.cuda.get_device_capability()
    if capability < module.MINIMUM_COMPUTE_CAPABILITY:
        pytest.skip("needs a newer GPU")
    device = torch.device("cuda", 0)
    return kernel, module, cuda.CudaProgram(source, dtype, cuda.architecture_of(capability), device)


@pytest.mark.parametrize("tile", mma_matmul.TILES)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_tile_is_right(name: str, dtype: Dtype, tile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, module, program = built(name, dtype)
    properties = torch.cuda.get_device_properties(0)
    if mma_matmul.TILES[tile].shared_bytes > properties.shared_memory_per_block_optin:
        pytest.skip("needs more shared memory")
    if name == "matmul_fp8" and 9 <= properties.major < 12 and not tile.startswith("tile_64x64"):
        pytest.skip("is not compiled where FP8 is made float16 first")
    monkeypatch.setattr(mma_matmul, "choose", lambda *_: tile)
    for sizes in WHOLE_ROWS + (ODD if tile.endswith("_any") else []):
        inputs = random_inputs(kernel, sizes, dtype, device="cuda")
        error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(dtype), str(sizes)
