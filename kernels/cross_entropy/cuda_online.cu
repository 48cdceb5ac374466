// Cross-entropy in one pass where cuda_naive takes two: each thread keeps a maximum and a sum of its own, which meet at
// the row's end.
//
// Formula: loss[r] = log(sum_c exp(x[r, c] - m_r)) + m_r - x[r, label[r]], m_r the row's maximum, exp(t) =
//   2^(t log2 e). The sum so far is scaled by exp(m - m') when the maximum rises from m to m'. 4 rows cols
//   FLOP, rows cols s bytes.
// Mapping: a block owns a row, or a piece of one where there are few rows. A thread takes every so-manyth
//   pack of 16 bytes, UNROLL of them under way at once, and raises its maximum once for all of them. Pieces
//   leave maximum and sum, which a second kernel joins, in the same order at every call; on Hopper the blocks of a
//   cluster join theirs (row_clusters.cuh), or those of its warps where registers hold few rows (held_rows.cuh). Lanes
//   of a warp own a short row, keep it in registers and find its maximum before they take powers; accesses are as wide
//   as all rows are aligned, or whole words in a row and elements beside them. Very short rows have a thread each, or
//   some of many a thread; where labels begin anywhere they come by way of shared memory (slab_rows.cuh), as do many
//   that are a little longer. On Hopper very many that begin anywhere come through rings in shared memory (row_ring.cuh).
// Idea: Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867. At the
//   bandwidth of an H200 a 16-bit element that is only read has 14 issue slots and 1.8 of the special
//   functions: one power each.
#include "cross_entropy/held_rows.cuh"
#include "cross_entropy/row_clusters.cuh"
#include "cross_entropy/row_ring.cuh"
#include "cross_entropy/short_rows.cuh"
#include "cross_entropy/slab_rows.cuh"
#include "shared/overlap.cuh"

// ---- A block a row ------------------------------------------------------------------------------

extern "C" __global__ void cross_entropy_row(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, long long cols
) {
    let_next_start();
    wait_for_previous();
    x += blockIdx.x * cols;
    const long long label = labels[blockIdx.x];
    const float at_label = threadIdx.x == 0 ? load_at(x, label, cols) : 0.0f;  // under way meanwhile
    const Statistics row = over_block(statistics_of(x, cols));
    if (threadIdx.x == 0) store_loss(row, at_label, label == IGNORED, loss + blockIdx.x);
}

// ---- By a cluster, and by rings ------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(512) cross_entropy_cluster(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, long long cols
) {
    row_by_cluster(x, labels, loss, static_cast<int>(cols));
}

#define HELD_KERNEL(PACKS)                                                                             \
    extern "C" __global__ void __launch_bounds__(512) cross_entropy_held_##PACKS(                      \
        const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, \
        long long cols) {                                                                              \
        row_held_by_cluster<PACKS>(x, labels, loss, static_cast<int>(cols));                           \
    }

HELD_KERNEL(1)
HELD_KERNEL(2)
HELD_KERNEL(3)
HELD_KERNEL(4)
HELD_KERNEL(6)

extern "C" __global__ void __launch_bounds__(512) cross_entropy_block(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, long long cols
) {
    row_by_block(x, labels, loss, static_cast<int>(cols));
}

#define RING_KERNEL(NAME, ...)                                                                         \
    extern "C" __global__ void __launch_bounds__(RING_THREADS) cross_entropy_ring_##NAME(              \
        const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, \
        long long rows, long long cols, long long stages, long long stage_bytes) {                     \
        __VA_ARGS__(x, labels, loss, static_cast<int>(rows), static_cast<int>(cols),                   \
                    static_cast<int>(stages), static_cast<int>(stage_bytes));                          \
    }

RING_KERNEL(1, short_rows_by_ring)
RING_KERNEL(8, rows_by_ring<8>)
RING_KERNEL(16, rows_by_ring<16>)
RING_KERNEL(32, rows_by_ring<32>)

// ---- Short rows ---------------------------------------------------------------------------------

#define SHORT_KERNEL(NAME, THREADS, ...)                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS) cross_entropy_##NAME(                        \
        const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, \
        long long rows, long long cols) {                                                              \
        let_next_start();                                                                              \
        wait_for_previous();                                                                           \
        __VA_ARGS__(x, labels, loss, rows, cols);                                                      \
    }

