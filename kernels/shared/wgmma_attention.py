"""Launches ``wgmma_attention.cuh`` for its kernels, and chooses the order of causal tiles."""

import functools
from collections.abc import Sequence

import torch

from roofscope import Argument, CudaProgram, needs_hopper, tensor_map
from roofscope.kernels.shared.heads import (
    MORE_DIMS,
    aligned,
    require_16_bits,
    require_dim,
    require_like,
    results_of,
)

# As in wgmma_attention.cuh.
CONSUMERS = {64: 3, 96: 3, 128: 2, 192: 2, 256: 2}  # warpgroups that multiply, 64 queries each, by dim
KEYS = {64: 128, 96: 96, 128: 128, 192: 96, 256: 80}  # of a step, by dim
KEYS_OF_WINDOW = KEYS | {256: 64}
STAGES = {64: 3, 96: 3, 128: 3, 192: 2, 256: 2}  # of keys and of values, by dim
BAND = 64  # elements of a row that lie together in shared memory: 128 bytes
WARPGROUP = 128
TOLD_BYTES = 2 * 32  # the piece that is taken, and the next

# What the chunks of divided tiles cost beside their steps, in steps: measured where not causal.
CHUNK_STEPS = 6
# Causal ones, fitted on an H200: besides these, wider heads exchange more, and each step is longer.
CAUSAL_CHUNK_STEPS, WIDE_HEAD, CAUSAL_STEP = 4, 48, 1.35
ROWS_COMBINED = 8  # by a block

# Causal tiles are sorted over groups of heads, and drawn from a counter from so many steps a block on: below,
# setting it to zero takes longer than what it saves.
STEPS_TO_DRAW = 40
GROUP_BYTES = 32 << 20  # of keys and values at most: L2, 50 MB on Hopper, holds what tiles read again
GROUPS_TRIED = 64
STEP_TIME, TURN_TIME = 10, 2  # a tile takes the first for each of its steps, and the second besides


