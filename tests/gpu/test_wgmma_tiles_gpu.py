"""Products whose tiles come in an order of their own, on a Hopper GPU: every tile is right."""

from typing import Any

import pytest
import torch

from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels.cases import CATALOG, random_inputs, reference, relative_error

pytest.importorskip(
    "roofscope.profiling.worker.build.providers.cuda", reason="cuda.core is not installed here"
)

from roofscope.profiling.worker.build.providers import cuda

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
    reason="wgmma is in compute capability 9.0 only",
)
# Cut tiles, rows that are padded, many steps along k, more tiles than multiprocessors.
SIZES: dict[str, list[dict[str, int]]] = {
    "grouped_matmul": [
        {"tokens": 3000, "experts": 9, "n": 1048, "k": 528},
        {"tokens": 129, "experts": 5, "n": 257, "k": 65},
        {"tokens": 5000, "experts": 70, "n": 520, "k": 64},
        {"tokens": 20000, "experts": 3, "n": 768, "k": 200},
    ],
    "matmul_fp8_blocks": [
        {"m": 1000, "n": 1048, "k": 528},
        {"m": 129, "n": 257, "k": 65},
        {"m": 4096, "n": 2320, "k": 256},
        {"m": 512, "n": 512, "k": 4096},
    ],
    "linear_cross_entropy": [
        {"rows": 1000, "vocab": 10007, "hidden": 528},
        {"rows": 129, "vocab": 257, "hidden": 65},
        {"rows": 5000, "vocab": 2320, "hidden": 64},
    ],
}


def module_of(name: str) -> Any:
    kernel = CATALOG.kernel(name)
    assert kernel is not None
    return load_module(kernel.folder / "cuda_wgmma.py")


CASES = [(name, tile) for name in SIZES for tile in module_of(name).TILES]


@pytest.mark.parametrize(("name", "tile"), CASES)
def test_every_tile_is_right(name: str, tile: str) -> None:
    kernel, module = CATALOG.kernel(name), module_of(name)
    assert kernel is not None
    program = cuda.CudaProgram(
        kernel.folder / "cuda_wgmma.cu", Dtype.BFLOAT16, "sm_90a", torch.device("cuda", 0)
    )
    module.choose = lambda *_: tile
    for sizes in SIZES[name]:
        inputs = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
        error = relative_error((module.run(program, *inputs),), reference(kernel, inputs))
        assert error <= kernel.spec.tolerance.of(Dtype.BFLOAT16), str(sizes)


def test_runs_that_are_wrong_write_to_no_other_row() -> None:
    """Offsets beyond the tokens, and a run that would begin behind its end."""
    kernel, module = CATALOG.kernel("grouped_matmul"), module_of("grouped_matmul")
    assert kernel is not None
    program = cuda.CudaProgram(
        kernel.folder / "cuda_wgmma.cu", Dtype.BFLOAT16, "sm_90a", torch.device("cuda", 0)
    )
    sizes = {"tokens": 200, "experts": 5, "n": 72, "k": 80}
    x, w, offsets = random_inputs(kernel, sizes, Dtype.BFLOAT16, device="cuda")
    offsets.copy_(torch.tensor([-7, -5, 50, 100, 10**6, 300]))
    expected = reference(kernel, (x, w, torch.tensor([0, 0, 50, 100, 200, 200])))
    assert relative_error((module.run(program, x, w, offsets),), expected) < 8e-3
