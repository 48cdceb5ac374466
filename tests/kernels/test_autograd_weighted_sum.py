"""The weighted sum under autograd: its gradient against finite differences, and against autograd's own."""

from typing import Any

import pytest
import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module


def eager(kernel: str) -> Any:
    return load_module(LIBRARY / kernel / "eager.py").run


@pytest.fixture
def weighted_sum() -> Any:
    autograd = load_module(LIBRARY / "weighted_sum" / "autograd.py")
    return autograd.differentiable(eager("weighted_sum"), eager("weighted_sum_backward"))


def variables(rows: int, cols: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, cols, dtype=torch.float64, generator=generator)
    w = torch.randn(cols, dtype=torch.float64, generator=generator)
    return x.requires_grad_(), w.requires_grad_()


@pytest.mark.parametrize(("rows", "cols"), [(5, 7), (1, 3), (4, 1)])
def test_the_gradient_is_that_of_finite_differences(weighted_sum: Any, rows: int, cols: int) -> None:
    assert torch.autograd.gradcheck(weighted_sum, variables(rows, cols))


def test_the_gradient_is_autograds_own(weighted_sum: Any) -> None:
    x, w = variables(6, 11)
    expected = torch.autograd.grad((x @ w).tanh().sum(), (x, w))
    found = torch.autograd.grad(weighted_sum(x, w).tanh().sum(), (x, w))
    torch.testing.assert_close(found, expected)


def test_takes_gradients_that_are_not_contiguous(weighted_sum: Any) -> None:
    """The gradient of a sum is one number seen many times, in steps of nothing."""
    x, w = variables(6, 11)
    seen = []

    def backward(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen.append(dy.is_contiguous())
        return eager("weighted_sum_backward")(dy, x, w)

    autograd = load_module(LIBRARY / "weighted_sum" / "autograd.py")
    autograd.differentiable(eager("weighted_sum"), backward)(x, w).sum().backward()
    assert seen == [True]
    torch.testing.assert_close(w.grad, x.sum(dim=0))
