"""Launcher of cuda_ffma.cu: tiles on the FMA units, for every dtype and size."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tile_shares import new_ticket

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
_STEP = 8  # of k, as in cuda_ffma.cu

# Rows and columns of a block's tile, threads. The larger the tile, the fewer bytes a FLOP needs.
TILES = {
    "matmul_256x128": (256, 128, 256),
    "matmul_128x128": (128, 128, 256),
    "matmul_64x64": (64, 64, 128),
    "matmul_64x64_any": (64, 64, 128),
}

# As in few_rows.cuh.
FEW_ROWS = (1, 2, 4, 8, 16)
_FEW_COLUMNS, _FEW_THREADS = 128, 256


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous. Raises Refusal beyond 32-bit sizes."""
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/cuda_ffma", m, n, k)
    if 0 < m <= FEW_ROWS[-1] and k:
        return launch_few_rows(program, a, b, slices_of(m, n, k, program.multiprocessor_count))
    suffix = "_any" if n % 4 or b.data_ptr() % 16 else ""
    # A tile so large that multiprocessors stay idle costs more than it saves.
    for name in ("matmul_256x128", "matmul_128x128"):
        if not suffix and _blocks(name, m, n) >= program.multiprocessor_count:
            return launch(program, name, a, b)
    blocks = _blocks("matmul_64x64", m, n)
    # Two blocks a multiprocessor, as long as each has 64 or more of k to add up.
    slices = min(2 * program.multiprocessor_count // max(blocks, 1), k // 64)
    if slices > 1 and a.dtype == torch.float32:
        return _launch_slices(program, f"matmul_64x64_slices{suffix}", a, b, slices)
    return launch(program, f"matmul_64x64{suffix}", a, b)


def launch(program: CudaProgram, name: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply with the kernel of this name, whatever its fitness."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    program.launch(name, _blocks(name, m, n), TILES[name][2], a, b, c, m, n, k, k)
    return c


def _launch_slices(
    program: CudaProgram, name: str, a: torch.Tensor, b: torch.Tensor, slices: int
) -> torch.Tensor:
    """Cut the sums along k: for a C of few tiles."""
    (m, k), n = a.shape, b.shape[1]
    slice_k = -(-k // (slices * _STEP)) * _STEP
    slices = -(-k // slice_k)
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    parts = torch.empty((slices, m, n), dtype=a.dtype, device=a.device)
    grid = (_blocks("matmul_64x64", m, n), slices)
    program.launch(name, grid, 128, a, b, parts, m, n, k, slice_k)
    program.launch("add_slices", -(-c.numel() // 256), 256, parts, c, c.numel(), slices)
    return c


def slices_of(m: int, n: int, k: int, multiprocessors: int) -> int:
    """Into how many slices of k blocks of few rows share their columns: so that all of them are at work."""
    tiles, step = -(-n // _FEW_COLUMNS), _few_step(m)
    slots = multiprocessors * (2 if m <= 8 else 1)

    def time(slices: int) -> float:
        # Of whole rounds of blocks, in k, each with some for its start and for each part that it adds.
        return -(-tiles * slices // slots) * (-(-k // (slices * step)) * step + 100 + 8 * slices)

    return min(range(1, max(min(k // (2 * step), slots), 1) + 1), key=time)


def launch_few_rows(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, slices: int) -> torch.Tensor:
    """Multiply by the kernel for few rows of A, each block over one of so many slices of k."""
    (m, k), n = a.shape, b.shape[1]
    rows = next(rows for rows in FEW_ROWS if rows >= m)
    name = f"few_rows_{rows}" + ("_any" if n % 4 or b.data_ptr() % 16 else "")
    tiles, step = -(-n // _FEW_COLUMNS), _few_step(m)
    slice_k = -(-k // (slices * step)) * step
    slices = -(-k // slice_k)
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    # Sums of slices that meet in memory, and of each a flag that it is there.
    parts, flags = c, c
    if slices > 1:
        parts = torch.empty(tiles * slices * rows * _FEW_COLUMNS, dtype=torch.float32, device=a.device)
        flags = torch.empty(tiles * slices, dtype=torch.int64, device=a.device)
    sizes = (m, n, k, slice_k, slices)
    program.launch(
        name, tiles * slices, _FEW_THREADS, a, b, c, parts, flags, new_ticket(), *sizes, overlaps=True
    )
    return c


def _few_step(m: int) -> int:
    """Of k, by a block of few rows at once."""
    return 32 if 4 < m <= 8 else 64


def _blocks(name: str, m: int, n: int) -> int:
    rows, columns, _ = TILES[name]
    return -(-m // rows) * -(-n // columns)
