"""The gated delta rule in float64, some tokens at a time: the judge, never timed.

Token by token it is ``S = exp(g) S``, ``w = beta (v - S^T k)``, ``S = S + k w^T``, ``o = S^T q / sqrt(dim)``,
which takes half a million small kernels for 65536 tokens. In a chunk that starts with the state ``S``, whose
gates add up to ``G``, each ``w`` depends on those in front of it by a triangular system:
``w_t = beta_t (v_t - exp(G_t) S^T k_t - sum_{i<t} exp(G_t - G_i) (k_t . k_i) w_i)`` (Yang et al., "Gated
Delta Networks", 2024). Its solution is linear in S: all chunks of a piece are solved at once, and only what
needs the state goes chunk by chunk. A test compares both ways.
"""

import torch
from torch.nn import functional

EPSILON = 1e-6  # beside the square of a length
HALF_LIFE = 16  # g is a sixteenth of the logarithm of a sigmoid: the state halves in some 15 tokens
CHUNK = 64  # tokens
PIECE = 128 * CHUNK  # tokens whose chunks are solved at once


def run(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor
) -> torch.Tensor:
    """What queries read from the state; q, k (batch, seq, heads, dim), v (batch, seq, heads * groups, dim).

    ``g`` and ``beta`` are (batch, seq, heads * groups).
    """
    q, k, v, g, beta = (x.double().transpose(1, 2) for x in (q, k, v, g, beta))  # seq behind heads
    groups = v.shape[1] // k.shape[1]
    q, k = (unit(x).repeat_interleave(groups, dim=1) for x in (q, k))
    q, o = q / q.shape[3] ** 0.5, torch.empty_like(v)
    state = v.new_zeros(*v.shape[:2], k.shape[3], v.shape[3])
    for start in range(0, v.shape[2], PIECE):
        these = slice(start, start + PIECE)
        o[:, :, these], state = piece(*(x[:, :, these] for x in (q, k, v, g, beta)), state)
    return o.transpose(1, 2).contiguous()


def piece(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What these tokens read, (batch, heads, tokens, dim), and the state behind them."""
    tokens = v.shape[2]
    q, k, v, g, beta = (in_chunks(x) for x in (q, k, v, g, beta))
    total = g.cumsum(dim=3)[..., None]  # of the gates' logarithms
    apart = total - total.mT
    kept = apart.masked_fill(torch.ones_like(apart, dtype=torch.bool).triu(1), -torch.inf).exp()
    among = beta[..., None] * kept * (k @ k.mT)  # its diagonal is not read
    known = beta[..., None] * torch.cat([v, total.exp() * k], dim=4)
    solved = torch.linalg.solve_triangular(among, known, upper=False, unitriangular=True)
    written, of_state = solved.split([v.shape[4], k.shape[4]], dim=4)  # of no state, and what one takes off
    end = total[:, :, :, -1:]
    added, left = ((end - total).exp() * k).mT, end.exp()
    states: list[torch.Tensor] = []
    for i in range(v.shape[2]):
        states.append(state)
        state = left[:, :, i] * state + added[:, :, i] @ (written[:, :, i] - of_state[:, :, i] @ state)
    before = torch.stack(states, dim=2)
    read = total.exp() * (q @ before) + (kept * (q @ k.mT)) @ (written - of_state @ before)
    return read.flatten(2, 3)[:, :, :tokens], state


def in_chunks(x: torch.Tensor) -> torch.Tensor:
    """(batch, heads, chunks, CHUNK, ...), filled up with tokens of zeros, which leave the state as it is."""
    behind = (0, 0) * (x.dim() - 3)
    return functional.pad(x, (*behind, 0, -x.shape[2] % CHUNK)).unflatten(2, (-1, CHUNK))


def unit(x: torch.Tensor) -> torch.Tensor:
    """Vectors of length 1, but for the least of them."""
    return x * (x.square().sum(dim=-1, keepdim=True) + EPSILON).rsqrt()


def derive(_q: torch.Tensor, _k: torch.Tensor, v: torch.Tensor, *_: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Gates, which models project from what they project v from: here from its last and first elements."""
    return functional.logsigmoid(v[..., -1].float()) / HALF_LIFE, v[..., 0].float().sigmoid()
