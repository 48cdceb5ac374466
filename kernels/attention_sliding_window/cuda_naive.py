"""Launches ``cuda_naive.cu``: sliding-window attention, a warp a query."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.attention_sliding_window.spec import WINDOW
from roofscope.kernels.shared.heads import require_like
from roofscope.kernels.shared.limits import MOST_BLOCKS

DOMAIN = "dim <= 256 and batch * kv_heads * group * seq <= (2**31 - 1) * 8"
MOST_DIM = 256
THREADS, WARPS = 256, 8  # as in cuda_naive.cu
KEY = "attention_sliding_window/cuda_naive"


def run(program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    return attend(program, q, k, v, WINDOW)


def attend(
    program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int
) -> torch.Tensor:
    """The same with any window. Raises Refusal for longer heads, and for more queries than a grid has."""
    batch, heads, seq, dim = q.shape
    require_like(KEY, k, v=v)
    rows = batch * heads * seq
    if dim > MOST_DIM or rows > MOST_BLOCKS * WARPS:
        raise Refusal(
            f"{KEY} takes heads of up to {MOST_DIM} elements and {MOST_BLOCKS * WARPS} queries, "
            f"not {dim} and {rows}."
        )
    o = torch.empty_like(q)
    if q.numel():
        sharing = heads // k.shape[1]
        program.launch(
            *("attention", -(-rows // WARPS), THREADS, q, k, v, o), *(rows, seq, dim, sharing, window)
        )
    return o
