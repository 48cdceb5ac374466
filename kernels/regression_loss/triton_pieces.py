"""The regression loss in Triton: a run of elements a program, and a second kernel that adds the sums.

Formula: loss = (sum d^2 + 0.1 sum |d|) / n with d = p - t; 4n FLOP, 2ns bytes.
Mapping: program q owns the elements [q LENGTH, (q + 1) LENGTH) and walks along them in tiles; each element of
a tile has its own float32 sum of the terms d^2 + 0.1 |d|, so that one sum does for both means. The second
kernel adds the sums of all programs, always in the same order.
Idea: row_sum/triton_pieces with one row; what torch.compile makes of eager.py has the same two kernels.
"""

import torch
import triton
import triton.language as tl

TILE = 4096  # elements, for 128 threads: 32 a thread of each input
PROGRAMS = 1024  # at most, so that one tile holds their sums


@triton.jit
def _terms(p, t, at, n, WHOLE: tl.constexpr):
    if WHOLE:
        one, other = tl.load(p + at), tl.load(t + at)
    else:
        one = tl.load(p + at, mask=at < n, other=0.0)
        other = tl.load(t + at, mask=at < n, other=0.0)
    distance = tl.abs(one.to(tl.float32) - other.to(tl.float32))
    return distance * (distance + 0.1)


@triton.jit
def _pieces(p, t, sums, n, LENGTH: tl.constexpr, TILE: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * LENGTH
    total = tl.zeros((TILE,), tl.float32)
    if begin + LENGTH <= n:
        for first in range(0, LENGTH, TILE):
            total += _terms(p, t, begin + first + tl.arange(0, TILE), n, True)
    else:
        for first in range(0, LENGTH, TILE):
            total += _terms(p, t, begin + first + tl.arange(0, TILE), n, False)
    tl.store(sums + tl.program_id(0), tl.sum(total))


@triton.jit
def _add(sums, loss, pieces, n, COUNT: tl.constexpr):
    at = tl.arange(0, COUNT)
    total = tl.sum(tl.load(sums + at, mask=at < pieces, other=0.0))
    tl.store(loss, (total / n).to(loss.dtype.element_ty))


def run(p: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Of predictions ``p`` and targets ``t``, (n,) and contiguous. Gives (1,)."""
    n = p.numel()
    loss = torch.empty(1, dtype=p.dtype, device=p.device)
    length = TILE * triton.next_power_of_2(triton.cdiv(n, TILE * PROGRAMS))
    pieces = triton.cdiv(n, length)
    sums = torch.empty(pieces, dtype=torch.float32, device=p.device)
    _pieces[(pieces,)](p, t, sums, n, length, TILE, num_warps=4)
    _add[(1,)](sums, loss, pieces, n, triton.next_power_of_2(pieces), num_warps=4)
    return loss
