"""Launcher of cuda_ffma_tma.cu: float32 tiles on the FMA units from a ring that TMA fills."""

import numpy as np
import torch

from roofscope import CudaProgram, Refusal, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product, shared_limit
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.tile_shares import new_ticket

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in cuda_ffma_tma.cu.
_ROWS, _COLUMNS, _STEP, _STAGES, _THREADS = 256, 128, 32, 4, 256
_WALKS_BYTES = (1 + _THREADS // 32) * 40  # who copies, and each warp, where they are in their tiles
_SHARED_BYTES = _STAGES * ((_ROWS + _COLUMNS) * _STEP * 4 + 2 * 8) + _WALKS_BYTES
_STEP_NS = 5900  # of one step of a block, on an H100
_FEWEST_STEPS = 2  # of a block


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous. Raises Refusal for 16 bits and beyond 32-bit sizes."""
    if a.dtype != torch.float32:
        raise Refusal("matmul/cuda_ffma_tma multiplies float32; 16-bit elements go to the tensor cores.")
    if shared_limit(a.device) < _SHARED_BYTES:
        raise Refusal(f"matmul/cuda_ffma_tma needs {_SHARED_BYTES} bytes of shared memory a block.")
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/cuda_ffma_tma", m, n, k)
    if not m * n * k:
        return torch.zeros((m, n), dtype=a.dtype, device=a.device)
    return launch(program, a, b, *grid_of(m, n, k, program.multiprocessor_count))


def grid_of(m: int, n: int, k: int, multiprocessors: int) -> tuple[int, int]:
    """Blocks, and how many tiles they take one by one; the rest they share along k, where that is faster."""
    tiles, steps = _counts(m, n, k)
    blocks = max(min(multiprocessors, tiles * steps // _FEWEST_STEPS), 1)
    rest = tiles % blocks
    alone = min(blocks, tiles), tiles
    if not rest or rest * steps >= 2**31:  # which 32 bits do not count
        return alone
    exchange_ns = 8000 + 1500 * -(-blocks // rest)  # one block adds a tile's parts one by one
    shared_ns = -(-rest * steps // blocks) * _STEP_NS + exchange_ns
    return (blocks, tiles - rest) if shared_ns < steps * _STEP_NS else alone


def launch(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, blocks: int, alone: int) -> torch.Tensor:
    """Multiply on so many blocks, of which each takes its share of the first ``alone`` tiles whole."""
    (m, k), n = a.shape, b.shape[1]
    # Rows of whole 16 bytes; where C has others, a copy at the end makes them so, and counts as time.
    a, b = in_whole_units(a), in_whole_units(b)
    c = torch.empty((m, b.shape[1]), dtype=a.dtype, device=a.device)
    tiles, steps = _counts(m, n, k)
    shares = alone < tiles
    parts = torch.empty(blocks * _ROWS * _COLUMNS if shares else 1, dtype=a.dtype, device=a.device)
    flags = torch.empty(blocks, dtype=torch.int64, device=a.device) if shares else parts
    program.launch(
        "matmul_256x128",
        blocks,
        _THREADS,
        tensor_map(a, (_ROWS, _STEP)),
        tensor_map(b, (_STEP, _COLUMNS)),
        c,
        parts,
        flags,
        new_ticket(),
        m,
        c.shape[1],
        steps,
        tiles,
        alone,
        np.float32(1),
        shared_bytes=_SHARED_BYTES,
    )
    return c[:, :n].contiguous()


def _counts(m: int, n: int, k: int) -> tuple[int, int]:
    """Tiles of C, and steps of each."""
    return -(-m // _ROWS) * -(-n // _COLUMNS), -(-k // _STEP)
