"""What versions ask of a paged cache, and into how many parts they split its sequences."""

from collections.abc import Container

import torch

from roofscope import Refusal

MOST_SPLITS = 64
MOST_PARTS = 256
MOST_TOGETHER = 8  # parts that a cluster joins

# Costs in tiles, of a block that shares the memory's rate with as many others as fit.
_START = 1  # to look a page up and wait for its first keys
_JOIN = 1.5  # the second kernel
_LEAST_TURN = 0.25  # alone, a block is four times as fast and no faster
_PLENTY = 16  # turns, after which the last one matters little

# Costs in tiles, of a block that has more of the memory's rate than it can take.
_SATURATING = 0.25  # of the blocks that run at once have all of that rate
_HIDDEN = 0.65  # of the lesser of waiting for tiles and of the memory's time, behind the greater
_JOIN_APART, _JOIN_PART = 3.5, 0.02  # a second kernel, and each part that it reads
_JOIN_TOGETHER = 2.0  # of a cluster
_CROWDED = 0.7  # of the blocks that run at once: more find no room as clusters
_CROWD, _TURNS = 1.5, 1.2  # times as long with such clusters, and with parts that wait for others to end


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


def parts_of(blocks: int, tiles: int, slots: int, *, clusters: bool) -> tuple[int, bool]:
    """Parts of each sequence, of ``tiles`` tiles, that take least time, and whether they are a cluster.

    ``blocks`` are there without splitting, and ``slots`` of them run at once. Where there are ``clusters``,
    the blocks of one join up to eight parts, and else a second kernel joins them. For versions whose blocks
    wait for each tile where they are few, and whose second kernel reads many parts at once.
    """
    if blocks >= slots:
        return 1, False
    memory = blocks * tiles / (_SATURATING * slots)

    def time(choice: tuple[int, bool]) -> float:
        parts, together = choice
        waiting = -(-blocks * parts // slots) * (-(-tiles // parts) + _START)
        products = max(waiting, memory) + (1 - _HIDDEN) * min(waiting, memory)
        if together:
            return products * (_CROWD if blocks * parts > _CROWDED * slots else 1.0) + _JOIN_TOGETHER
        if parts == 1:
            return products
        return products * (_TURNS if blocks * parts > slots else 1.0) + _JOIN_APART + _JOIN_PART * parts

    most = min(max(tiles, 1), MOST_PARTS)
    apart = [(parts, False) for parts in range(1, most + 1)]
    together = [(parts, True) for parts in range(2, min(most, MOST_TOGETHER) + 1) if clusters]
    return min(apart + together, key=time)