def attend(
    program: CudaProgram,
    key: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool,
    sharing: int | None = None,
    window: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    ``sharing`` query heads have one head of keys and values, where the program's kernels take their number,
    and a query sees the last ``window`` keys up to its own, where they take that. Raises Refusal for float32,
    for inputs that are not alike, for heads of other than 64, 96, 128, 192 or 256 elements, and where there
    is no wgmma.
    """
    batch, heads, seq, dim = q.shape
    require_16_bits(key, q)
    require_dim(key, dim, MORE_DIMS)
    require_like(key, q if sharing is None else k, k=k, v=v)
    needs_hopper(key, q.device)
    o, lse = results_of(q)
    if not q.numel():
        return o, lse
    queries = CONSUMERS[dim] * 64
    keys = (KEYS if window is None else KEYS_OF_WINDOW)[dim]
    maps = [
        tensor_map(x.view(-1, seq, dim), (1, rows, BAND))
        for x, rows in zip(aligned(q, k, v), (queries, keys, keys), strict=True)
    ]
    count = program.multiprocessor_count
    heads *= batch
    tiles, steps = heads * -(-seq // queries), -(-seq // keys)
    sorts = causal and window is None  # tiles of a window take equally long but for a head's first
    if sorts and divides_causal(heads, seq, dim, count):
        attend_divided(program, maps, o, lse, (seq, heads, 0), tiles, causal=True, sharing=sharing or 1)
        return o, lse
    whole = tiles if causal else whole_tiles(tiles, steps, count)
    group = heads_of_group(heads, seq, dim, count, sharing or 1) if sorts else 1
    threads = (CONSUMERS[dim] + 1) * WARPGROUP
    drawn = sorts and is_drawn(tiles, steps, count)
    counter = torch.zeros(1, dtype=torch.int32, device=q.device) if drawn else 0
    program.launch(
        f"attention_{dim}",
        min(whole, count),
        threads,
        *(*maps, o, lse, seq, heads, group, counter, whole if sharing is None else sharing),
        *(() if window is None else (min(window, seq),)),
        shared_bytes=shared_bytes(dim, keys),
        overlaps=not drawn,  # else what sets the counter is in front
    )
    if whole < tiles:
        attend_divided(program, maps, o, lse, (seq, heads, whole), tiles - whole)
    return o, lse


def attend_divided(
    program: CudaProgram,
    maps: Sequence[Argument],
    o: torch.Tensor,
    lse: torch.Tensor,
    sizes: tuple[int, int, int],
    divided: int,
    *,
    causal: bool = False,
    sharing: int = 1,
) -> None:
    """The last ``divided`` tiles by all blocks, which are all where causal.

    ``sizes``: seq, heads, how many are whole; ``sharing`` heads of queries have one of keys.
    """
    dim, (seq, heads, _) = o.shape[-1], sizes
    queries = CONSUMERS[dim] * 64
    steps = heads * sum(steps_of_causal(seq, dim)) if causal else divided * -(-seq // KEYS[dim])
    chunks = min(program.multiprocessor_count, steps)
    places = (chunks + divided) * queries
    means = torch.empty(places * dim, dtype=torch.float32, device=o.device)
    logarithms = torch.empty(places, dtype=torch.float32, device=o.device)
    program.launch(
        f"divided_{dim}",
        chunks,
        (CONSUMERS[dim] + 1) * WARPGROUP,
        *(*maps, means, logarithms, *sizes, chunks, sharing),
        shared_bytes=shared_bytes(dim, KEYS[dim]),
        overlaps=True,
    )
    program.launch(
        f"combine_{dim}",
        -(-divided * queries // ROWS_COMBINED),
        ROWS_COMBINED * 32,
        *(means, logarithms, o, lse, *sizes, chunks),
        overlaps=True,
    )


def shared_bytes(dim: int, keys: int) -> int:
    """Of a block: queries, stages of keys and of values, in whole bands, barriers, which pieces it takes."""
    stages = STAGES[dim]
    rows = CONSUMERS[dim] * 64 + 2 * stages * keys
    return rows * -(-dim // BAND) * BAND * 2 + 8 * (2 + 4 * stages) + TOLD_BYTES


def is_drawn(tiles: int, steps: int, blocks: int) -> bool:
    """Whether blocks draw causal tiles, the longest of ``steps`` steps, rather than are dealt them."""
    return tiles * steps >= 2 * STEPS_TO_DRAW * blocks


def whole_tiles(tiles: int, steps: int, blocks: int) -> int:
    """How many tiles no two blocks share: all but those of a last round that would leave most blocks idle."""
    last = tiles % blocks
    saved = steps - (last * steps / blocks + CHUNK_STEPS)
    return tiles - last if last and saved > 0 else tiles


def steps_of_causal(seq: int, dim: int) -> list[int]:
    """Those of a head's tiles, the longest first."""
    queries = CONSUMERS[dim] * 64
    ends = range(-(-seq // queries) * queries, 0, -queries)
    return [-(-min(end, seq) // KEYS[dim]) for end in ends]


@functools.lru_cache
def divides_causal(heads: int, seq: int, dim: int, blocks: int) -> bool:
    """Whether blocks share all causal tiles: the longest takes longer than an equal share of all steps.

    No kernel does that for the longest heads.
    """
    steps = steps_of_causal(seq, dim)
    divided = CAUSAL_STEP * heads * sum(steps) / blocks + CAUSAL_CHUNK_STEPS + dim / WIDE_HEAD
    return dim <= 192 and steps[0] > divided


@functools.lru_cache
def heads_of_group(heads: int, seq: int, dim: int, multiprocessors: int, sharing: int = 1) -> int:
    """The heads whose causal tiles are sorted together: as many as leave the busiest block least to do.

    ``sharing`` of them have one head of keys and values.
    """
    times = [steps * STEP_TIME + TURN_TIME for steps in steps_of_causal(seq, dim)]

    def most_to_do(group: int) -> int:
        groups = [group + heads % group] + [group] * (heads // group - 1)
        tiles = [time for size in groups for time in times for _ in range(size)]
        tiles += [0] * (-len(tiles) % multiprocessors)
        turns = [tiles[first : first + multiprocessors] for first in range(0, len(tiles), multiprocessors)]
        turns[1::2] = [turn[::-1] for turn in turns[1::2]]
        return max(map(sum, zip(*turns, strict=True)))

    most = max(1, min(heads, GROUP_BYTES * sharing // (seq * dim * 4)))
    return min(range(1, most + 1, -(-most // GROUPS_TRIED)), key=most_to_do)
