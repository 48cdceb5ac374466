"""How Triton's maps over flat arrays are launched: a program for each tile of 2048 bytes, more or fewer."""

from typing import Any

import torch
import triton

from roofscope.kernels.shared.hints import EVICT_LAST, SMALL

TILE_BYTES, SMALL_TILE_BYTES, COPY_TILE_BYTES = 2048, 1024, 4096
MOST_COPY_BYTES = 9 << 20  # of an array of float32 that goes to another one by the larger tiles
# Bytes of an array up to which the hint of hints.py gains nothing, twice as many for maps of more than MANY
# arrays; these and 16-bit elements are faster there by more threads.
UNHINTED, MANY = 4 << 20, 3


def launch_map(kernel: Any, *arrays: torch.Tensor) -> None:
    """Run ``kernel(*arrays, n, TILE, HINT)`` over arrays of n elements each, contiguous and of one type."""
    first = arrays[0]
    if n := first.numel():
        tile, warps, hint = tile_of(first.nbytes, first.element_size(), len(arrays))
        kernel[(triton.cdiv(n, tile),)](*arrays, n, tile, hint, num_warps=warps)


def tile_of(array_bytes: int, element_bytes: int, arrays: int) -> tuple[int, int, str]:
    """Elements and warps of a program, and the ``eviction_policy`` of its loads.

    More programs share a small array, and more threads each tile of it, so that each has less to wait for.
    """
    if array_bytes <= SMALL:
        return SMALL_TILE_BYTES // element_bytes, 8, EVICT_LAST.value if element_bytes == 2 else ""
    unhinted = array_bytes <= UNHINTED * (2 if arrays > MANY else 1)
    if not unhinted and arrays == 2 and element_bytes == 4 and array_bytes <= MOST_COPY_BYTES:
        return COPY_TILE_BYTES // element_bytes, 4, EVICT_LAST.value
    more = unhinted and (element_bytes == 2 or arrays > MANY)
    return TILE_BYTES // element_bytes, 8 if more else 4, "" if unhinted else EVICT_LAST.value
