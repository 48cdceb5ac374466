"""The products of experts by a persistent grid, blocks copied by the tensor memory accelerator.

Formula: C[t, j] = sum over l of X[t, l] W[e, j, l], e the expert of token t; 2 tokens n k FLOP.
Mapping: each of P programs takes every P-th tile of C, expert by expert, and within an expert column by
column. A tile has rows of one expert: a program finds which by comparing its number with those of the first
tiles of all experts at once. A run's last tile also multiplies rows of the next expert, which are not stored.
Compute capability 9.0 and later.
Idea: matmul/triton_persistent_tma, in which a number of a tile means an expert too. cuda_naive looks the
expert up for every element. Triton's tutorials 08 and 09.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.tuning import bench

DOMAIN = "tokens < 2**30 and experts * n < 2**30 and k < 2**30 and experts <= 4096"
_MOST_EXPERTS = 4096  # compared at once
_WORTH_TUNING = 2**29


def _config(block_m: int, block_n: int, num_warps: int, num_stages: int) -> triton.Config:
    return triton.Config({"BLOCK_M": block_m, "BLOCK_N": block_n}, num_warps=num_warps, num_stages=num_stages)


SMALL = _config(64, 128, num_warps=4, num_stages=3)
CONFIGS = (
    _config(128, 256, num_warps=8, num_stages=3),
    _config(128, 128, num_warps=8, num_stages=4),
    _config(64, 256, num_warps=4, num_stages=4),
    SMALL,
)


def _worth_trying(_: list[triton.Config], arguments: dict[str, Any], **__: object) -> list[triton.Config]:
    x, tokens, n, k = (arguments[name] for name in ("x", "tokens", "n", "k"))
    small = x.device.type != "cuda" or tokens * n * k < _WORTH_TUNING
    return [SMALL] if small else list(CONFIGS)


@triton.autotune(
    configs=list(CONFIGS),
    key=["tokens", "experts", "n", "k"],
    prune_configs_by={"early_config_prune": _worth_trying},
    do_bench=bench,
)
@triton.jit
def _multiply(
    x,
    w,
    offsets,
    c,
    tokens,
    experts,
    n,
    k,
    width,
    EXPERTS: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    x_blocks = tl.make_tensor_descriptor(x, [tokens, k], [width, 1], [BLOCK_M, BLOCK_K])
    w_blocks = tl.make_tensor_descriptor(w, [experts * n, k], [width, 1], [BLOCK_N, BLOCK_K])
    programs = tl.num_programs(0)

    # Runs of rows and numbers of tiles of all experts. Offsets are data: no run reaches beyond the tokens.
    number = tl.arange(0, EXPERTS)
    begin_of = tl.load(offsets + number, mask=number < experts, other=0)
    end_of = tl.load(offsets + number + 1, mask=number < experts, other=0)
    end_of = tl.minimum(tl.maximum(end_of, 0), tokens)
    begin_of = tl.minimum(tl.maximum(begin_of, 0), tokens)
    length = tl.maximum(end_of - begin_of, 0)
    columns = tl.cdiv(n, BLOCK_N)
    tiles_of = tl.cdiv(length, BLOCK_M) * columns
    past = tl.cumsum(tiles_of, axis=0)
    tiles = tl.sum(tiles_of, axis=0)

    for tile in tl.range(tl.program_id(0), tiles, programs):
        expert = tl.sum((past <= tile).to(tl.int32), axis=0)
        mine = number == expert
        in_run = tile - tl.sum(tl.where(mine, past - tiles_of, 0), axis=0)
        begin = tl.sum(tl.where(mine, begin_of, 0), axis=0)
        end = begin + tl.sum(tl.where(mine, length, 0), axis=0)
        height = tl.cdiv(end - begin, BLOCK_M)
        row, column = begin + in_run % height * BLOCK_M, in_run // height * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(k, BLOCK_K)):
            x_block = x_blocks.load([row, step * BLOCK_K])
            w_block = w_blocks.load([expert * n + column, step * BLOCK_K])
            total = tl.dot(x_block, w_block.T, total)
        rows = row + tl.arange(0, BLOCK_M)
        at = column + tl.arange(0, BLOCK_N)
        inside = (rows < end)[:, None] & (at < n)[None, :]
        to = c + rows.to(tl.int64)[:, None] * n + at[None, :]
        tl.store(to, total.to(c.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Rows of ``x``, (tokens, k), each times its expert's matrix of ``w``, (experts, n, k), transposed.

    Rows from the last of ``offsets`` on are not written. Raises Refusal before sm_90, in float32, for more
    than 4096 experts and beyond 32-bit sizes.
    """
    key = "grouped_matmul/triton_persistent_tma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    if x.is_cuda and torch.cuda.get_device_capability(x.device) < (9, 0):
        raise Refusal(f"{key} needs a TMA unit, so compute capability 9.0 or later.")
    (tokens, k), (experts, n) = x.shape, w.shape[:2]
    if max(tokens, experts * n, k) >= 2**30 or experts > _MOST_EXPERTS:
        raise Refusal(f"{key} takes {_MOST_EXPERTS} experts at most and counts in 32 bits.")
    c = torch.empty((tokens, n), dtype=x.dtype, device=x.device)
    if not tokens * n:
        return c
    k = max(k, 1)  # the padding of an empty sum is one 0
    x, w = in_whole_units(x), in_whole_units(w.flatten(0, 1))
    programs = _program_count(x.device)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=x.device))
    _multiply[(programs,)](
        x, w, offsets, c, tokens, experts, n, k, x.shape[1],
        EXPERTS=triton.next_power_of_2(experts), BLOCK_K=64,
    )  # fmt: skip
    return c


def _program_count(device: torch.device) -> int:
    """One program a multiprocessor; a few in Triton's interpreter on a CPU, to pass on from tile to tile."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
