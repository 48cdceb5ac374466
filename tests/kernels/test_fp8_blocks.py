"""Products of scaled FP8 blocks: which scale meets which element, in the judge, eager and Triton."""

from concurrent.futures import ProcessPoolExecutor

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.profiling.planning.spec import Dtype
from roofscope.tests.kernels import interpreter
from roofscope.tests.kernels.cases import CATALOG, Tensors, random_inputs, relative_error

FOLDER = LIBRARY / "matmul_fp8_blocks"
SIZES = [{"m": 70, "n": 300, "k": 400}, {"m": 129, "n": 128, "k": 16}, {"m": 3, "n": 257, "k": 129}]
each_size = pytest.mark.parametrize("sizes", SIZES, ids=str)


def inputs_of(sizes: dict[str, int]) -> Tensors:
    kernel = CATALOG.kernel("matmul_fp8_blocks")
    assert kernel is not None
    return random_inputs(kernel, sizes, Dtype.BFLOAT16)


def element_by_element(a: torch.Tensor, b: torch.Tensor, sa: torch.Tensor, sb: torch.Tensor) -> torch.Tensor:
    """Every element with the scale that its indices name."""
    (m, k), n = a.shape, len(b)
    along_k, along_n = torch.arange(k) // 128, torch.arange(n) // 128
    of_a = sa.double()[along_k[None, :], torch.arange(m)[:, None]]
    of_b = sb.double()[along_n[:, None], along_k[None, :]]
    return torch.einsum("mk,nk->mn", a.double() * of_a, b.double() * of_b)


@each_size
@pytest.mark.parametrize("version", ["reference", "eager"])
def test_every_element_has_its_scale(version: str, sizes: dict[str, int]) -> None:
    inputs = inputs_of(sizes)
    found = load_module(FOLDER / f"{version}.py").run(*inputs)
    assert relative_error((found,), (element_by_element(*inputs),)) < 8e-3


@each_size
def test_triton_scales_every_element(interpreters: ProcessPoolExecutor, sizes: dict[str, int]) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    inputs = inputs_of(sizes)
    given = [str(x.dtype).removeprefix("torch.") for x in inputs]
    arrays = [x.double().numpy() for x in inputs]
    path = FOLDER / "triton_promoted.py"
    (c,), _ = interpreters.submit(interpreter.run, path, given, arrays).result()
    assert relative_error((torch.from_numpy(c),), (element_by_element(*inputs),)) < 8e-3
