"""C = A B in tiles, with the tiles of C visited in groups that share rows and columns in L2.

Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP on the tensor cores, or on the FMA units for
float32, which means IEEE float32 here; (m k + k n + m n) s compulsory bytes. Sums are kept in float32.
Mapping: one program computes a BLOCK_M x BLOCK_N tile of C, walking k in steps of BLOCK_K. A tile needs a
band of A and a band of B. Programs that run together cover GROUP_M rows of tiles by a few columns, so that a
band read from DRAM serves several of them. Any GPU, any size.
Parameters: GROUP_M, and tile, warps and stages, of which 0 leaves the choice to the autotuner.
Idea: triton_textbook's tiles in an order that finds more of A and B in L2: Triton's tutorial 03.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from roofscope import Choice, Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tuning import bench, shared_memory_limit

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"

GROUP_M = Choice(8, 1, 2, 4, 16)  # rows of tiles; 1 visits them row by row
TILE_M = Choice(0, 64, 128, 256)
TILE_N = Choice(0, 64, 128, 256)
NUM_WARPS = Choice(0, 4, 8)
NUM_STAGES = Choice(0, 2, 3, 4)

# Below this many products, or where rows are not 16-byte aligned, the first configuration is as good as any.
_WORTH_TUNING = 2**29


def _config(block_m: int, block_n: int, block_k: int, num_warps: int, num_stages: int) -> triton.Config:
    """With what was chosen in the place of these."""
    blocks = {
        "BLOCK_M": TILE_M or block_m,
        "BLOCK_N": TILE_N or block_n,
        "BLOCK_K": block_k,
        "GROUP_M": GROUP_M,
    }
    return triton.Config(blocks, num_warps=NUM_WARPS or num_warps, num_stages=NUM_STAGES or num_stages)


def _distinct(*configs: triton.Config) -> tuple[triton.Config, ...]:
    """Each once: chosen values make some of them the same."""
    return tuple({str(config): config for config in configs}.values())


_TENSOR = _distinct(
    _config(128, 128, 32, num_warps=4, num_stages=4),
    _config(128, 128, 64, num_warps=4, num_stages=4),
    _config(128, 256, 32, num_warps=8, num_stages=3),
    _config(128, 256, 64, num_warps=8, num_stages=3),
    _config(256, 128, 64, num_warps=8, num_stages=3),
)
_TENSOR_SMALL = _config(64, 64, 64, num_warps=4, num_stages=3)
_FMA = _distinct(
    _config(64, 64, 16, num_warps=4, num_stages=3),
    _config(64, 128, 16, num_warps=4, num_stages=3),
    _config(128, 64, 16, num_warps=4, num_stages=3),
    _config(128, 128, 16, num_warps=8, num_stages=3),
)
_FMA_SMALL = _config(32, 64, 16, num_warps=4, num_stages=2)


def _worth_trying(_: list[triton.Config], arguments: dict[str, Any], **__: object) -> list[triton.Config]:
    a, m, n, k = (arguments[name] for name in ("a", "m", "n", "k"))
    itemsize = a.element_size()
    configs, small = (_FMA, _FMA_SMALL) if itemsize == 4 else (_TENSOR, _TENSOR_SMALL)
    if a.device.type != "cuda" or m * n * k < _WORTH_TUNING:
        return [small]
    if n * itemsize % 16 or k * itemsize % 16:
        return [configs[0]]
    limit = shared_memory_limit(a.device)
    fitting = [config for config in configs if _shared_bytes(config, itemsize) <= limit]
    if not fitting:
        needed = min(_shared_bytes(config, itemsize) for config in configs)
        raise Refusal(
            f"matmul/triton_grouped needs {-(-needed // 1024)} KiB of shared memory a block, "
            f"and this GPU has {limit // 1024} KiB."
        )
    return fitting


def _shared_bytes(config: triton.Config, itemsize: int) -> int:
    blocks = config.kwargs
    return (blocks["BLOCK_M"] + blocks["BLOCK_N"]) * blocks["BLOCK_K"] * config.num_stages * itemsize


@triton.autotune(
    configs=[*_distinct(*_TENSOR, _TENSOR_SMALL, *_FMA, _FMA_SMALL)],
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
    tile_m = group * GROUP_M + in_group % group_height
    tile_n = in_group // group_height

    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    # Rows and columns beyond the edge wrap around: they need no mask, and their sums are not stored.
    a_tile = a + (rows % m).to(tl.int64)[:, None] * k + steps[None, :]
    b_tile = b + steps.to(tl.int64)[:, None] * n + (columns % n)[None, :]

    step_of_b = tl.cast(n, tl.int64) * BLOCK_K  # in 32 bits it overflows from 2^25 columns on

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        a_block = tl.load(a_tile, mask=steps[None, :] < k - start, other=0.0)
        b_block = tl.load(b_tile, mask=steps[:, None] < k - start, other=0.0)
        total = tl.dot(a_block, b_block, total, input_precision="ieee")
        a_tile += BLOCK_K
        b_tile += step_of_b
    c_tile = c + rows.to(tl.int64)[:, None] * n + columns[None, :]
    tl.store(c_tile, total.to(c.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous. Raises Refusal beyond 32-bit sizes."""
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/triton_grouped", m, n, k)
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    if c.numel():
        _matmul[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
            a, b, c, m, n, k
        )
    return c
