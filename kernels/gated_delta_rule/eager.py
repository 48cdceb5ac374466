"""The gated delta rule in chunks of 64 tokens, as PyTorch users write it: what is in a chunk all at once.

With G the sum of g from a chunk's first token on, A_ij = beta_i exp(G_i - G_j) k_i . k_j below the diagonal
and T = (I + A)^-1 diag(beta), the chunk writes U = T (V - exp(G) K S), reads O = exp(G) Q S +
(exp(G_i - G_j) Q K^T) U and leaves S exp(G_last) + (exp(G_last - G) K)^T U. ``region``, a chunk's step, is
what torch.compile compiles: the loop over chunks stays Python. In float32, as models' reference code has it.
"""

import torch

CHUNK = 64
EPSILON = 1e-6


def region(
    state: torch.Tensor,
    k_read: torch.Tensor,
    q_read: torch.Tensor,
    k_written: torch.Tensor,
    v: torch.Tensor,
    solved: torch.Tensor,
    scores: torch.Tensor,
    kept: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The next state, (batch * heads, dim, dim), and the output of a chunk, (batch * heads, CHUNK, dim)."""
    written = solved @ (v - k_read @ state)
    output = q_read @ state + scores @ written
    return kept * state + k_written.transpose(1, 2) @ written, output


def run(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor
) -> torch.Tensor:
    """What queries read from the state; q, k (batch, seq, heads, dim), v (batch, seq, heads * groups, dim).

    ``g`` and ``beta`` are (batch, seq, heads * groups).
    """
    batch, seq, heads, dim = q.shape
    groups, dtype = v.shape[2] // heads, v.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, g, beta = (in_chunks(x.to(wide)) for x in (q, k, v, g, beta))
    k, q = unit(k), unit(q) / dim**0.5
    similar, scores = k @ k.transpose(-1, -2), q @ k.transpose(-1, -2)
    similar, scores, k, q = (x.repeat_interleave(groups, dim=1) for x in (similar, scores, k, q))
    total = g.cumsum(dim=-1)
    fade = (total[..., :, None] - total[..., None, :]).tril().exp().tril()
    below = (beta[..., None] * similar * fade).tril(-1)
    one = torch.eye(CHUNK, dtype=wide, device=v.device)
    written = one * beta[..., None, :]
    solved = torch.linalg.solve_triangular(below + one, written, upper=False, unitriangular=True)
    scores = scores * fade
    q_read, k_read = (x * total.exp()[..., None] for x in (q, k))
    k_written = k * (total[..., -1:] - total).exp()[..., None]
    kept = total[..., -1].exp()[..., None, None]

    chunks = v.shape[2]
    state, outputs = v.new_zeros(batch * heads * groups, dim, dim), torch.empty_like(v)
    for i in range(chunks):
        parts = (k_read, q_read, k_written, v, solved, scores, kept)
        state, output = region(state, *(x[:, :, i].flatten(0, 1) for x in parts))
        outputs[:, :, i] = output.unflatten(0, (batch, heads * groups))
    o = outputs.flatten(2, 3)[:, :, :seq].transpose(1, 2)
    return o.to(dtype, memory_format=torch.contiguous_format, copy=True)


def in_chunks(x: torch.Tensor) -> torch.Tensor:
    """From (batch, seq, heads, ...) to (batch, heads, chunks, CHUNK, ...), zeros behind the last token."""
    missing = -x.shape[1] % CHUNK
    x = torch.nn.functional.pad(x, (0, 0) * (x.dim() - 2) + (0, missing)).transpose(1, 2)
    return x.unflatten(2, (-1, CHUNK)) if x.shape[2] else x.new_empty(*x.shape[:2], 0, CHUNK, *x.shape[3:])


def unit(x: torch.Tensor) -> torch.Tensor:
    """Vectors of length 1, but for the least of them."""
    return x * (x.square().sum(dim=-1, keepdim=True) + EPSILON).rsqrt()
