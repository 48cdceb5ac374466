"""Softmax in the CuTe DSL for rows of any length: maximum and sum in one pass, the results in a second.

Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum. The sum so far is
scaled by exp(m - m') whenever a vector raises the maximum from m to m'. 5 rows cols FLOP by the spec's count,
and 2 rows cols s compulsory bytes: the second pass reads the row again, from L2 where it still lies there.
Mapping: a block owns a row; its threads take vectors of 16 bytes in turn, each with its own maximum and sum.
Lanes combine theirs by shuffles, warps by shared memory.
Idea: triton_online in another language: Milakov and Gimelshein, "Online normalizer calculation for softmax",
arXiv:1805.02867.
"""

import functools

import cutlass
import torch
from cuda.bindings import driver
from cutlass import cute

from roofscope.kernels.shared.device_pointers import VECTOR_BYTES, pointer, stream_of, typed, vector_length
from roofscope.kernels.shared.limits import require_32_bit_sizes

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
LOG2_E = 1.4426950408889634
WARP = 32
THREADS = (32, 128, 512)  # of a row, by the vectors that it has
VECTORS = 4  # that a thread has before a row gets more threads


@cute.jit
def _base(highest: cutlass.Float32) -> cutlass.Float32:
    """While all elements are -inf, the base is 0: -inf minus itself would be NaN."""
    return cutlass.Float32(0.0) if highest == -cutlass.Float32.inf else highest


@cute.jit
def _exp(exponent):
    return cute.math.exp2(exponent * LOG2_E, fastmath=True)


@cute.kernel
def _softmax(x: cute.Tensor, y: cute.Tensor, vectors: cutlass.Int32, ROW_THREADS: cutlass.Constexpr) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = cutlass.Int64(block)
    highest, total = -cutlass.Float32.inf, cutlass.Float32(0.0)
    for vector in cutlass.range(thread, vectors, ROW_THREADS):
        value = x[None, vector, row].load().to(cutlass.Float32)
        raised = value.reduce(cute.ReductionOp.MAX, highest, 0)
        base = _base(raised)
        total = total * _exp(highest - base) + _exp(value - base).reduce(cute.ReductionOp.ADD, 0.0, 0)
        highest = raised
    own = highest
    highest = cute.arch.warp_reduction_max(own)
    total = cute.arch.warp_reduction_sum(total * _exp(own - _base(highest)))
    if cutlass.const_expr(ROW_THREADS > WARP):
        highest, total = _across_warps(highest, total, ROW_THREADS // WARP)
    scale = 1.0 / total
    for vector in cutlass.range(thread, vectors, ROW_THREADS):
        value = x[None, vector, row].load().to(cutlass.Float32)
        y[None, vector, row].store((_exp(value - highest) * scale).to(y.element_type))


@cute.jit
def _across_warps(highest: cutlass.Float32, total: cutlass.Float32, WARPS: cutlass.Constexpr):
    """The maximum and the sum of the block, in each of its threads."""
    kept = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float32, 2 * WARPS), cute.make_layout((2, WARPS)))
    own_warp = cute.arch.warp_idx()  # by a shuffle of the whole warp, so outside the branch
    if cute.arch.lane_idx() == 0:
        kept[0, own_warp] = highest
        kept[1, own_warp] = total
    cute.arch.sync_threads()
    for warp in cutlass.range_constexpr(WARPS):
        highest = cute.arch.fmax(highest, kept[0, warp])
    base = _base(highest)
    total = cutlass.Float32(0.0)
    for warp in cutlass.range_constexpr(WARPS):
        total += kept[1, warp] * _exp(kept[0, warp] - base)
    return highest, total


@cute.jit
def _launch(
    x: cute.Pointer,
    y: cute.Pointer,
    rows: cutlass.Int32,
    cols: cutlass.Int32,
    stream: driver.CUstream,
    VECTOR: cutlass.Constexpr,
    ROW_THREADS: cutlass.Constexpr,
) -> None:
    vectors = cols // VECTOR
    # In 64 bits, because a matrix may have more than 2**31 elements; and every row begins at a whole vector.
    row_stride = cute.assume(cutlass.Int64(vectors) * VECTOR, divby=VECTOR)
    layout = cute.make_layout((VECTOR, vectors, rows), stride=(1, VECTOR, row_stride))
    _softmax(cute.make_tensor(x, layout), cute.make_tensor(y, layout), vectors, ROW_THREADS).launch(
        grid=(rows, 1, 1), block=(ROW_THREADS, 1, 1), stream=stream
    )


@functools.cache
def compiled(dtype: torch.dtype, vector: int, threads: int):
    """The launch for rows of whole vectors, ``threads`` of them to a row."""
    of_type = typed(dtype, vector * dtype.itemsize)
    size = cutlass.Int32(0)
    return cute.compile(_launch, of_type, of_type, size, size, driver.CUstream(0), vector, threads)


def row_threads(vectors: int) -> int:
    """How many threads share a row."""
    return next((threads for threads in THREADS if vectors <= threads * VECTORS), THREADS[-1])


def run(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    require_32_bit_sizes("softmax/cute_online", rows, cols)
    if x.numel():
        vector = vector_length(x, y, extent=cols)
        alignment = VECTOR_BYTES if vector > 1 else x.element_size()
        launch = compiled(x.dtype, vector, row_threads(cols // vector))
        sizes = cutlass.Int32(rows), cutlass.Int32(cols)
        launch(pointer(x, alignment), pointer(y, alignment), *sizes, stream_of(x))
    return y
