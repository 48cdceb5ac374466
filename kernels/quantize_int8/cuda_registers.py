"""Launches ``cuda_registers.cu``: rows to int8, a warp a row up to 1024 columns, a block a row above."""

import torch

WARP = 32
WARPS = 4  # rows in a block of short rows
MOST_THREADS = 1024


def run(program, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales of the rows of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    q = torch.empty((rows, cols), dtype=torch.int8, device=x.device)
    scale = torch.empty(rows, dtype=torch.float32, device=x.device)
    for values in (8, 16, 32):  # a thread's
        if cols <= values * WARP:
            program.launch(
                f"quantize_warp_{values}", -(-rows // WARPS), WARPS * WARP, x, q, scale, rows, cols
            )
            return q, scale
    # What a block does once a row weighs more where an element has less time: 32 elements a thread.
    for values in (16, 32) if x.element_size() == 4 else (32,):
        if cols <= values * MOST_THREADS:
            warps = -(-cols // (values * WARP))
            program.launch(f"quantize_block_{values}", rows, warps * WARP, x, q, scale, cols)
            return q, scale
    program.launch("quantize_long", rows, MOST_THREADS, x, q, scale, cols)
    return q, scale
