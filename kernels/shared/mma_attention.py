"""Launches ``mma_attention.cuh`` for the four attention kernels: a block for every 128 rows of a head."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.heads import (
    DIMS,
    MORE_DIMS,
    aligned,
    empty_like,
    require_16_bits,
    require_dim,
    require_like,
    results_of,
)

# As in mma_attention.cuh.
OWN = 128  # rows of a block
THREADS = 256
WARPS = 8
STAGES = 2


def rows_of(dim: int) -> int:
    """Keys and values of a step of the forward pass, as in mma_attention.cuh."""
    return 64 if dim <= 128 else 16


def attend(
    program: CudaProgram,
    key: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sharing: int | None = None,
    *,
    window: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and in float32 each query's logarithm (base e) of its sum of exponentials.

    ``sharing`` query heads have one head of keys and values, where the program's kernels take their number,
    and a query sees the last ``window`` keys up to its own, where they take that. Raises Refusal for float32,
    for inputs that are not alike and for heads of other than 64, 96, 128, 192 or 256 elements.
    """
    batch, heads, seq, dim = q.shape
    _checked(key, q if sharing is None else k, MORE_DIMS, k=k, v=v)
    o, lse = results_of(q)
    if q.numel():
        q, k, v = aligned(q, k, v)
        blocks = batch * heads * -(-seq // OWN)
        program.launch(
            *(f"attention_{dim}", blocks, THREADS, q, k, v, o, lse, seq),
            *(() if sharing is None else (sharing,)),
            *(() if window is None else (min(window, seq),)),
            shared_bytes=_stage_bytes(rows_of(dim), dim),
        )
    return o, lse


def gradients(
    program: CudaProgram,
    key: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    do: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dq, dk and dv; ``lse`` in float32 and base e. Refuses what ``attend`` refuses."""
    batch, heads, seq, dim = _checked(key, q, DIMS, k=k, v=v, o=o, do=do)
    dq, dk, dv = empty_like(q), empty_like(k), empty_like(v)
    if q.numel():
        o, lse, do = o.contiguous(), lse.contiguous(), do.contiguous()
        delta = torch.empty_like(lse)
        program.launch(f"delta_{dim}", -(-lse.numel() // WARPS), THREADS, o, do, delta, lse.numel())
        q, k, v, do = aligned(q, k, v, do)
        blocks = batch * heads * -(-seq // OWN)
        given = (q, k, v, lse, do, delta)
        program.launch(f"queries_{dim}", blocks, THREADS, *given, dq, seq, shared_bytes=_stage_bytes(32, dim))
        own_bytes = 2 * OWN * dim * 2
        program.launch(
            f"keys_{dim}",
            blocks,
            THREADS,
            *given,
            dk,
            dv,
            seq,
            shared_bytes=_stage_bytes(32, dim) + own_bytes,
        )
    return dq, dk, dv


def _checked(key: str, q: torch.Tensor, dims: tuple[int, ...], **others: torch.Tensor) -> torch.Size:
    require_16_bits(key, q)
    require_dim(key, q.shape[3], dims)
    require_like(key, q, **others)
    return q.shape


def _stage_bytes(rows: int, dim: int) -> int:
    return STAGES * 2 * rows * dim * 2  # two tiles a stage
