"""Launches ``cuda_persistent.cu``: RMS norm's gradient by a grid that stays."""

import torch

from roofscope.kernels.shared.norm_backward import WARP, Narrow, choose

DOMAIN = "cols * s <= 2**13 or s == 2 and cols <= 2**13 or cols * s % 16 == 0 and cols * s <= 2**16"
SHARED_BYTES = 4  # for a column: a float of dw
NARROW = (
    Narrow(4, 128, 4, 4),
    Narrow(2, 128, 8, 4),
    Narrow(1, 256, 6, 4),
    Narrow(1, 256, 8, 4),
    Narrow(4, 128, 6, 4, rows=1024),
    Narrow(2, 256, 6, 2),
    Narrow(1, 512, 6, 2),
    Narrow(4, 256, 4, 3, rows=2048),
    Narrow(2, 512, 4, 2),
    Narrow(1, 512, 8, 2),
    Narrow(2, 512, 6, 2),
    Narrow(1, 1024, 6, 1),
    Narrow(1, 1024, 8, 1),
)


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    rows, cols = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    if cols == 0:
        return dx, dw
    chosen = choose("rms_norm_backward/cuda_persistent", cols, SHARED_BYTES, NARROW, dy, x, w, dx)
    blocks = chosen.blocks(rows, program.multiprocessor_count)
    partial = torch.empty((blocks, cols), dtype=torch.float32, device=x.device)
    arguments = (dy, x, w, rstd, dx, partial, rows, cols, chosen.threads)
    kernel = f"rms_norm_backward_{chosen.name}"
    program.launch(kernel, blocks, chosen.block, *arguments, shared_bytes=chosen.shared_bytes, overlaps=True)
    arguments = (partial, dw, blocks, cols)
    program.launch("rms_norm_backward_columns", -(-cols // WARP), (WARP, WARP), *arguments, overlaps=True)
    return dx, dw
