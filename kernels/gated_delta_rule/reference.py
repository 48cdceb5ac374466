"""The gated delta rule in float64, a token after the other: the judge, never timed."""

import torch
from torch.nn import functional

EPSILON = 1e-6  # beside the square of a length
HALF_LIFE = 16  # g is a sixteenth of the logarithm of a sigmoid: the state halves in some 15 tokens


def run(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor
) -> torch.Tensor:
    """What queries read from the state; q, k (batch, seq, heads, dim), v (batch, seq, heads * groups, dim).

    ``g`` and ``beta`` are (batch, seq, heads * groups).
    """
    q, k, v, g, beta = (x.double() for x in (q, k, v, g, beta))
    groups = v.shape[2] // k.shape[2]
    q, k = (unit(x).repeat_interleave(groups, dim=2) for x in (q, k))
    q, keep, o = q / q.shape[3] ** 0.5, g.exp(), torch.empty_like(v)
    state = v.new_zeros(v.shape[0], v.shape[2], k.shape[3], v.shape[3])
    for t in range(v.shape[1]):
        state *= keep[:, t, :, None, None]
        key = k[:, t, :, :, None]
        answer = (state * key).sum(dim=2)
        written = beta[:, t, :, None] * (v[:, t] - answer)
        state += key * written[:, :, None, :]
        o[:, t] = (state * q[:, t, :, :, None]).sum(dim=2)
    return o


def unit(x: torch.Tensor) -> torch.Tensor:
    """Vectors of length 1, but for the least of them."""
    return x * (x.square().sum(dim=-1, keepdim=True) + EPSILON).rsqrt()


def derive(_q: torch.Tensor, _k: torch.Tensor, v: torch.Tensor, *_: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Gates, which models project from what they project v from: here from its last and first elements."""
    return functional.logsigmoid(v[..., -1].float()) / HALF_LIFE, v[..., 0].float().sigmoid()
