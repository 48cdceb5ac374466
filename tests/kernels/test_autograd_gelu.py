"""GELU under autograd: its gradient against finite differences, and Triton's against autograd's own."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
import torch
from torch.nn import functional

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module
from roofscope.tests.kernels import interpreter

Call = Callable[..., torch.Tensor]


def eager(kernel: str) -> Call:
    return load_module(LIBRARY / kernel / "eager.py").run


def differentiable(forward: Call, backward: Call) -> Call:
    return load_module(LIBRARY / "gelu" / "autograd.py").differentiable(forward, backward)


def variable(dtype: torch.dtype, elements: int = 1031) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(elements, dtype=dtype, generator=generator).mul_(3).requires_grad_()


def test_the_gradient_is_that_of_finite_differences() -> None:
    gelu = differentiable(eager("gelu"), eager("gelu_backward"))
    assert torch.autograd.gradcheck(gelu, (variable(torch.float64, 17),))


def test_takes_gradients_that_are_not_contiguous() -> None:
    """The gradient of a sum is one number seen many times, in steps of nothing."""
    seen = []

    def backward(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        seen.append(dy.is_contiguous())
        return eager("gelu_backward")(dy, x)

    differentiable(eager("gelu"), backward)(variable(torch.float32)).sum().backward()
    assert seen == [True]


def test_keeps_nothing_where_no_gradient_is_wanted() -> None:
    y = differentiable(eager("gelu"), eager("gelu_backward"))(variable(torch.float32).detach())
    assert y.grad_fn is None


def test_the_gradient_of_the_triton_versions_is_autograds_own(interpreters: ProcessPoolExecutor) -> None:
    pytest.importorskip("triton", reason="Triton is not installed here")
    x = variable(torch.float32)

    def triton(kernel: str) -> Call:
        path = LIBRARY / kernel / "triton_sigmoid.py"

        def call(*inputs: torch.Tensor) -> torch.Tensor:
            arrays: list[Any] = [tensor.detach().double().numpy() for tensor in inputs]
            called = interpreters.submit(interpreter.run, path, ["float32"] * len(arrays), arrays)
            outputs, _ = called.result()
            return torch.from_numpy(outputs[0]).float()

        return call

    gelu = differentiable(triton("gelu"), triton("gelu_backward"))
    (found,) = torch.autograd.grad(gelu(x).sin().sum(), x)
    (expected,) = torch.autograd.grad(functional.gelu(x, approximate="tanh").sin().sum(), x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
