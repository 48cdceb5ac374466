"""Launcher of cuda_few_rows.cu: few rows of A times all of B, on the FMA units."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tile_shares import new_ticket

DOMAIN = "m <= 8 and n < 2**31 - 2**12 and k < 2**31 - 2**12"

# As in cuda_few_rows.cu.
ROWS = (1, 2, 4, 8)
_THREADS, _WARP, _STEP = 256, 32, 128
_COLUMNS = _THREADS // _WARP * 4  # of C, of a block
_BLOCKS = 2  # of a multiprocessor


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k). Raises Refusal for many rows and beyond 32-bit sizes."""
    if a.dtype != torch.float32:
        raise Refusal("matmul_tf32/cuda_few_rows multiplies float32; matmul takes 16-bit elements.")
    (m, k), n = a.shape, b.shape[0]
    if m > ROWS[-1]:
        raise Refusal(f"matmul_tf32/cuda_few_rows takes {ROWS[-1]} rows of A at most; cuda_wgmma takes more.")
    require_32_bit_product("matmul_tf32/cuda_few_rows", m, n, k)
    if not m * n * k:
        return torch.zeros((m, n), device=a.device)
    return launch(program, a, b, slices_of(n, k, program.multiprocessor_count))


def slices_of(n: int, k: int, multiprocessors: int) -> int:
    """Into how many slices of k blocks share their columns of C: so that all of them are at work."""
    tiles, slots = -(-n // _COLUMNS), _BLOCKS * multiprocessors

    def time(slices: int) -> float:
        # Of whole rounds of blocks, in k, each with some for its start and for each part that it adds.
        return -(-tiles * slices // slots) * (-(-k // (slices * _STEP)) * _STEP + 900 + 40 * slices)

    return min(range(1, max(min(k // (2 * _STEP), slots), 1) + 1), key=time)


def launch(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, slices: int) -> torch.Tensor:
    """Multiply, each block over one of so many slices of k."""
    (m, k), n = a.shape, b.shape[0]
    rows = next(rows for rows in ROWS if rows >= m)
    tiles = -(-n // _COLUMNS)
    slice_k = -(-k // (slices * _STEP)) * _STEP
    slices = -(-k // slice_k)
    c = torch.empty((m, n), device=a.device)
    # Sums of slices that meet in memory, and of each warp a flag that they are there.
    parts, flags = c, c
    if slices > 1:
        warps = tiles * slices * (_THREADS // _WARP)
        parts = torch.empty(warps * max(rows * 4, _WARP), device=a.device)
        flags = torch.empty(warps, dtype=torch.int64, device=a.device)
    sizes = (m, n, k, slice_k, slices)
    program.launch(
        f"few_rows_{rows}",
        tiles * slices,
        _THREADS,
        a,
        b,
        c,
        parts,
        flags,
        new_ticket(),
        *sizes,
        overlaps=True,
    )
    return c
