"""C from scaled blocks by cuBLAS through torch._scaled_mm, or from 16-bit elements where it takes no blocks.

cuBLAS scales blocks on Hopper, of whole 128 along n and k. Elsewhere, and for other sizes, A and B are scaled
first and rounded to bfloat16; on a CPU to float32.
"""

import torch

BLOCK = 128
_WHOLE = 512  # of k: some versions want rows of four scales


def run(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales."""
    is_short = a.dtype == torch.float8_e4m3fn
    if is_short and a.is_cuda and _takes_blocks(a, b):
        return torch._scaled_mm(a, b.T, scale_a.T, scale_b.T, out_dtype=torch.bfloat16)
    of_a = scale_a.T.repeat_interleave(BLOCK, dim=1)[:, : a.shape[1]]
    of_b = scale_b.repeat_interleave(BLOCK, dim=0).repeat_interleave(BLOCK, dim=1)[: len(b), : b.shape[1]]
    a, b = a.to(of_a.dtype) * of_a, b.to(of_b.dtype) * of_b
    if is_short and a.is_cuda:
        return a.bfloat16() @ b.bfloat16().T
    c = a @ b.T
    return c.bfloat16() if is_short else c


def _takes_blocks(a: torch.Tensor, b: torch.Tensor) -> bool:
    (m, k), n = a.shape, b.shape[0]
    whole = m and n and k and not (m % 4 or n % BLOCK or k % _WHOLE)
    return bool(whole) and torch.cuda.get_device_capability(a.device) == (9, 0)
