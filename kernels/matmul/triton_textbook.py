"""C = A B in tiles as a first tiled kernel has it: rows of tiles one after the other, one fixed tile.

Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP on the tensor cores, or on the FMA units for
float32, which means IEEE float32 here; (m k + k n + m n) s compulsory bytes. Sums are kept in float32.
Mapping: program p computes tile p of C, 64 x 64, row by row, and walks k in steps of 32, masked at each edge.
Lesson: programs that run together lie in one row of tiles, so each reads another band of B, and L2 gives back
little of it. triton_grouped visits the tiles in groups, and takes tiles that keep the tensor cores busy.
Idea: Triton's matrix-multiplication tutorial, before its section on L2.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_product

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
BLOCK = 64
DEPTH = 32


@triton.jit
def _matmul(a, b, c, m, n, k, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    in_a_row = tl.cdiv(n, BLOCK)
    row = tl.program_id(0) // in_a_row * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(0) % in_a_row * BLOCK + tl.arange(0, BLOCK)
    step = tl.arange(0, DEPTH)
    a_tile = a + row.to(tl.int64)[:, None] * k + step[None, :]
    b_tile = b + step.to(tl.int64)[:, None] * n + column[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, DEPTH):
        left = k - start
        of_a = tl.load(a_tile, mask=(row[:, None] < m) & (step[None, :] < left), other=0.0)
        of_b = tl.load(b_tile, mask=(step[:, None] < left) & (column[None, :] < n), other=0.0)
        total = tl.dot(of_a, of_b, total, input_precision="ieee")
        a_tile += DEPTH
        b_tile += tl.cast(n, tl.int64) * DEPTH
    c_tile = c + row.to(tl.int64)[:, None] * n + column[None, :]
    tl.store(c_tile, total.to(c.dtype.element_ty), mask=(row[:, None] < m) & (column[None, :] < n))


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply ``a``, (m, k), by ``b``, (k, n), both contiguous."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    if c.numel():
        require_32_bit_product("matmul/triton_textbook", m, n, k)
        _matmul[(triton.cdiv(m, BLOCK) * triton.cdiv(n, BLOCK),)](a, b, c, m, n, k, BLOCK, DEPTH)
    return c
