"""Launcher of cuda_fused.cu: the gated delta rule in chunks, on the tensor cores by TMA and wgmma."""

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map

DOMAIN = "(dim == 64 or dim == 128) and seq <= 2**31 - 2**12 and batch * seq * heads * groups < 2**31"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

# As in cuda_fused.cu.
CHUNK = 64
STAGES, BUFFERS = 3, 2
_FACTORS = (3 * CHUNK + 4) * 4  # bytes
_SCRATCH = 2 * 64 * 128 + 4 * 16 * 16 * 2 + 4 * 16 * 20 * 4 + 4 * 64 * 4
_BAND = CHUNK * 128  # bytes

SHORTEST_SEGMENT = 8  # chunks; to begin early costs some of them


def run(
    program: CudaProgram,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
) -> torch.Tensor:
    """What queries read from the state; q, k (batch, seq, heads, dim), v (batch, seq, heads * groups, dim).

    ``g`` and ``beta`` are (batch, seq, heads * groups), float32. Raises Refusal for heads of other than
    64 or 128 elements, in float32 and where wgmma is missing.
    """
    key = "gated_delta_rule/cuda_fused"
    (batch, seq, heads, dim), value_heads = q.shape, v.shape[2]
    if dim not in (64, 128):
        raise Refusal(f"{key} takes heads of 64 or 128 elements, not {dim}.")
    if q.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    needs_hopper(key, q.device)
    o = torch.empty_like(v)
    if not v.numel():
        return o
    if o.numel() // dim >= 2**31:
        raise Refusal(f"{key} counts rows of heads in 32 bits.")
    groups, chunks, all_heads = value_heads // heads, -(-seq // CHUNK), batch * value_heads
    box = (1, CHUNK, 64)
    of_q, of_k, of_v = (tensor_map(x.view(batch, seq, -1), box) for x in (q, k, v))
    tile = dim // 64 * _BAND
    segments = max(1, min(program.multiprocessor_count // all_heads, chunks // SHORTEST_SEGMENT))
    length = -(-chunks // segments)
    program.launch(
        *(f"gated_delta_rule_{dim}", (all_heads, -(-chunks // length)), dim * 2 + 128),
        *(of_q, of_k, of_v, g, beta, o, seq, heads, groups, chunks, length),
        shared_bytes=STAGES * (3 * tile + 16) + BUFFERS * (2 * _BAND + _FACTORS + 16) + tile + _SCRATCH,
    )
    return o
