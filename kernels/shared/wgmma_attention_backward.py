"""Launches ``wgmma_attention_backward.cuh`` for both kernels, and what comes before and after it."""

import torch

from roofscope import CudaProgram, needs_hopper, tensor_map
from roofscope.kernels.shared.heads import aligned, empty_like, require_16_bits, require_dim, require_like
from roofscope.kernels.shared.short_attention_backward import launch_short, short_plan

# As in attention_backward_block.cuh and attention_backward_ends.cuh.
STEPS = {64: 128, 128: 64}  # queries of a step
KEYS = 128  # of a tile
CONSUMERS = 2  # warpgroups that multiply, 64 keys each
STAGES = {1: 2, 2: 3}  # of queries and of their gradients, for a block alone and for one of a pair
PREPARING = 256  # threads of a block that prepares
PACK = 8  # elements that one of them takes
BAND = 64  # elements of a row that lie together in shared memory: 128 bytes
WARPGROUP = 128
TAKEN_BYTES = 8 * 4 + 4 * 4  # what a pair's blocks tell each other

# Of which causal tiles are sorted together: two and four are as fast as each other from 8192 keys on.
HEADS_OF_GROUP = 4
# Of short heads as many as have so many tiles: blocks end nearer together if the longest of many come first.
TILES_OF_GROUP = 256
# From so many queries a tile on, the warps that do not multiply have time to prepare and to finish all heads.
QUERIES_FOR_ALL = 2560
# Below so many queries of a block, of all its tiles, they have no time for any: tiles would wait for them.
LEAST_QUERIES_OF_BLOCK = 3900
# From so many queries on, blocks work in pairs at dim 128. Where causal the second one goes over two steps in
# vain.
QUERIES_OF_PAIRS = 2048
QUERIES_OF_CAUSAL_PAIRS = 16384
# From so many queries on, where not causal at dim 64, no heads: at the limit of power, kernels in front and
# behind take less time than these warps cost the others.
QUERIES_FOR_NONE = 16384
# What the chunks of a divided tile cost beside their steps, in steps.
CHUNK_STEPS = 8


