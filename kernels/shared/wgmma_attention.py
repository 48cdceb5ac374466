"""Launches ``wgmma_attention.cuh`` for both kernels: a block for every 128 queries of a head."""

import torch

from profiling.worker.failures import Refusal
from profiling.worker.providers.cuda import CudaProgram
from profiling.worker.tensor_map import needs_hopper, tensor_map

# As in wgmma_attention.cuh.
CONSUMERS = {64: 3, 128: 2}  # warpgroups that multiply, 64 queries each
KEYS = 128  # of a step
STAGES = 2
BAND = 64  # elements of a row that lie together in shared memory: 128 bytes
WARPGROUP = 128
BARRIER_BYTES = 8 * (1 + 4 * STAGES)


def attend(
    program: CudaProgram, key: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    Raises Refusal for float32, for heads of other than 64 or 128 elements, and where there is no wgmma.
    """
    batch, heads, seq, dim = q.shape
    if q.dtype == torch.float32:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    if dim not in (64, 128):
        raise Refusal(f"{key} takes heads of 64 or 128 elements, not {dim}.")
    needs_hopper(key, q.device)
    o = torch.empty_like(q)
    lse = torch.empty((batch, heads, seq), dtype=torch.float32, device=q.device)
    if not q.numel():
        return o, lse
    # The copy engine starts at whole 16 bytes; a fresh copy does.
    aligned = [x if x.data_ptr() % 16 == 0 else x.clone() for x in (q, k, v)]
    queries = CONSUMERS[dim] * 64
    maps = (
        tensor_map(x.view(batch * heads, seq, dim), (1, rows, BAND))
        for x, rows in zip(aligned, (queries, KEYS, KEYS), strict=True)
    )
    program.launch(
        f"attention_{dim}",
        batch * heads * -(-seq // queries),
        (CONSUMERS[dim] + 1) * WARPGROUP,
        *maps,
        o,
        lse,
        seq,
        shared_bytes=(queries + 2 * STAGES * KEYS) * dim * 2 + BARRIER_BYTES,
    )
    return o, lse
