"""Layer norm, RMS norm and softmax under autograd: against finite differences, and against autograd's own."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch
from torch.nn import functional

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels import interpreter

Call = Callable[..., Any]

PARAMETERS = {"layer_norm": 2, "rms_norm": 1, "softmax": 0}  # vectors beside x
AUTOGRADS_OWN: dict[str, Call] = {
    "layer_norm": lambda x, w, b: functional.layer_norm(x, w.shape, w, b, 1e-5),
    "rms_norm": lambda x, w: functional.rms_norm(x, w.shape, w, 1e-6),
    "softmax": lambda x: torch.softmax(x, dim=1),
}

each_kernel = pytest.mark.parametrize("kernel", PARAMETERS)


def eager(kernel: str) -> Call:
    return load_module(LIBRARY / kernel / "eager.py").run


def differentiable(kernel: str, forward: Call, backward: Call) -> Call:
    return load_module(LIBRARY / kernel / "autograd.py").differentiable(forward, backward)


def variables(kernel: str, rows: int, cols: int, dtype: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(rows, cols)] + [(cols,)] * PARAMETERS[kernel]
    return [torch.randn(s, dtype=dtype, generator=generator).requires_grad_() for s in shapes]


@each_kernel
@pytest.mark.parametrize(("rows", "cols"), [(5, 7), (1, 3), (4, 2)])
def test_the_gradient_is_that_of_finite_differences(kernel: str, rows: int, cols: int) -> None:
    call = differentiable(kernel, eager(kernel), eager(f"{kernel}_backward"))
    assert torch.autograd.gradcheck(call, variables(kernel, rows, cols, torch.float64))


@each_kernel
def test_takes_gradients_that_are_not_contiguous(kernel: str) -> None:
    """The gradient of a sum is one number seen many times, in steps of nothing."""
    seen = []

    def backward(dy: torch.Tensor, *others: torch.Tensor) -> Any:
        seen.append(dy.is_contiguous())
        return eager(f"{kernel}_backward")(dy, *others)

    differentiable(kernel, eager(kernel), backward)(*variables(kernel, 6, 11, torch.float32)).sum().backward()
    assert seen == [True]


@pytest.mark.parametrize("kernel", ["layer_norm", "rms_norm"])
def test_the_statistics_of_16_bit_rows_are_float32(kernel: str) -> None:
    seen = []

    def backward(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, *statistics: torch.Tensor) -> Any:
        seen.extend(statistic.dtype for statistic in statistics)
        return eager(f"{kernel}_backward")(dy, x, w, *statistics)

    inputs = variables(kernel, 6, 11, torch.bfloat16)
    differentiable(kernel, eager(kernel), backward)(*inputs).sum().backward()
    assert set(seen) == {torch.float32}


@each_kernel
def test_the_gradient_of_the_triton_versions_is_autograds_own(
    interpreters: ProcessPoolExecutor, kernel: str
) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    inputs = variables(kernel, 19, 257, torch.float32)

    def triton(name: str) -> Call:
        path = min((LIBRARY / name).glob("triton_*.py"))

        def call(*tensors: torch.Tensor) -> Any:
            arrays: list[Any] = [tensor.detach().double().numpy() for tensor in tensors]
            called = interpreters.submit(interpreter.run, path, ["float32"] * len(arrays), arrays)
            outputs, _ = called.result()
            results = tuple(torch.from_numpy(output).float() for output in outputs)
            return results if len(results) > 1 else results[0]

        return call

    call = differentiable(kernel, triton(kernel), triton(f"{kernel}_backward"))
    found = torch.autograd.grad(call(*inputs).sin().sum(), inputs)
    expected = torch.autograd.grad(AUTOGRADS_OWN[kernel](*inputs).sin().sum(), inputs)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
