"""Launches ``cuda_persistent.cu``: layer norm's gradient by a grid that stays."""

import torch

from roofscope.kernels.shared.norm_backward import WARP, Narrow, choose

DOMAIN = "cols * s <= 2**13 or s == 2 and cols <= 2**13 or cols * s % 16 == 0 and cols <= 2**14"
SHARED_BYTES = 8  # for a column: a float of dw and one of db
NARROW = (
    Narrow(2, 128, 8, 4),
    Narrow(1, 256, 6, 4),
    Narrow(1, 512, 4, 2),
    Narrow(2, 256, 6, 2, rows=1024),
    Narrow(1, 384, 8, 2),
    Narrow(2, 256, 8, 2, rows=1024),
    Narrow(1, 256, 16, 2),
    Narrow(2, 384, 6, 2),
    Narrow(2, 512, 6, 1),
    Narrow(1, 512, 12, 1),
    Narrow(1, 512, 16, 1),
)


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    rows, cols = x.shape
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    if cols == 0:
        return dx, dw, db
    chosen = choose("layer_norm_backward/cuda_persistent", cols, SHARED_BYTES, NARROW, dy, x, w, dx)
    blocks = chosen.blocks(rows, program.multiprocessor_count)
    partial = torch.empty((2, blocks, cols), dtype=torch.float32, device=x.device)
    arguments = (dy, x, w, mean, rstd, dx, partial, rows, cols, chosen.threads)
    kernel = f"layer_norm_backward_{chosen.name}"
    program.launch(kernel, blocks, chosen.block, *arguments, shared_bytes=chosen.shared_bytes, overlaps=True)
    grid, arguments = (-(-cols // WARP), 2), (partial, dw, db, blocks, cols)
    program.launch("layer_norm_backward_columns", grid, (WARP, WARP), *arguments, overlaps=True)
    return dx, dw, db
