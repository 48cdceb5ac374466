"""Float64 reference of the training step: gradients by their formulas, without autograd, which is judged."""

import math

import torch

Tensor = torch.Tensor
EPSILON = 1e-5


def run(x: Tensor, w: Tensor, b: Tensor, v: Tensor, t: Tensor) -> tuple[Tensor, ...]:
    """Loss and gradients of ``x``, (rows, cols), of ``w``, ``b`` and ``v``, (cols,), for targets ``t``."""
    x, w, b, v, t = x.double(), w.double(), b.double(), v.double(), t.double()
    centred = x - x.mean(dim=1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(dim=1, keepdim=True) + EPSILON)
    normal = centred * scale
    y = normal * w + b
    tanh = torch.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * y**3))
    h = 0.5 * y * (1.0 + tanh)
    distance = h @ v - t
    loss = distance.square().mean()

    of_prediction = (2.0 / len(t)) * distance
    inner = math.sqrt(2.0 / math.pi) * (1.0 + 3.0 * 0.044715 * y**2)
    slope = 0.5 * (1.0 + tanh) + 0.5 * y * (1.0 - tanh**2) * inner
    dy = of_prediction[:, None] * v * slope
    weighted = dy * w
    level = weighted.mean(dim=1, keepdim=True)
    along = (weighted * normal).mean(dim=1, keepdim=True)
    dx = scale * (weighted - level - normal * along)
    return loss.view(1), dx, (dy * normal).sum(dim=0), dy.sum(dim=0), of_prediction @ h
