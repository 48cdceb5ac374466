"""Launches ``cuda_cluster.cu``: softmax, a cluster of 2 to 8 blocks a row of up to 1 MB."""

import torch

from roofscope import Refusal
from roofscope.kernels.shared.rows import PACK_BYTES, are_packed

DOMAIN = "cols * s <= 2**18 or cols * s % 16 == 0 and cols * s <= 2**20"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

WARP = 32
THREADS = 256  # of a block, as long as there are more blocks to be had
MOST_THREADS = 512  # as in cuda_cluster.cu
KERNELS = {  # name: blocks of a cluster, packs of a thread, threads of a block at most
    "packed_2": (2, 8, THREADS),
    "packed_4": (4, 8, THREADS),
    "packed_8": (8, 8, MOST_THREADS),
    "packed_8_long": (8, 16, MOST_THREADS),
    "elements_8": (8, 4, MOST_THREADS),
}


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    row_packs = -(-cols * x.element_size() // PACK_BYTES)
    kind = "packed" if are_packed(cols, x, y) else "elements"
    for name, (blocks, packs, most_threads) in KERNELS.items():
        threads = -(-row_packs // (blocks * packs * WARP)) * WARP
        if name.startswith(kind) and threads <= most_threads:
            program.launch(f"softmax_{name}", rows * blocks, threads, x, y, cols)
            return y
    raise Refusal(
        f"softmax/cuda_cluster keeps a row in the registers of 8 blocks; {cols} columns do not fit."
    )
