"""C = A B in float32 by three products on the tensor cores, each in TF32.

Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 6 m n k FLOP in TF32 for the 2 m n k that count. With
x = big + small, big being x rounded to TF32's 11 bits, a b = big big + big small + small big; what is left
out is 2^-22 of a product.
Mapping: that of triton_grouped. A step along k splits its block of A in registers, that of B on its way back
into shared memory. The small products come first. Each step's sums start from 0 and are added to the total
by float32 adds: the tensor cores cut their own sums off instead of rounding them, which over thousands of
products costs more than float32 itself. An infinity has no small part: NaN among the small products counts
as 0. float32 elements, compute capability 8.0 and later, any size.
Idea: CUTLASS's 3xTF32 (example 27); Ootomo and Yokota, arXiv:2203.03341, on the sums. Triton splits alone.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tuning import bench, shared_memory_limit

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"

# Below this many products, or where rows are not 16-byte aligned, the first configuration is as good as any.
_WORTH_TUNING = 2**27


def _config(block_m: int, block_n: int, block_k: int, num_warps: int, num_stages: int) -> triton.Config:
    blocks = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8}
    return triton.Config(blocks, num_warps=num_warps, num_stages=num_stages)


_SMALL = _config(64, 64, 16, num_warps=4, num_stages=3)
_LARGE = (
    _config(128, 128, 16, num_warps=8, num_stages=4),
    _config(128, 128, 32, num_warps=8, num_stages=3),
    _config(128, 128, 32, num_warps=8, num_stages=4),
    _config(64, 128, 32, num_warps=4, num_stages=3),
    _config(64, 64, 32, num_warps=4, num_stages=3),
)


def _worth_trying(_: list[triton.Config], arguments: dict[str, Any], **__: object) -> list[triton.Config]:
    a, m, n, k = (arguments[name] for name in ("a", "m", "n", "k"))
    if a.device.type != "cuda" or m * n * k < _WORTH_TUNING or n % 4 or k % 4:
        return [_SMALL]
    limit = shared_memory_limit(a.device)
    return [config for config in _LARGE if _shared_bytes(config) <= limit] or [_SMALL]


def _shared_bytes(config: triton.Config) -> int:
    """The stages, and both parts of a block of B."""
    blocks = config.kwargs
    stages = (blocks["BLOCK_M"] + blocks["BLOCK_N"]) * config.num_stages
    return (stages + 2 * blocks["BLOCK_N"]) * blocks["BLOCK_K"] * 4


@triton.autotune(
    configs=[*_LARGE, _SMALL],
    key=["m", "n", "k"],
    prune_configs_by={"early_config_prune": _worth_trying},
    do_bench=bench,
)
@triton.jit
def _matmul(
    a,
    b,
    c,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    rows_of_tiles = tl.cdiv(m, BLOCK_M)
    tiles_per_group = GROUP_M * tl.cdiv(n, BLOCK_N)
    group, in_group = tl.program_id(0) // tiles_per_group, tl.program_id(0) % tiles_per_group
    group_height = min(rows_of_tiles - group * GROUP_M, GROUP_M)
    rows = (group * GROUP_M + in_group % group_height) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = in_group // group_height * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    # Rows and columns beyond the edge wrap around: they need no mask, and their sums are not stored.
    a_tile = a + (rows % m).to(tl.int64)[:, None] * k + steps[None, :]
    b_tile = b + steps.to(tl.int64)[:, None] * n + (columns % n)[None, :]
    step_of_b = tl.cast(n, tl.int64) * BLOCK_K

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        a_block = tl.load(a_tile, mask=steps[None, :] < k - start, other=0.0)
        b_block = tl.load(b_tile, mask=steps[:, None] < k - start, other=0.0)
        # Triton starts each step's sums from 0 and adds them to `total` itself.
        total = tl.dot(a_block, b_block, total, input_precision="tf32x3")
        a_tile += BLOCK_K
        b_tile += step_of_b
    c_tile = c + rows.to(tl.int64)[:, None] * n + columns[None, :]
    tl.store(c_tile, total, mask=(rows[:, None] < m) & (columns[None, :] < n))


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous.

    Raises Refusal for 16 bits, before sm_80 and beyond 32-bit sizes.
    """
    if a.dtype != torch.float32:
        raise Refusal("matmul/triton_tf32x3 multiplies float32; 16-bit elements need one product, not three.")
    if a.is_cuda and torch.cuda.get_device_capability(a.device) < (8, 0):
        raise Refusal("matmul/triton_tf32x3 needs TF32, so compute capability 8.0 or later.")
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/triton_tf32x3", m, n, k)
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    if c.numel():
        _matmul[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
            a, b, c, m, n, k
        )
    return c
