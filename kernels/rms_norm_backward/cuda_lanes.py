"""Launches ``cuda_lanes.cu``: RMS norm's gradient of short rows, by lanes or warps, of few by a block."""

import torch

from roofscope.kernels.shared.norm_lanes import launch_lanes

DOMAIN = (
    "cols * s <= 512 - 16 + s or cols * s == 512 or cols * s % 16 != 0 and cols * s <= 8192 - 16 + s "
    "or rows <= 128 and cols <= 4096"
)
MOST_ROWS = 128  # each by a block, beside blocks of columns
APART_THREADS, EACH = 512, (1, 2, 4, 8)  # of a block; elements of a thread
WARP = 32


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    rows, cols = x.shape
    if rows <= MOST_ROWS and 0 < cols <= APART_THREADS * EACH[-1]:
        each = next(each for each in EACH if cols <= APART_THREADS * each)
        grid, arguments = rows + -(-cols // WARP), (dy, x, w, rstd, dx, dw, rows, cols)
        program.launch(f"rms_norm_backward_apart_{each}", grid, APART_THREADS, *arguments, overlaps=True)
    elif cols:
        launch_lanes(program, "rms_norm_backward", (dy, x, w, rstd), dx, dw)
    return dx, dw
