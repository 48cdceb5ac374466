"""Launches ``cuda_packed.cu``: groups to 4-bit integers, two packs of 16 bytes a thread."""

import torch

THREADS = 256  # as in cuda_packed.cu
WARP = 32
PACK_BYTES = 16
GROUPS = (32, 64, 128, 256)


def run(program, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed codes and scales of the groups of ``x``, (rows, groups, group) and contiguous."""
    rows, groups, group = x.shape
    packed = torch.empty((rows, groups, group // 2), dtype=torch.uint8, device=x.device)
    scale = torch.empty((rows, groups), dtype=torch.float32, device=x.device)
    n = packed.numel()
    if group in GROUPS and x.data_ptr() % PACK_BYTES == 0:
        elements = THREADS * PACK_BYTES // x.element_size()
        program.launch(f"quantize_{group}", -(-n // elements), THREADS, x, packed, scale, n)
    else:
        count = rows * groups
        program.launch(
            "quantize_any", -(-count * WARP // THREADS), THREADS, x, packed, scale, count, group // 2
        )
    return packed, scale
