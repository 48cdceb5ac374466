"""Launches ``attention_backward_short.cuh``, and says where it takes less time than five products."""

import functools
from typing import NamedTuple

import torch

from roofscope import CudaProgram, tensor_map

# As in attention_backward_short.cuh.
ROWS = 64  # of a warpgroup, and of a step
BAND = 64  # elements of a row that lie together in shared memory: 128 bytes
WARPGROUP = 128
PREPARING = 256  # threads of a block that prepares
PACK = 8  # elements that one of them takes
NUMBERS = 2 * ROWS * 4  # bytes of a step

Tensors = tuple[torch.Tensor, ...]


class Short(NamedTuple):
    """One way: ``parts`` blocks share the steps of a tile, and each has ``stages`` of them at once."""

    kernel: str
    parts: int
    stages: int
    groups: int  # warpgroups of a block, which has a tile each


class _Costs(NamedTuple):
    """Of a way, in microseconds on an H200: as they were fitted to times of drawn sizes."""

    short: Short
    start: float  # of a call
    elements: float  # of a million elements of q
    tile: float  # beside its steps
    step: tuple[float, ...]  # where a multiprocessor has one block, two, ...
    last: float  # of a causal tile, while blocks end one after the other
    alone: bool = False  # only where each block has a multiprocessor


COSTS = {
    64: (
        _Costs(Short("short_64", 1, 2, 1), 3.2, 4.8, 0.43, (0.56, 0.79), 0.15),
        _Costs(Short("short_64", 2, 2, 1), 5.6, 4.8, 0.43, (0.56,), 0.15, alone=True),
        _Costs(Short("short_crowded_64", 1, 3, 1), 4.1, 3.5, 0.66, (0.56, 0.79, 1.15), 0.0),
    ),
    128: (
        _Costs(Short("short_128", 1, 5, 1), 2.6, 4.5, 1.4, (0.88,), 0.5, alone=True),
        _Costs(Short("short_128", 2, 5, 1), 5.0, 4.5, 1.4, (0.88,), 0.5, alone=True),
        _Costs(Short("short_128", 1, 2, 1), 4.4, 4.1, 0.25, (1.1, 1.32), 0.2),
        _Costs(Short("short_wide_128", 1, 4, 2), 5.1, 4.8, 0.29, (1.15,), 0.06),
    ),
}


class _LongCosts(NamedTuple):
    """The same of five products: tiles of 128 keys, a block a multiprocessor, which takes them in turn."""

    step_queries: int
    start: float
    elements: float
    tile: float
    step: float
    last: float


_LONG_COSTS = {64: _LongCosts(128, 5.6, 3.9, 3.9, 2.26, 0.46), 128: _LongCosts(64, 4.9, 5.3, 3.4, 1.91, 0.24)}
_LONG_KEYS = 128
_CHUNK_STEPS = 8  # what it costs to divide the tiles of a last round, in steps


def launch_short(
    program: CudaProgram, short: Short, inputs: Tensors, outputs: Tensors, *, heads: int, seq: int, dim: int
) -> None:
    """dq, dk and dv into ``outputs`` from q, k, v, o, lse and do, contiguous and from whole 16 bytes on."""
    q, k, v, o, lse, do = inputs
    tiles = -(-seq // ROWS)
    numbers = torch.empty(heads * tiles * 2 * ROWS, dtype=torch.float32, device=q.device)
    program.launch(
        f"prepare_short_{dim}",
        -(-heads * tiles * ROWS * (dim // PACK) // PREPARING),
        PREPARING,
        *(o, do, lse, numbers, seq, heads),
        overlaps=True,
    )
    program.launch(
        short.kernel,
        2 * heads * -(-tiles // short.groups) * short.parts,
        short.groups * WARPGROUP,
        *(tensor_map(x.view(heads, seq, dim), (1, ROWS, BAND)) for x in (q, k, v, do)),
        *(numbers, *outputs, seq, heads, short.parts, short.stages),
        shared_bytes=short_bytes(dim, short),
        overlaps=True,
        cluster=short.parts,
    )


def short_bytes(dim: int, short: Short) -> int:
    """Own tiles, stages with two numbers a row, barriers, by how many warpgroups each stage was read."""
    tiles = 2 * (short.groups + short.stages) * ROWS * dim * 2
    return tiles + short.stages * NUMBERS + 8 * (1 + 2 * short.stages) + 4 * short.stages


@functools.lru_cache(maxsize=1024)
def short_plan(heads: int, seq: int, dim: int, multiprocessors: int, *, causal: bool) -> Short | None:
    """The way that takes least time by a count of steps; None where that is five products."""
    ways = [
        (_short_time(costs, heads, seq, dim, multiprocessors, causal=causal), costs.short)
        for costs in COSTS[dim]
        if not costs.alone or _blocks(costs.short, heads, seq) <= multiprocessors
    ]
    least, short = min(ways)
    return short if least < _long_time(heads, seq, dim, multiprocessors, causal=causal) else None


def _blocks(short: Short, heads: int, seq: int) -> int:
    return 2 * heads * -(-seq // (ROWS * short.groups)) * short.parts


def _short_time(
    costs: _Costs, heads: int, seq: int, dim: int, multiprocessors: int, *, causal: bool
) -> float:
    short, resident = costs.short, len(costs.step)
    steps = -(-seq // ROWS)
    tiles = -(-steps // short.groups)
    blocks, at_once = _blocks(short, heads, seq), multiprocessors * resident
    start = costs.start + costs.elements * heads * seq * dim / 1e6
    if causal and blocks > at_once:
        mean = steps - short.groups * (tiles - 1) / 2
        of_mean = costs.tile + mean * costs.step[-1]
        return start + max(costs.tile + steps * costs.step[-1], (blocks / at_once + costs.last) * of_mean)
    of_block = -(-steps // short.parts)
    rounds, rest = divmod(blocks, at_once)
    time = start + rounds * (costs.tile + of_block * costs.step[-1])
    return time + costs.tile + of_block * costs.step[-(-rest // multiprocessors) - 1] if rest else time


def _long_time(heads: int, seq: int, dim: int, multiprocessors: int, *, causal: bool) -> float:
    costs = _LONG_COSTS[dim]
    steps, tiles = -(-seq // costs.step_queries), -(-seq // _LONG_KEYS)
    start = costs.start + costs.elements * heads * seq * dim / 1e6
    rounds, rest = divmod(heads * tiles, multiprocessors)
    if causal:
        mean = steps - _LONG_KEYS / costs.step_queries * (tiles - 1) / 2
        of_mean = costs.tile + mean * costs.step
        last = costs.last * of_mean
        return start + max(costs.tile + steps * costs.step, heads * tiles / multiprocessors * of_mean + last)
    time = start + rounds * (costs.tile + steps * costs.step)
    shared = min(steps, rest * steps / multiprocessors + _CHUNK_STEPS)  # of the last round's tiles
    return time + costs.tile + shared * costs.step if rest else time
