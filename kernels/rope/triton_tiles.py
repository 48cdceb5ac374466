"""The rotary embedding in Triton, in one pass over tiles of a few positions of a head.

Formula: y[i] = x[i] cos[i] - x[i + half] sin[i], y[i + half] = x[i + half] cos[i] + x[i] sin[i]; 3 FLOP an
element, (2 batch heads seq 2 half + 2 seq half)s bytes: heads read the tables again, from the caches.
Mapping: program p owns ROWS positions of a head: a tile of ROWS x WIDTH elements of the lower half and one
of the upper, 16 bytes of each for each of its 128 threads. Two or four heads a program, which would load the
tables once for all, were no faster on an H200.
Idea: Su et al., "RoFormer", arXiv:2104.09864, in the rotate-half form of GPT-NeoX: halves, not neighbours,
are paired, so that both are read in whole vectors.
"""

import torch
import triton
import triton.language as tl

TILE_BYTES = 2048


@triton.jit
def _rope(x, cos, sin, y, seq, half: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    tiles = tl.cdiv(seq, ROWS)
    head = (tl.program_id(0) // tiles).to(tl.int64)
    position = tl.program_id(0) % tiles * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, WIDTH)
    inside = (position < seq)[:, None]
    if half != WIDTH:
        inside &= (col < half)[None, :]
    angle = position.to(tl.int64)[:, None] * half + col[None, :]
    c = tl.load(cos + angle, mask=inside).to(tl.float32)
    s = tl.load(sin + angle, mask=inside).to(tl.float32)
    at = (head * seq + position)[:, None] * (2 * half) + col[None, :]
    low = tl.load(x + at, mask=inside).to(tl.float32)
    high = tl.load(x + at + half, mask=inside).to(tl.float32)
    tl.store(y + at, (low * c - high * s).to(y.dtype.element_ty), mask=inside)
    tl.store(y + at + half, (high * c + low * s).to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn ``x``, (batch, heads, seq, 2 half), by ``cos`` and ``sin``, (seq, half); contiguous."""
    batch, heads, seq, _ = x.shape
    half = cos.shape[1]
    y = torch.empty_like(x)
    if x.numel():
        width = triton.next_power_of_2(half)
        rows = max(TILE_BYTES // x.element_size() // width, 1)
        programs = triton.cdiv(seq, rows) * batch * heads
        _rope[(programs,)](x, cos, sin, y, seq, half, rows, width, num_warps=4)
    return y
