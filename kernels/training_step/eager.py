"""The training step as PyTorch users write it: the forward pass, and autograd for the rest.

Lesson: the forward pass keeps what the backward pass needs, and each operator of either reads and writes a
whole matrix. ``region``, the forward pass, is what torch.compile compiles; the backward pass follows from it,
and what lies between two sums is fused in both.

The CPU's layer norm adds up the gradients of w and b in 16 bits, where long sums stop growing: there it works
in float32.
"""

import torch
from torch.nn import functional

Tensor = torch.Tensor
EPSILON = 1e-5


def region(x: Tensor, w: Tensor, b: Tensor, v: Tensor, t: Tensor) -> Tensor:
    """The loss, a number, in float32 at least."""
    wide = torch.promote_types(t.dtype, torch.float32)
    exact = (x, w, b) if x.is_cuda else (x.to(wide), w.to(wide), b.to(wide))
    y = functional.layer_norm(exact[0], w.shape, *exact[1:], EPSILON).to(x.dtype)
    prediction = functional.gelu(y, approximate="tanh") @ v
    return (prediction.to(wide) - t).square().mean()


def run(x: Tensor, w: Tensor, b: Tensor, v: Tensor, t: Tensor) -> tuple[Tensor, ...]:
    """Loss and gradients of ``x``, (rows, cols), of ``w``, ``b`` and ``v``, (cols,), for targets ``t``."""
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_() for tensor in (x, w, b, v)]
        loss = region(*leaves, t)
        gradients = torch.autograd.grad(loss, leaves)
    return loss.detach().view(1), *gradients