#define SHORT_KERNELS(NAME, GROUP, PACKS, THREADS)                                                     \
    SHORT_KERNEL(NAME, THREADS, short_row<GROUP, PACKS>)                                               \
    SHORT_KERNEL(NAME##_by_16, THREADS, short_row_by<GROUP, PACKS, PACK>)                              \
    SHORT_KERNEL(NAME##_by_8, THREADS, short_row_by<GROUP, PACKS, 8 / sizeof(SCALAR)>)                 \
    SHORT_KERNEL(NAME##_by_4, THREADS, short_row_by<GROUP, PACKS, 4 / sizeof(SCALAR)>)

SHORT_KERNELS(lanes_4_1, 4, 1, 128)
SHORT_KERNELS(lanes_8_1, 8, 1, 128)
SHORT_KERNELS(lanes_8_2, 8, 2, 128)
SHORT_KERNELS(lanes_16_1, 16, 1, 128)
SHORT_KERNELS(lanes_32_1, 32, 1, 128)
SHORT_KERNELS(lanes_32_2, 32, 2, 128)
SHORT_KERNELS(lanes_32_3, 32, 3, 128)
SHORT_KERNELS(lanes_32_4, 32, 4, 128)
SHORT_KERNELS(lanes_32_6, 32, 6, 128)
SHORT_KERNELS(lanes_8_4, 8, 4, 128)
SHORT_KERNELS(lanes_8_6, 8, 6, 128)
SHORT_KERNELS(lanes_8_10, 8, 10, 128)
SHORT_KERNELS(lanes_16_4, 16, 4, 128)
SHORT_KERNELS(lanes_16_6, 16, 6, 128)
SHORT_KERNELS(lanes_16_10, 16, 10, 128)
SHORT_KERNELS(lanes_32_10, 32, 10, 128)
SHORT_KERNELS(block_8, BLOCK_GROUP, 8, 256)

// Rows that begin anywhere, in as many threads as have four packs each, with registers for fewer instructions.
#define ONE_OF_512 512, 1
SHORT_KERNEL(block_4, ONE_OF_512, short_row<BLOCK_GROUP, 4>)

SHORT_KERNEL(elements_16, 128, row_of_elements<16>)
SHORT_KERNEL(thread_4, 128, row_of_a_thread<4>)
SHORT_KERNEL(thread_8, 128, row_of_a_thread<8>)

#define ROWS_KERNEL(COLS) SHORT_KERNEL(rows_##COLS, 128, rows_of_a_thread<COLS>)

ROWS_KERNEL(1)
ROWS_KERNEL(2)
ROWS_KERNEL(3)
ROWS_KERNEL(4)
ROWS_KERNEL(5)
ROWS_KERNEL(6)
ROWS_KERNEL(7)
ROWS_KERNEL(8)
ROWS_KERNEL(9)
ROWS_KERNEL(10)
ROWS_KERNEL(11)
ROWS_KERNEL(12)
ROWS_KERNEL(13)
ROWS_KERNEL(14)
ROWS_KERNEL(15)
ROWS_KERNEL(16)

#define SLAB_KERNEL(WIDTH)                                                                             \
    extern "C" __global__ void __launch_bounds__(256) cross_entropy_slab_##WIDTH##_1(                  \
        const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, \
        long long rows, long long cols) {                                                              \
        start_early();                                                                                 \
        losses_of_slab<WIDTH>(x, labels, loss, rows, cols);                                            \
    }

SLAB_KERNEL(1)
SLAB_KERNEL(2)
SLAB_KERNEL(4)

// ---- Few rows, in pieces ---------------------------------------------------------------------------------

// Statistics of pieces of `length` elements, the last one of a row shorter; (rows, pieces).
extern "C" __global__ void cross_entropy_piece(
    const SCALAR* __restrict__ x, Statistics* __restrict__ piece, long long cols, long long pieces, long long length
) {
    wait_for_previous();
    let_next_start();  // only now, as the next one reads the row and its label before it waits
    const long long row = blockIdx.x / pieces, start = blockIdx.x % pieces * length;
    const long long left = cols - start;
    const Statistics mine = over_block(statistics_of(x + row * cols + start, left < length ? left : length));
    if (threadIdx.x == 0) piece[blockIdx.x] = mine;
}

// A block joins the pieces of a row.
extern "C" __global__ void cross_entropy_join(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, const Statistics* piece,
    SCALAR* __restrict__ loss, long long cols, long long pieces
) {
    const long long row = blockIdx.x, label = labels[row];
    const float at_label = threadIdx.x == 0 ? load_at(x + row * cols, label, cols) : 0.0f;
    wait_for_previous();
    piece += row * pieces;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (int other = threadIdx.x; other < pieces; other += blockDim.x) {
        mine = joined(mine, piece[other]);
    }
    const Statistics all = over_block(mine);
    if (threadIdx.x == 0) store_loss(all, at_label, label == IGNORED, loss + row);
}
