"""Launches ``cuda_packed.cu``: int8 rows back to numbers, a thread a pack of 16 bytes, or UNROLL."""

import torch

from roofscope.kernels.shared.division import NUMBERS, division

THREADS = 256
UNROLL = 4  # as in cuda_packed.cu
PACK_BYTES = 16
WARP = 32
FEW = 2**20  # elements, of which a thread takes one pack
FEW_ELEMENTS = 2**18  # up to which each has a thread where rows are no whole packs
FEW_THREADS = 128  # of a block of few, as in cuda_packed.cu
SHORT_PACKS = FEW_THREADS  # of a row, of which a block of its own would have idle threads


def run(program, q: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``q``, (rows, cols) and contiguous, times the ``scale``, (rows,), of each row."""
    rows, cols = q.shape
    x = torch.empty((rows, cols), dtype=scale.dtype, device=q.device)
    pack = PACK_BYTES // x.element_size()
    aligned = q.data_ptr() % pack == x.data_ptr() % PACK_BYTES == 0
    if aligned and cols % pack == 0 and q.numel() <= FEW and cols >= SHORT_PACKS * pack:
        grid = (rows, -(-cols // (pack * FEW_THREADS)))
        program.launch("dequantize_few", grid, FEW_THREADS, q, scale, x, cols, overlaps=True)
        return x
    if aligned and 0 < q.numel() < NUMBERS:
        few = cols % pack != 0 and q.numel() <= FEW_ELEMENTS
        name, each = ("elements", 1) if few else ("run", pack)
        blocks, arguments = -(-q.numel() // (each * THREADS)), (q, scale, x, q.numel(), *division(cols))
        program.launch(f"dequantize_{name}", blocks, THREADS, *arguments, overlaps=True)
        return x
    threads = -(-cols * x.element_size() // (PACK_BYTES * UNROLL))
    width = min(max(WARP, 1 << max(threads - 1, 0).bit_length()), THREADS)
    height = THREADS // width
    grid = (-(-rows // height), -(-threads // width))
    program.launch("dequantize", grid, (width, height), q, scale, x, rows, cols, overlaps=True)
    return x
