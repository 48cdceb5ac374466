"""Tiles that several blocks share: what launchers give ``tile_shares.cuh``, and the times of clusters."""

import math
import random

import torch

from roofscope.kernels.shared.tile_times import EQUAL, ROW, Plan, Tile, most_blocks

# About the times of a cluster that shares a tile beside its steps: to start, and to exchange sums. The first
# start is one that all kernels have.
_EXCHANGE_NS, _START_NS = 3600, 1500
_BYTES_PER_NS = 3500
_draw = random.Random()  # its own, for users seed the other


def new_ticket() -> int:
    """A number that no memory holds by chance: what flags of one launch are raised to."""
    return _draw.getrandbits(63)


def room_for_parts(
    tile: Tile, plan: Plan, m: int, n: int, otherwise: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """For sums of parts of tiles that meet in memory, and of each a flag that it is there.

    Where the plan shares none, ``otherwise`` stands for both.
    """
    if tile.parts != EQUAL or plan.alone >= tile.count(m, n):
        return otherwise, otherwise
    of_parts = plan.blocks * tile.rows * tile.columns
    sums = torch.empty(of_parts, dtype=torch.float32, device=otherwise.device)
    return sums, torch.empty(plan.blocks * tile.warpgroups, dtype=torch.int64, device=otherwise.device)


def by_clusters(
    tile: Tile, m: int, n: int, steps: int, parts: int, step_ns: float, multiprocessors: int
) -> Plan:
    """The plan where each tile has a cluster, whose ``parts`` blocks share it along what is summed."""
    blocks = tile.count(m, n) * parts
    at_once = max(most_blocks(parts, multiprocessors), parts)  # a part of a GPU has room for one cluster too
    rounds = -(-blocks // at_once)
    rounds_ns = rounds * (_EXCHANGE_NS + -(-steps // parts) * step_ns) - _START_NS
    return Plan(blocks, blocks, math.hypot(rounds_ns, (m + n) * steps * ROW / _BYTES_PER_NS))
