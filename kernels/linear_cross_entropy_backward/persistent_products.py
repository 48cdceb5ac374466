"""Products with the gradient of logits in Triton, by a persistent grid: for versions that keep it in memory.

Tiles come by the tensor memory accelerator, as in matmul/triton_persistent_tma. What lies transposed is read
as it lies, and wgmma transposes it. A sum of several products is kept in float32 between them.
"""

import torch
import triton
import triton.language as tl

GROUP_M = tl.constexpr(8)  # rows of tiles that share columns in L2


@triton.jit
def origin(tile, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """First row and column of a tile, tiles counted in groups of GROUP_M rows of tiles."""
    tiles_per_group = GROUP_M * tl.cdiv(n, BLOCK_N)
    group, in_group = tile // tiles_per_group, tile % tiles_per_group
    height = min(tl.cdiv(m, BLOCK_M) - group * GROUP_M, GROUP_M)
    return (group * GROUP_M + in_group % height) * BLOCK_M, in_group // height * BLOCK_N


@triton.jit
def _halves(tile):
    """The left and the right half of a tile."""
    split = tl.reshape(tile, (tile.shape[0], 2, tile.shape[1] // 2))
    return tl.split(tl.permute(split, (0, 2, 1)))


@triton.jit
def _finish(part, sums, c, row, column, ADDS: tl.constexpr, KEEPS: tl.constexpr):
    """Part of a tile with what is left of the columns before, to where the next find it or to C."""
    if ADDS:
        part += sums.load([row, column])
    if KEEPS:
        sums.store([row, column], part)
    else:
        c.store([row, column], part.to(c.dtype))


@triton.jit
def product(
    a,
    b,
    sums,
    c,
    m,
    n,
    k,
    a_width,
    b_width,
    c_width,
    TRANSPOSED: tl.constexpr,
    ADDS: tl.constexpr,
    KEEPS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    FLATTEN: tl.constexpr,
):
    """C = A B, with `sums`, of float32, added where ADDS, and left there instead of in C where KEEPS.

    A is m x k, or k x m where TRANSPOSED. Quarters of a tile of float32 have room beside the ring of stages.
    """
    PARTS: tl.constexpr = 4 if ADDS or KEEPS else 1
    PART_N: tl.constexpr = BLOCK_N // PARTS
    if TRANSPOSED:
        a_blocks = tl.make_tensor_descriptor(a, [k, m], [a_width, 1], [BLOCK_K, BLOCK_M])
    else:
        a_blocks = tl.make_tensor_descriptor(a, [m, k], [a_width, 1], [BLOCK_M, BLOCK_K])
    b_blocks = tl.make_tensor_descriptor(b, [k, n], [b_width, 1], [BLOCK_K, BLOCK_N])
    c_blocks = tl.make_tensor_descriptor(c, [m, n], [c_width, 1], [BLOCK_M, PART_N])
    if PARTS == 4:
        sum_blocks = tl.make_tensor_descriptor(sums, [m, n], [c_width, 1], [BLOCK_M, PART_N])
    programs = tl.num_programs(0)
    tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    stored = tl.program_id(0) - programs
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=FLATTEN and PARTS == 1):
        row, column = origin(tile, m, n, BLOCK_M, BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(k, BLOCK_K)):
            if TRANSPOSED:
                a_block = a_blocks.load([step * BLOCK_K, row]).T
            else:
                a_block = a_blocks.load([row, step * BLOCK_K])
            total = tl.dot(a_block, b_blocks.load([step * BLOCK_K, column]), total)

        stored += programs
        row, column = origin(stored, m, n, BLOCK_M, BLOCK_N)
        if PARTS == 1:
            c_blocks.store([row, column], total.to(c.dtype.element_ty))
        else:
            left, right = _halves(total)
            first, second = _halves(left)
            third, fourth = _halves(right)
            _finish(first, sum_blocks, c_blocks, row, column, ADDS, KEEPS)
            _finish(second, sum_blocks, c_blocks, row, column + PART_N, ADDS, KEEPS)
            _finish(third, sum_blocks, c_blocks, row, column + 2 * PART_N, ADDS, KEEPS)
            _finish(fourth, sum_blocks, c_blocks, row, column + 3 * PART_N, ADDS, KEEPS)


def options(products: int, device: torch.device) -> dict[str, int | bool]:
    """Tile, warps and stages."""
    if device.type != "cuda" or products < 2**29:
        return {
            "BLOCK_M": 64,
            "BLOCK_N": 128,
            "BLOCK_K": 64,
            "FLATTEN": True,
            "num_warps": 4,
            "num_stages": 3,
        }
    return {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "FLATTEN": True, "num_warps": 8, "num_stages": 3}


def program_count(device: torch.device) -> int:
    """One program a multiprocessor; a few in Triton's interpreter on a CPU, to pass on from tile to tile."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
