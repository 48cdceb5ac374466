"""What versions ask of a paged cache, and into how many parts they split its sequences."""

from collections.abc import Container

import torch

from roofscope import Refusal

MOST_SPLITS = 64

# Costs in tiles, of a block that shares the memory's rate with as many others as fit.
_START = 1  # to look a page up and wait for its first keys
_JOIN = 1.5  # the second kernel
_LEAST_TURN = 0.25  # alone, a block is four times as fast and no faster
_PLENTY = 16  # turns, after which the last one matters little


def require_pool(key: str, q: torch.Tensor, k: torch.Tensor, dims: Container[int]) -> None:
    """Raises Refusal under the name ``key`` for other heads, and where 32 bits count no rows."""
    (batch, heads, dim), (pool, page) = q.shape, k.shape[:2]
    if dim not in dims:
        raise Refusal(f"{key} takes no heads of {dim} elements; eager does.")
    if pool * page >= 2**31 or batch * heads >= 2**31:
        raise Refusal(f"{key} counts the keys of the pool and the query heads in 32 bits.")


def split_count(blocks: int, tiles: int, slots: int) -> int:
    """Parts of each sequence, of ``tiles`` tiles, that take least time.

    ``blocks`` are there without splitting, and ``slots`` of them run at once. A block for each slot has all
    of the memory's rate, and so has a quarter as many, as long as each has enough keys under way.
    """
    if blocks >= _PLENTY * slots:
        return 1

    def time(splits: int) -> float:
        turns, rest = divmod(blocks * splits, slots)
        last = max(rest / slots, _LEAST_TURN) if rest else 0.0
        return (-(-tiles // splits) + _START) * (turns + last) + (_JOIN if splits > 1 else 0.0)

    return min(range(1, min(max(tiles, 1), MOST_SPLITS) + 1), key=time)
