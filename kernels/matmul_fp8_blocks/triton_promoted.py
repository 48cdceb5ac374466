"""C from scaled blocks in FP8 by a persistent grid; every block's product leaves the tensor cores.

Formula: C[i, j] = sum over blocks t of scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j,
l]); 2 m n k FLOP.
Mapping: each of P programs takes every P-th tile of C, in groups of rows of tiles, and goes along k a block a
step: one product of tiles that the tensor memory accelerator copied, which is scaled and added in float32.
That takes twice the registers of sums that stay, so a tile is 128 x 128. Compute capability 9.0 and later.
Idea: DeepGEMM; see matmul/triton_persistent_tma.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.tuning import bench

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
BLOCK = tl.constexpr(128)  # of k and n, with one scale
_WORTH_TUNING = 2**29


def _config(block_m: int, num_warps: int, num_stages: int) -> triton.Config:
    return triton.Config({"BLOCK_M": block_m, "GROUP_M": 16}, num_warps=num_warps, num_stages=num_stages)


SMALL = _config(64, num_warps=4, num_stages=4)
CONFIGS = (
    _config(128, num_warps=8, num_stages=4),
    _config(128, num_warps=8, num_stages=5),
    _config(128, num_warps=4, num_stages=4),
    SMALL,
)


def _worth_trying(_: list[triton.Config], arguments: dict[str, Any], **__: object) -> list[triton.Config]:
    a, m, n, k = (arguments[name] for name in ("a", "m", "n", "k"))
    return [SMALL] if a.device.type != "cuda" or m * n * k < _WORTH_TUNING else list(CONFIGS)


@triton.autotune(
    configs=list(CONFIGS),
    key=["m", "n", "k"],
    prune_configs_by={"early_config_prune": _worth_trying},
    do_bench=bench,
)
@triton.jit
def _multiply(
    a,
    b,
    scale_a,
    scale_b,
    c,
    m,
    n,
    k,
    width,
    BLOCK_M: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    a_blocks = tl.make_tensor_descriptor(a, [m, k], [width, 1], [BLOCK_M, BLOCK])
    b_blocks = tl.make_tensor_descriptor(b, [n, k], [width, 1], [BLOCK, BLOCK])
    blocks, rows_of_tiles, columns_of_tiles = tl.cdiv(k, BLOCK), tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK)
    for tile in tl.range(tl.program_id(0), rows_of_tiles * columns_of_tiles, tl.num_programs(0)):
        group, in_group = tile // (GROUP_M * columns_of_tiles), tile % (GROUP_M * columns_of_tiles)
        height = min(rows_of_tiles - group * GROUP_M, GROUP_M)
        row, column = (group * GROUP_M + in_group % height) * BLOCK_M, in_group // height
        rows = row + tl.arange(0, BLOCK_M)
        to_a, to_b = scale_a + rows, scale_b + column.to(tl.int64) * blocks
        total = tl.zeros((BLOCK_M, BLOCK), dtype=tl.float32)
        for block in range(blocks):
            a_block = a_blocks.load([row, block * BLOCK])
            b_block = b_blocks.load([column * BLOCK, block * BLOCK])
            scale = tl.load(to_a, mask=rows < m, other=0.0) * tl.load(to_b)
            total += tl.dot(a_block, b_block.T) * scale[:, None]
            to_a += m
            to_b += 1
        columns = column * BLOCK + tl.arange(0, BLOCK)
        inside = (rows < m)[:, None] & (columns < n)[None, :]
        to = c + rows.to(tl.int64)[:, None] * n + columns[None, :]
        tl.store(to, total.to(c.dtype.element_ty), mask=inside)


def run(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales.

    Raises Refusal before sm_90 and beyond 32-bit sizes.
    """
    key = "matmul_fp8_blocks/triton_promoted"
    if a.is_cuda and torch.cuda.get_device_capability(a.device) < (9, 0):
        raise Refusal(f"{key} needs a TMA unit, so compute capability 9.0 or later.")
    (m, k), n = a.shape, b.shape[0]
    require_32_bit_product(key, m, n, k)
    c = torch.empty((m, n), dtype=torch.bfloat16, device=a.device)
    if not m * n:
        return c
    if not k:
        return c.zero_()
    a, b = map(in_whole_units, (a, b))
    programs = _program_count(a.device)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=a.device))
    _multiply[(programs,)](a, b, scale_a, scale_b, c, m, n, k, a.shape[1])
    return c


def _program_count(device: torch.device) -> int:
    """One program a multiprocessor; a few in Triton's interpreter on a CPU, to pass on from tile to tile."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
