"""How Triton's maps over flat arrays are launched: a program for each tile of 2048 bytes."""

from typing import Any

import torch
import triton

from roofscope.kernels.shared.hints import SMALL, hint_of

TILE_BYTES = 2048


def launch_map(kernel: Any, *arrays: torch.Tensor) -> None:
    """Run ``kernel(*arrays, n, TILE, HINT)`` over arrays of n elements each, contiguous and of one type.

    256 threads share a tile of a small array, which is a little faster, and 128 any other.
    """
    first = arrays[0]
    if n := first.numel():
        tile = TILE_BYTES // first.element_size()
        warps = 8 if first.nbytes <= SMALL else 4
        kernel[(triton.cdiv(n, tile),)](*arrays, n, tile, hint_of(first), num_warps=warps)
