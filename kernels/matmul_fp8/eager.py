"""C = scale A B^T by cuBLAS through torch._scaled_mm, its sums left in the tensor cores' own accumulators.

It takes rows of whole 16 bytes: others are padded, which counts as time. On a CPU the product is float32.
"""

import torch
from torch.nn import functional

_UNIT = 16


def run(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), times both scales, in bfloat16."""
    if a.dtype != torch.float8_e4m3fn or a.device.type == "cpu":
        c = a.to(scale_a.dtype) @ b.to(scale_b.dtype).T * (scale_a * scale_b)
        return c.bfloat16() if a.dtype == torch.float8_e4m3fn else c
    (m, k), n = a.shape, b.shape[0]
    if not m * n * k:
        return torch.zeros(m, n, dtype=torch.bfloat16, device=a.device)
    a, b = _padded(a, 0, -k % _UNIT), _padded(b, -n % _UNIT, -k % _UNIT)
    c = torch._scaled_mm(a, b.T, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=True)
    return c[:, :n].contiguous()


def _padded(matrix: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    if not rows and not columns:
        return matrix
    return functional.pad(matrix.view(torch.uint8), (0, columns, 0, rows)).view(matrix.dtype)
