"""``z = x + y`` in Triton as the first tutorial writes it: one program per block, every block masked.

Formula: z[i] = x[i] + y[i]; n FLOP, 3ns bytes.
Mapping: program p owns elements [p * BLOCK, (p + 1) * BLOCK).
Lesson: nothing is wrong with it at an n that is a multiple of 16. Elsewhere the mask's end lies within what
one thread loads, and its 16-byte loads become loads of single elements; triton_tiles masks the last block
alone.
Idea: Triton's vector-addition tutorial.
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def _add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left = tl.load(x + at, mask=inside).to(tl.float32)
    right = tl.load(y + at, mask=inside).to(tl.float32)
    tl.store(z + at, (left + right).to(z.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add ``x`` and ``y``, both (n,) and contiguous."""
    z = torch.empty_like(x)
    if n := x.numel():
        _add[(triton.cdiv(n, BLOCK),)](x, y, z, n, BLOCK)
    return z