def gradients(
    program: CudaProgram,
    key: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
    *,
    causal: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dq, dk and dv; ``lse`` in float32 and base e.

    dq of long sequences may differ in its last bits from call to call. Raises Refusal for float32, for inputs
    that are not alike, for heads of other than 64 or 128 elements, and where there is no wgmma.
    """
    batch, heads, seq, dim = q.shape
    require_16_bits(key, q)
    require_dim(key, dim)
    require_like(key, q, k=k, v=v, o=o, do=do)
    needs_hopper(key, q.device)
    dq, dk, dv = empty_like(q), empty_like(k), empty_like(v)
    if not q.numel():
        return dq, dk, dv
    q, k, v, o, do = aligned(q, k, v, o, do)
    heads *= batch
    lse = lse.contiguous()
    if short := short_plan(heads, seq, dim, program.multiprocessor_count, causal=causal):
        inputs, outputs = (q, k, v, o, lse, do), (dq, dk, dv)
        launch_short(program, short, inputs, outputs, heads=heads, seq=seq, dim=dim)
        return outputs
    step = STEPS[dim]
    steps = -(-seq // step)
    rows = heads * steps * step  # of whole steps
    numbers = torch.empty(2 * rows, dtype=torch.float32, device=q.device)
    sums = torch.empty(rows * dim, dtype=torch.float32, device=q.device)
    counts = torch.empty(3 + 2 * heads, dtype=torch.int32, device=q.device)
    of_head = -(-seq // KEYS)
    group = group_of(heads, of_head) if causal else 1
    pair = blocks_together(dim, of_head, seq, causal=causal)
    tiles = heads * of_head // pair  # of a pair, both tiles as one
    most = program.multiprocessor_count // pair
    whole = tiles if causal else whole_tiles(tiles, steps, most)
    divided = (tiles - whole) * pair
    clusters = blocks_of(max(tiles, (tiles - whole) * steps), most)
    count = clusters * pair
    visible = seq // 2 if causal else seq
    within = min(heads_within(heads, of_head, count, group, visible), whole * pair // of_head)
    if dim == 64 and not causal and seq >= QUERIES_FOR_NONE:
        within = 0
    prepared = heads - within  # by the kernel in front
    divided_sums = torch.empty(divided * 2 * KEYS * dim, dtype=torch.float32, device=q.device)
    program.launch(
        f"prepare_{dim}",
        -(-prepared * steps * step * (dim // PACK) // PREPARING),
        PREPARING,
        *(o, do, lse, numbers, sums, counts, divided_sums, seq, heads, prepared, divided),
        overlaps=dim == 128,
    )
    maps = (
        tensor_map(x.view(heads, seq, dim), (1, extent, BAND))
        for x, extent in ((q, step // pair), (k, KEYS), (v, KEYS), (do, step // pair))
    )
    program.launch(
        f"propagate_{dim}" if pair == 1 else f"propagate_pairs_{dim}",
        count,
        (CONSUMERS + 1) * WARPGROUP,
        *maps,
        *(o, do, lse, numbers, sums, dq, dk, dv, counts, divided_sums),
        *(seq, heads, group, prepared, within, whole, clusters if divided else 0),
        shared_bytes=shared_bytes(dim, pair),
        overlaps=True,
        cluster=pair,
    )
    halves = (heads - within) * steps * 2  # of parts of dq, a block each
    program.launch(
        f"finish_{dim}",
        halves + divided * 2 * CONSUMERS,
        WARPGROUP,
        *(sums, dq, divided_sums, dk, dv, seq, within, halves, whole * pair),
        overlaps=True,
    )
    return dq, dk, dv


def blocks_together(dim: int, tiles: int, seq: int, *, causal: bool) -> int:
    """How many blocks take neighbouring tiles of a head, and read steps once for both: one or two."""
    fits = dim == 128 and tiles % 2 == 0
    return 2 if fits and seq >= (QUERIES_OF_CAUSAL_PAIRS if causal else QUERIES_OF_PAIRS) else 1


def group_of(heads: int, tiles: int) -> int:
    """Of how many heads the causal tiles, so many a head, are taken together, the longest first."""
    return min(heads, max(HEADS_OF_GROUP, -(-TILES_OF_GROUP // tiles)))


def whole_tiles(tiles: int, steps: int, blocks: int) -> int:
    """How many tiles no two blocks share: all but those of a last round that would leave most blocks idle."""
    last = tiles % blocks
    saved = steps - (last * steps / blocks + CHUNK_STEPS)
    return tiles - last if last and saved > 0 else tiles


def heads_within(heads: int, tiles: int, blocks: int, group: int, visible: int) -> int:
    """How many heads are prepared, and how many finished, by warps that have nothing else to do.

    Not those whose tiles, so many a head, the blocks take first and last; and no more than these warps have
    time for while a tile goes over ``visible`` queries.
    """
    if heads * tiles * visible < LEAST_QUERIES_OF_BLOCK * blocks:
        return 0
    at_once = max(group + heads % group, -(-blocks // tiles))
    return max(0, min(heads - at_once, heads * visible // QUERIES_FOR_ALL))


def blocks_of(tiles: int, multiprocessors: int) -> int:
    """A block a multiprocessor, which takes tiles in turn."""
    return min(tiles, multiprocessors)


def shared_bytes(dim: int, pair: int = 1) -> int:
    """Keys and values, stages, two tiles of ds, a step of dq in float32, two numbers a query, barriers."""
    step, stages = STEPS[dim], STAGES[pair]
    elements = 2 * KEYS * dim + 2 * stages * step * dim + 2 * step * KEYS
    barriers = 8 * (9 + 4 * stages) + (TAKEN_BYTES if pair > 1 else 0)  # with what says which tile is next
    return elements * 2 + step * dim * 4 + stages * 2 * step * 4 + barriers
