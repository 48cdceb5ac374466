"""Attention under autograd: its gradients against finite differences, and against autograd's own."""

from functools import partial
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

Variables = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

both = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])


def load(kernel: str, stem: str) -> Any:
    return load_module(LIBRARY / kernel / f"{stem}.py")


def attention(*, causal: bool) -> Any:
    forward = partial(load("attention", "eager").with_lse, causal=causal)
    backward = load("attention_backward_causal" if causal else "attention_backward", "eager").run
    return load("attention", "autograd").differentiable(forward, backward)


def variables(*shape: int) -> Variables:
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_() for _ in "qkv")
    return q, k, v


@both
@pytest.mark.parametrize("shape", [(1, 2, 5, 3), (2, 1, 1, 4), (1, 1, 6, 1)])
def test_the_gradients_are_those_of_finite_differences(shape: tuple[int, ...], causal: bool) -> None:
    assert torch.autograd.gradcheck(attention(causal=causal), variables(*shape))


@both
def test_the_gradients_are_autograds_own(causal: bool) -> None:
    inputs = variables(2, 2, 7, 4)
    output = scaled_dot_product_attention(*inputs, is_causal=causal)
    expected = torch.autograd.grad(output.tanh().sum(), inputs)
    found = torch.autograd.grad(attention(causal=causal)(*inputs).tanh().sum(), inputs)
    torch.testing.assert_close(found, expected)


def test_takes_gradients_that_are_not_contiguous() -> None:
    """The gradient of a sum is one number seen many times, in steps of nothing."""
    inputs = variables(1, 2, 5, 4)
    attention(causal=False)(*inputs).sum().backward()
    expected = torch.autograd.grad(scaled_dot_product_attention(*inputs).sum(), inputs)
    torch.testing.assert_close(tuple(x.grad for x in inputs), expected)
