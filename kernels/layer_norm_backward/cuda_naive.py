"""Launches ``cuda_naive.cu``: layer norm's gradient, dx by rows, then dw and db by columns."""

import torch

THREADS = 256  # as in cuda_naive.cu
WARP = 32
RUNS = 64  # of rows, to be added up in the end


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    rows, cols = x.shape
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    partial = torch.empty((2, RUNS, cols), dtype=torch.float32, device=x.device)
    strips = -(-cols // WARP)
    program.launch("layer_norm_backward_rows", rows if cols else 0, THREADS, dy, x, w, mean, rstd, dx, cols)
    arguments = (dy, x, mean, rstd, partial, rows, cols, -(-rows // RUNS))
    program.launch("layer_norm_backward_runs", (strips, RUNS), THREADS, *arguments)
    program.launch("layer_norm_backward_columns", (strips, 2), (WARP, WARP), partial, dw, db, RUNS, cols)
    return dx, dw, db
