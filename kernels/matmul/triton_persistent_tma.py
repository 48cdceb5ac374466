"""C = A B by a persistent grid: one program a multiprocessor, blocks copied by the tensor memory accelerator.

Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP on the tensor cores (wgmma on Hopper), sums in
float32; (m k + k n + m n) s compulsory bytes. 16-bit elements, compute capability 9.0 and later.
Mapping: each of P programs takes every P-th tile of C, in groups (see triton_grouped), and loads for its next
tile while it stores the last one. Tensor descriptors let the TMA unit copy whole blocks, zeros beyond the
edges, with no address arithmetic in the threads. A descriptor needs rows of whole 16-byte units. Other inputs
are padded first, by copies that count as time.
Idea: Triton's tutorial 09.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.tuning import bench, shared_memory_limit

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"


# Below this many products the first configuration is as good as any.
_WORTH_TUNING = 2**29


def _config(block_m: int, block_n: int, num_warps: int, num_stages: int, **options: bool) -> triton.Config:
    blocks = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": 64, "GROUP_M": 8}
    return triton.Config(
        {**blocks, "HALVES": False, "ROLES": False, **options}, num_warps=num_warps, num_stages=num_stages
    )


_SMALL = _config(64, 128, num_warps=4, num_stages=3)
_LARGE = (
    _config(128, 256, num_warps=8, num_stages=3),
    # A tile stored in halves needs less shared memory: room for a fourth stage.
    _config(128, 256, num_warps=8, num_stages=4, HALVES=True),
    _config(256, 128, num_warps=8, num_stages=4, HALVES=True),
    # Roles: a separate warp loads. Triton 3.6 splits a kernel of exactly 4 warps, which stores whole tiles.
    _config(128, 256, num_warps=4, num_stages=3, ROLES=True),
)


def _worth_trying(_: list[triton.Config], arguments: dict[str, Any], **__: object) -> list[triton.Config]:
    a, m, n, k = (arguments[name] for name in ("a", "m", "n", "k"))
    if a.device.type != "cuda" or m * n * k < _WORTH_TUNING:
        return [_SMALL]
    limit = shared_memory_limit(a.device)
    return [config for config in _LARGE if _shared_bytes(config) <= limit] or [_SMALL]


def _shared_bytes(config: triton.Config) -> int:
    blocks = config.kwargs
    stages = (blocks["BLOCK_M"] + blocks["BLOCK_N"]) * blocks["BLOCK_K"] * config.num_stages
    stores = blocks["BLOCK_M"] * blocks["BLOCK_N"] // (2 if blocks["HALVES"] else 1)
    return (stages + stores) * 2


@triton.jit
def _tile_origin(tile, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """First row and column of a tile, tiles counted in groups of GROUP_M rows of tiles."""
    tiles_per_group = GROUP_M * tl.cdiv(n, BLOCK_N)
    group, in_group = tile // tiles_per_group, tile % tiles_per_group
    height = min(tl.cdiv(m, BLOCK_M) - group * GROUP_M, GROUP_M)
    return (group * GROUP_M + in_group % height) * BLOCK_M, in_group // height * BLOCK_N


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
    HALVES: tl.constexpr,
    ROLES: tl.constexpr,
):
    STORED_N: tl.constexpr = BLOCK_N // 2 if HALVES else BLOCK_N
    a_blocks = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BLOCK_M, BLOCK_K])
    b_blocks = tl.make_tensor_descriptor(b, [k, n], [n, 1], [BLOCK_K, BLOCK_N])
    c_blocks = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BLOCK_M, STORED_N])
    programs = tl.num_programs(0)
    tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    # The stores have their own count: the flattened loop is already at the next tile's loads by then.
    stored = tl.program_id(0) - programs

    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=not ROLES, warp_specialize=ROLES):
        row, column = _tile_origin(tile, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(k, BLOCK_K)):
            a_block = a_blocks.load([row, step * BLOCK_K])
            b_block = b_blocks.load([step * BLOCK_K, column])
            total = tl.dot(a_block, b_block, total)

        stored += programs
        row, column = _tile_origin(stored, m, n, BLOCK_M, BLOCK_N, GROUP_M)
        if HALVES:
            halves = tl.permute(tl.reshape(total, (BLOCK_M, 2, STORED_N)), (0, 2, 1))
            left, right = tl.split(halves)
            c_blocks.store([row, column], left.to(c.dtype.element_ty))
            c_blocks.store([row, column + STORED_N], right.to(c.dtype.element_ty))
        else:
            c_blocks.store([row, column], total.to(c.dtype.element_ty))


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n), both contiguous.

    Raises Refusal for float32, before sm_90 and beyond 32-bit sizes.
    """
    if a.dtype == torch.float32:
        raise Refusal("matmul/triton_persistent_tma multiplies 16-bit elements; use triton_grouped.")
    if a.is_cuda and torch.cuda.get_device_capability(a.device) < (9, 0):
        raise Refusal("matmul/triton_persistent_tma needs a TMA unit, so compute capability 9.0 or later.")
    (m, k), n = a.shape, b.shape[1]
    require_32_bit_product("matmul/triton_persistent_tma", m, n, k)
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    if not m * n * k:
        return c.zero_()
    if n % 8 or k % 8 or a.data_ptr() % 16 or b.data_ptr() % 16:
        a = torch.nn.functional.pad(a, (0, -k % 8))
        b = torch.nn.functional.pad(b, (0, -n % 8, 0, -k % 8))
        padded = torch.empty((m, b.shape[1]), dtype=a.dtype, device=a.device)
        return c.copy_(_multiply(a, b, padded)[:, :n])
    return _multiply(a, b, c)


def _multiply(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    programs = program_count(a.device)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=a.device))

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (min(programs, triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"])),)

    _matmul[grid](a, b, c, m, n, k)
    return c


def program_count(device: torch.device) -> int:
    """One program a multiprocessor; a few in Triton's interpreter on a CPU, to pass on from tile to tile."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
