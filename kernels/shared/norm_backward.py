"""How the gradients of the norms are launched: a grid that stays, its row groups walking along rows."""

from typing import NamedTuple

import torch

from roofscope import Refusal
from roofscope.kernels.shared.limits import shared_limit
from roofscope.kernels.shared.rows import PACK_BYTES, access_bytes

WARP = 32
THREADS = 256  # of a block of short rows
MOST_THREADS = 512  # as in norm_backward.cuh
NARROW_FROM, NARROW_BYTES = 1024, 2  # columns, of elements of so many bytes
MOST_SHARED_BYTES = 128 * 1024  # that a block here takes; some architectures have 100 KB for one


class Narrow(NamedTuple):
    """A kernel of norm_narrow.cuh, for rows of so many columns at most that begin on ``width`` elements."""

    width: int
    threads: int
    each: int  # accesses of a thread
    at_once: int  # blocks of a multiprocessor
    rows: int = 0  # fewer do not pay

    @property
    def cols(self) -> int:
        """It takes."""
        return self.width * self.threads * self.each


class Choice(NamedTuple):
    """A kernel by the end of its name, and its launch."""

    name: str
    threads: int  # of a row group, which owns a row at a time
    block: int
    blocks_at_once: int  # of a multiprocessor
    shared_bytes: int

    def blocks(self, rows: int, multiprocessor_count: int) -> int:
        """As many as run at once, or as have a row."""
        return max(min(multiprocessor_count * self.blocks_at_once, -(-rows * self.threads // self.block)), 1)


def choose(
    key: str, cols: int, bytes_of_column: int, narrow: tuple[Narrow, ...], *tensors: torch.Tensor
) -> Choice:
    """For rows of ``cols`` columns, the sums of each of which take ``bytes_of_column`` in shared memory.

    Long rows that are not packed take the first kernel of ``narrow`` that has room for them. Raises Refusal
    under the name ``key`` where those of a whole row do not fit.
    """
    pack = PACK_BYTES // tensors[0].element_size()
    row_packs = -(-cols // pack)
    access = access_bytes(cols, *tensors)
    packed, rows = access == PACK_BYTES, len(tensors[0])
    if not packed and cols > NARROW_FROM and tensors[0].element_size() == NARROW_BYTES:
        for one in narrow:
            if cols <= one.cols and rows >= one.rows and access % (one.width * NARROW_BYTES) == 0:
                name = f"narrow_{one.threads}_{one.each}_{one.width}"
                return Choice(name, one.threads, one.threads, one.at_once, 0)
    for name, packs in (("packed_1", 1), ("packed_2", 2)) if packed else (("elements_1", 1),):
        warps = 1 << (-(-row_packs // (packs * WARP)) - 1).bit_length()
        threads = warps * WARP
        if threads <= (WARP if name == "packed_1" else MOST_THREADS):
            block = max(threads, THREADS)
            at_once = (3 if name == "packed_1" else 2) * THREADS // block
            # The sums of all row groups but one.
            shared_bytes = bytes_of_column * pack * packs * (block - threads)
            return Choice(name, threads, block, at_once, shared_bytes)
    most_shared = min(MOST_SHARED_BYTES, shared_limit(tensors[0].device))
    for name, packs in (("packed_4_shared", 4), ("packed_8_shared", 8)):
        shared_bytes = bytes_of_column * pack * packs * MOST_THREADS
        if packed and row_packs <= packs * MOST_THREADS and shared_bytes <= most_shared:
            return Choice(name, MOST_THREADS, MOST_THREADS, 1, shared_bytes)
    raise Refusal(f"{key} keeps sums of a whole row on chip; {cols} columns do not fit.")
