"""C = finish(A B) by a persistent grid, blocks copied by the tensor memory accelerator (TMA).

Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]), B along k or along n; 2 m n k FLOP.
Mapping: that of matmul/triton_persistent_tma, with FINISH applied to the sums before they are stored. Each
kernel loads this file afresh, so as to count its own registers.
Idea: see matmul/triton_persistent_tma.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.tuning import bench, shared_memory_limit

# Below this many products the first configuration is as good as any.
_WORTH_TUNING = 2**29
_ROW_BYTES = 128  # of a step along k: what the swizzle of shared memory spans


def _config(block_m: int, block_n: int, num_warps: int, num_stages: int, **options: bool) -> triton.Config:
    blocks = {"BLOCK_M": block_m, "BLOCK_N": block_n, "GROUP_M": 8}
    return triton.Config(
        {**blocks, "HALVES": False, "ROLES": False, **options}, num_warps=num_warps, num_stages=num_stages
    )


SMALL = _config(64, 128, num_warps=4, num_stages=3)
LARGE = (
    _config(128, 128, num_warps=8, num_stages=4),
    _config(128, 256, num_warps=8, num_stages=3),
    # A tile stored in halves needs less shared memory: room for a fourth stage.
    _config(128, 256, num_warps=8, num_stages=3, HALVES=True),
    _config(128, 256, num_warps=8, num_stages=4, HALVES=True),
    # Roles: a separate warp loads. Triton 3.6 splits a kernel of exactly 4 warps, which stores whole tiles.
    _config(128, 256, num_warps=4, num_stages=3, ROLES=True),
    _config(128, 128, num_warps=4, num_stages=4, ROLES=True),
)


def _worth_trying(_: list[triton.Config], arguments: dict[str, Any], **__: object) -> list[triton.Config]:
    a, c, m, n, k = (arguments[name] for name in ("a", "c", "m", "n", "k"))
    if a.device.type != "cuda" or m * n * k < _WORTH_TUNING:
        return [SMALL]
    limit = shared_memory_limit(a.device)
    return [config for config in LARGE if _shared_bytes(config, c.element_size()) <= limit] or [SMALL]


def _shared_bytes(config: triton.Config, c_itemsize: int) -> int:
    blocks = config.kwargs
    stages = (blocks["BLOCK_M"] + blocks["BLOCK_N"]) * _ROW_BYTES * config.num_stages
    stores = blocks["BLOCK_M"] * blocks["BLOCK_N"] // (2 if blocks["HALVES"] else 1)
    return stages + stores * c_itemsize + 1024  # and barriers


@triton.jit
def _tile_origin(tile, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """First row and column of a tile, tiles counted in groups of GROUP_M rows of tiles."""
    tiles_per_group = GROUP_M * tl.cdiv(n, BLOCK_N)
    group, in_group = tile // tiles_per_group, tile % tiles_per_group
    height = min(tl.cdiv(m, BLOCK_M) - group * GROUP_M, GROUP_M)
    return (group * GROUP_M + in_group % height) * BLOCK_M, in_group // height * BLOCK_N


@triton.jit
def _finish(total, columns, n, x, y, FINISH: tl.constexpr):
    """Elements of C from their sums: by two scales, by ReLU, or by a bias and GELU."""
    finished = total
    if FINISH == "scales":
        finished = total * (tl.load(x) * tl.load(y))
    if FINISH == "relu":
        finished = tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)
    if FINISH == "bias_gelu":
        # 0.5 (1 + tanh u) = sigmoid(2u) = 1 / (1 + 2^(x (LINEAR + CUBIC x^2))), as in gelu/triton_sigmoid.
        LINEAR: tl.constexpr = -2.302208198144325
        CUBIC: tl.constexpr = -0.10294323958002349
        biased = total + tl.load(x + columns, mask=columns < n, other=0.0).to(tl.float32)[None, :]
        finished = biased / (1.0 + tl.exp2(biased * (LINEAR + CUBIC * (biased * biased))))
    return finished


@triton.jit
def matmul(
    a,
    b,
    c,
    x,
    y,
    m,
    n,
    k,
    a_width,
    c_width,
    BLOCK_K: tl.constexpr,
    B_ALONG_K: tl.constexpr,
    FINISH: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    GROUP_M: tl.constexpr,
    HALVES: tl.constexpr,
    ROLES: tl.constexpr,
):
    STORED_N: tl.constexpr = BLOCK_N // 2 if HALVES else BLOCK_N
    a_blocks = tl.make_tensor_descriptor(a, [m, k], [a_width, 1], [BLOCK_M, BLOCK_K])
    if B_ALONG_K:
        b_blocks = tl.make_tensor_descriptor(b, [n, k], [a_width, 1], [BLOCK_N, BLOCK_K])
    else:
        b_blocks = tl.make_tensor_descriptor(b, [k, n], [c_width, 1], [BLOCK_K, BLOCK_N])
    c_blocks = tl.make_tensor_descriptor(c, [m, n], [c_width, 1], [BLOCK_M, STORED_N])
    programs = tl.num_programs(0)
    tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    # The stores have their own count: the flattened loop is already at the next tile's loads by then.
    stored = tl.program_id(0) - programs

    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=not ROLES, warp_specialize=ROLES):
        row, column = _tile_origin(tile, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(k, BLOCK_K)):
            a_block = a_blocks.load([row, step * BLOCK_K])
            if B_ALONG_K:
                b_block = b_blocks.load([column, step * BLOCK_K]).T
            else:
                b_block = b_blocks.load([step * BLOCK_K, column])
            total = tl.dot(a_block, b_block, total, input_precision="tf32")

        stored += programs
        row, column = _tile_origin(stored, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        columns = column + tl.arange(0, STORED_N)
        if HALVES:
            halves = tl.permute(tl.reshape(total, (BLOCK_M, 2, STORED_N)), (0, 2, 1))
            left, right = tl.split(halves)
            left = _finish(left, columns, n, x, y, FINISH)
            right = _finish(right, columns + STORED_N, n, x, y, FINISH)
            c_blocks.store([row, column], left.to(c.dtype.element_ty))
            c_blocks.store([row, column + STORED_N], right.to(c.dtype.element_ty))
        else:
            total = _finish(total, columns, n, x, y, FINISH)
            c_blocks.store([row, column], total.to(c.dtype.element_ty))


tuned_matmul = triton.autotune(
    configs=[*LARGE, SMALL],
    key=["m", "n", "k"],
    prune_configs_by={"early_config_prune": _worth_trying},
    do_bench=bench,
)(matmul)


def multiply(
    key: str,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    finish: str = "",
    x: torch.Tensor | None = None,
    y: torch.Tensor | None = None,
) -> torch.Tensor:
    """C (m x n) of a dtype from A (m x k) and B, k x n in 16 bits and n x k otherwise; x, y are FINISH's.

    Raises Refusal under the name ``key`` before sm_90 and beyond 32-bit sizes.
    """
    if a.is_cuda and torch.cuda.get_device_capability(a.device) < (9, 0):
        raise Refusal(f"{key} needs a TMA unit, so compute capability 9.0 or later.")
    along_k = b.element_size() != 2
    m, n = a.shape[0], b.shape[0 if along_k else 1]
    require_32_bit_product(key, m, n, a.shape[1])
    if not m * n:
        return torch.empty((m, n), dtype=dtype, device=a.device)
    # A descriptor needs rows of whole 16-byte units. Other inputs are padded, by copies that count as time.
    k, (a, b) = max(a.shape[1], 1), map(in_whole_units, (a, b))  # the padding of an empty sum is one 0
    c = torch.empty((m, n + -n % (16 // dtype.itemsize)), dtype=dtype, device=a.device)
    programs = _program_count(a.device)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=a.device))

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (min(programs, triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"])),)

    tuned_matmul[grid](
        a, b, c, a if x is None else x, a if y is None else y, m, n, k, a.shape[1], c.shape[1],
        BLOCK_K=_ROW_BYTES // a.element_size(), B_ALONG_K=along_k, FINISH=finish,
    )  # fmt: skip
    return c[:, :n].contiguous()


def _program_count(device: torch.device) -> int:
    """One program a multiprocessor; a few in Triton's interpreter on a CPU, to pass on from tile to tile."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
