"""Launches ``wgmma_attention.cuh`` for both kernels: tiles of 128 queries of a head."""

import torch

from kernels.shared.heads import aligned, require_16_bits, require_dim, results_of
from profiling.worker.providers.cuda import CudaProgram
from profiling.worker.tensor_map import needs_hopper, tensor_map

# As in wgmma_attention.cuh.
CONSUMERS = {64: 3, 128: 2}  # warpgroups that multiply, 64 queries each
KEYS = 128  # of a step
STAGES = 2
BAND = 64  # elements of a row that lie together in shared memory: 128 bytes
WARPGROUP = 128
BARRIER_BYTES = 8 * (2 + 4 * STAGES)


def attend(
    program: CudaProgram, key: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, in_turn: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    ``in_turn``: a block a multiprocessor takes tiles in turn, and loads the keys of the next one while it
    ends the last. Else a block for every tile: the hardware deals out best what takes unequally long.

    Raises Refusal for float32, for heads of other than 64 or 128 elements, and where there is no wgmma.
    """
    batch, heads, seq, dim = q.shape
    require_16_bits(key, q)
    require_dim(key, dim)
    needs_hopper(key, q.device)
    o, lse = results_of(q)
    if not q.numel():
        return o, lse
    queries = CONSUMERS[dim] * 64
    maps = (
        tensor_map(x.view(batch * heads, seq, dim), (1, rows, BAND))
        for x, rows in zip(aligned(q, k, v), (queries, KEYS, KEYS), strict=True)
    )
    tiles = batch * heads * -(-seq // queries)
    program.launch(
        f"attention_{dim}",
        min(tiles, program.multiprocessor_count) if in_turn else tiles,
        (CONSUMERS[dim] + 1) * WARPGROUP,
        *maps,
        o,
        lse,
        seq,
        tiles,
        shared_bytes=(queries + 2 * STAGES * KEYS) * dim * 2 + BARRIER_BYTES,
    )
    return o, lse
