"""Gradients of a linear layer's cross-entropy in Triton, a part of the vocabulary after the other.

Formula: d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])); dx = d w, dw = d^T x; 6 rows vocab
hidden FLOP.
Mapping: of some columns of the vocabulary at a time one kernel makes d, whose logits it computes again, and
leaves it in 16 bits; two more products follow: what these columns add to dx, in float32, and their rows of
dw, which are then done. d takes no more than CHUNK_BYTES. All three are products of tiles of
128 x 256 by a persistent grid, as matmul/triton_persistent_tma; d is read as it lies for d^T too, and wgmma
transposes it. Compute capability 9.0 and later.
Idea: cuda_naive's parts of the vocabulary, with each product by tiles on the tensor cores. Hsu et al., "Liger
Kernel", arXiv:2410.10989, which takes some rows at a time and adds to dw.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
CHUNK_BYTES = 2**27  # of d: 16 Ki columns of 4 Ki rows
LEAST_COLUMNS = 256  # of a chunk: a tile
LOG2_E = tl.constexpr(1.4426950408889634)
IGNORED = tl.constexpr(-100)  # torch's ignore_index
GROUP_M = tl.constexpr(8)  # rows of tiles that share columns in L2


@triton.jit
def _origin(tile, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """First row and column of a tile, tiles counted in groups of GROUP_M rows of tiles."""
    tiles_per_group = GROUP_M * tl.cdiv(n, BLOCK_N)
    group, in_group = tile // tiles_per_group, tile % tiles_per_group
    height = min(tl.cdiv(m, BLOCK_M) - group * GROUP_M, GROUP_M)
    return (group * GROUP_M + in_group % height) * BLOCK_M, in_group // height * BLOCK_N


@triton.jit
def _weights(
    x,
    w,
    labels,
    lse,
    dloss,
    d,
    rows,
    columns,
    hidden,
    width,
    d_width,
    first,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    FLATTEN: tl.constexpr,
):
    """Makes d of `columns` columns, of which `w` begins with the first: number `first` of the vocabulary."""
    x_blocks = tl.make_tensor_descriptor(x, [rows, hidden], [width, 1], [BLOCK_M, BLOCK_K])
    w_blocks = tl.make_tensor_descriptor(w, [columns, hidden], [width, 1], [BLOCK_N, BLOCK_K])
    d_blocks = tl.make_tensor_descriptor(d, [rows, columns], [d_width, 1], [BLOCK_M, BLOCK_N])
    programs = tl.num_programs(0)
    tiles = tl.cdiv(rows, BLOCK_M) * tl.cdiv(columns, BLOCK_N)
    # The stores have their own count: the flattened loop is already at the next tile's loads by then.
    stored = tl.program_id(0) - programs
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=FLATTEN):
        row, column = _origin(tile, rows, columns, BLOCK_M, BLOCK_N)
        logits = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(hidden, BLOCK_K)):
            x_block = x_blocks.load([row, step * BLOCK_K])
            w_block = w_blocks.load([column, step * BLOCK_K])
            logits = tl.dot(x_block, w_block.T, logits)

        stored += programs
        row, column = _origin(stored, rows, columns, BLOCK_M, BLOCK_N)
        mine = row + tl.arange(0, BLOCK_M)
        inside = mine < rows
        label = tl.load(labels + mine, mask=inside, other=IGNORED)
        scale = tl.load(dloss + mine, mask=inside, other=0.0).to(tl.float32)
        scale = tl.where(label == IGNORED, 0.0, scale)
        shift = tl.load(lse + mine, mask=inside, other=float("inf")) * LOG2_E
        weights = tl.exp2(logits * LOG2_E - shift[:, None])
        at_label = (first + column + tl.arange(0, BLOCK_N))[None, :] == label[:, None]
        weights = tl.where(at_label, weights - 1.0, weights) * scale[:, None]
        d_blocks.store([row, column], weights.to(d.dtype.element_ty))


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
def _product(
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
        row, column = _origin(tile, m, n, BLOCK_M, BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(k, BLOCK_K)):
            if TRANSPOSED:
                a_block = a_blocks.load([step * BLOCK_K, row]).T
            else:
                a_block = a_blocks.load([row, step * BLOCK_K])
            total = tl.dot(a_block, b_blocks.load([step * BLOCK_K, column]), total)

        stored += programs
        row, column = _origin(stored, m, n, BLOCK_M, BLOCK_N)
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


def run(
    x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor, lse: torch.Tensor, dloss: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """dx, (rows, hidden), and dw, (vocab, hidden), from the gradient of each row's loss.

    As in torch a row with label -100 has no part in them. Raises Refusal before sm_90, in float32 and beyond
    32-bit sizes.
    """
    key = "linear_cross_entropy_backward/triton_chunks"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    if x.is_cuda and torch.cuda.get_device_capability(x.device) < (9, 0):
        raise Refusal(f"{key} needs a TMA unit, so compute capability 9.0 or later.")
    (rows, hidden), vocab = x.shape, w.shape[0]
    require_32_bit_product(key, rows, vocab, hidden)
    if not rows:
        return torch.empty_like(x), torch.zeros_like(w)
    x, w = in_whole_units(x), in_whole_units(w)
    width = x.shape[1]
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    chunk = min(max(_chunk_bytes(x.device) // (2 * rows) // LEAST_COLUMNS, 1) * LEAST_COLUMNS, vocab)
    d_width = chunk + -chunk % 8
    d = torch.empty(rows, d_width, dtype=x.dtype, device=x.device)
    only = chunk == vocab
    sums = d if only else torch.empty(rows, width, dtype=torch.float32, device=x.device)
    # The descriptors are made on the device, in memory from here. The setting holds for this thread only.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=x.device))
    options = _options(rows * chunk * hidden, x.device)
    grid = _program_count(x.device)
    for first in range(0, vocab, chunk):
        columns = min(chunk, vocab - first)
        part = w[first:]
        _weights[(grid,)](
            *(x, part, labels, lse, dloss, d, rows, columns, hidden, width, d_width, first), **options
        )
        last = first + columns == vocab
        _product[(grid,)](
            *(d, part, sums, dx, rows, width, columns, d_width, width, width),
            **{"TRANSPOSED": False, "ADDS": first > 0, "KEEPS": not last, **options},
        )
        _product[(grid,)](
            *(d, x, sums, dw[first:], columns, width, rows, d_width, width, width),
            **{"TRANSPOSED": True, "ADDS": False, "KEEPS": False, **options},
        )
    return dx[:, :hidden].contiguous(), dw[:, :hidden].contiguous()


def _chunk_bytes(device: torch.device) -> int:
    """Few in Triton's interpreter on a CPU, to pass on from chunk to chunk."""
    return CHUNK_BYTES if device.type == "cuda" else 2**17


def _options(products: int, device: torch.device) -> dict[str, int | bool]:
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


def _program_count(device: torch.device) -> int:
    """One program a multiprocessor; a few in Triton's interpreter on a CPU, to pass on from tile to tile."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 3
