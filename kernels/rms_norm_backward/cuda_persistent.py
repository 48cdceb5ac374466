"""Launches ``cuda_persistent.cu``: RMS norm's gradient by a grid that stays."""

import torch

from kernels.shared.rows import PACK_BYTES, are_packed
from profiling.worker.failures import Refusal

WARP = 32
THREADS = 256  # of a block of short rows
MOST_THREADS = 512  # as in cuda_persistent.cu
SHARED_BYTES = 4  # for a column: a float of dw
MOST_SHARED_BYTES = 128 * 1024


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    rows, cols = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    if cols == 0:
        return dx, dw
    name, threads, block, blocks_at_once, shared_bytes = _kernel(cols, dy, x, w, dx)
    blocks = max(min(program.multiprocessor_count * blocks_at_once, -(-rows * threads // block)), 1)
    partial = torch.empty((blocks, cols), dtype=torch.float32, device=x.device)
    arguments = (dy, x, w, rstd, dx, partial, rows, cols, threads)
    program.launch(f"rms_norm_backward_{name}", blocks, block, *arguments, shared_bytes=shared_bytes)
    program.launch("rms_norm_backward_columns", -(-cols // WARP), (WARP, WARP), partial, dw, blocks, cols)
    return dx, dw


def _kernel(cols: int, *tensors: torch.Tensor) -> tuple[str, int, int, int, int]:
    """Its name, threads of a team and of a block, blocks of a multiprocessor, bytes of shared memory."""
    pack = PACK_BYTES // tensors[0].element_size()
    row_packs = -(-cols // pack)
    for name, packs in (
        (("packed_1", 1), ("packed_2", 2)) if are_packed(cols, *tensors) else (("elements_1", 1),)
    ):
        warps = 1 << (-(-row_packs // (packs * WARP)) - 1).bit_length()
        threads = warps * WARP
        if threads <= (WARP if name == "packed_1" else MOST_THREADS):
            block = max(threads, THREADS)
            at_once = (3 if name == "packed_1" else 2) * THREADS // block
            shared_bytes = SHARED_BYTES * pack * packs * threads if threads < block else 0
            return name, threads, block, at_once, shared_bytes
    for name, packs in (("packed_4_shared", 4), ("packed_8_shared", 8)):
        shared_bytes = SHARED_BYTES * pack * packs * MOST_THREADS
        if (
            are_packed(cols, *tensors)
            and row_packs <= packs * MOST_THREADS
            and shared_bytes <= MOST_SHARED_BYTES
        ):
            return name, MOST_THREADS, MOST_THREADS, 1, shared_bytes
    raise Refusal(
        f"rms_norm_backward/cuda_persistent keeps sums of a whole row on chip; {cols} columns do not fit."
    )
