// Softmax with the row in registers: one read and one write of memory, one reduction a row.
//
// Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum, exp(t) = 2^(t log2
//   e). 5 rows cols FLOP, 2 rows cols s bytes.
// Mapping: a row group owns a row: 1 to 32 lanes up to 2 KB a row, a warp where such rows are few, a block
//   above. Each thread keeps 1 to 8 packs of 16 bytes, all of which are under way at once. It sums powers relative
//   to its own maximum, so that maximum and sum are found in one reduction over the row group and not in two, and takes
//   the powers again relative to the row's, or where a warp or some lanes have a row of packs keeps them. Rows that do
//   not start on 16 bytes have packs where they are aligned, and the elements beside them go one by one, as all of a
//   short row do; very many of these have a thread each, and come and go as one run by way of shared memory. Rows that
//   are too long for registers go by pieces and are read twice, the second time from L1 or L2.
// Idea: cuda_naive's passes over memory become passes over registers, and its two reductions one: Milakov and
//   Gimelshein, arXiv:1805.02867, for the joint reduction; QuACK (Dao-AILab) for rows kept on chip by row groups that
//   grow with them.
#include "softmax/operation.cuh"
#include "shared/ones.cuh"
#include "shared/row_groups.cuh"
#include "shared/slab_held.cuh"

template <int GROUP>
__device__ __forceinline__ Statistics over_group(Statistics mine) {
    if constexpr (GROUP <= WARP) {
        return over_lanes<GROUP>(mine);
    } else {
        __shared__ Statistics partial[WARP];
        const int lane = threadIdx.x % WARP;
        mine = over_lanes<WARP>(mine);
        if (lane == 0) partial[threadIdx.x / WARP] = mine;
        __syncthreads();
        Statistics other = of_nothing();
        if (lane < blockDim.x / WARP) other = partial[lane];
        return over_lanes<WARP>(other);
    }
}

template <int GROUP, int PACKS, int WIDTH>
__device__ __forceinline__ void softmax_row(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    const auto share = group_share_by<GROUP, WIDTH>(rows, cols);
    x += group_row<GROUP>() * cols;
    y += group_row<GROUP>() * cols;
    Bits packs[PACKS];
    share.load_evict_last(x, packs, NEGATIVE_INFINITIES);
    if constexpr (GROUP <= WARP && PACKS >= 3 && WIDTH == PACK) {
        // Each power is taken once. Blocks that are row groups are better small: twice the registers hold the powers.
        KeptPowers<PACKS> powers;
        const Statistics all = over_group<GROUP>(powers.find(packs));
        const float factor = powers.factor(all.highest, fast_reciprocal(all.total));
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            float values[PACK];
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[i] = powers.of[p][i] * factor;
            share.store(y, p, values);
        }
        return;
    }
    const Statistics all = over_group<GROUP>(statistics_of(packs));
    keep_packed(packs);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (share.skips(p)) break;
        store_powers(share, p, packs[p], all, y);
    }
}

// Three blocks of 512 threads leave 40 registers a thread, which suffice on Hopper.
constexpr int BLOCKS_OF_512 = __CUDA_ARCH__ == 900 ? 3 : 2;

// BLOCKS of THREADS on a multiprocessor: registers enough, and no spilling for the sake of more.
#define KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS, WIDTH)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {              \
        start_early();                                                                                       \
        softmax_row<GROUP, PACKS, WIDTH>(x, y, rows, cols);                                                  \
    }

KERNEL(softmax_lanes_8, 8, 4, 128, 7, PACK)
KERNEL(softmax_lanes_16, 16, 4, 128, 7, PACK)
KERNEL(softmax_lanes_32, 32, 4, 128, 7, PACK)
KERNEL(softmax_lanes_32_3, 32, 3, 128, 7, PACK)
KERNEL(softmax_warp_1, 32, 1, 128, 7, PACK)
KERNEL(softmax_warp_2, 32, 2, 128, 7, PACK)
KERNEL(softmax_block_4, BLOCK_GROUP, 4, 512, BLOCKS_OF_512, PACK)
KERNEL(softmax_block_8, BLOCK_GROUP, 8, 512, 1, PACK)

// Rows that start on BYTES, and not all of them on 16.
#define KERNELS_BY(BYTES)                                                                                     \
    KERNEL(softmax_lanes_8_by_##BYTES, 8, 4, 128, 7, BYTES / sizeof(SCALAR))                                 \
    KERNEL(softmax_lanes_16_by_##BYTES, 16, 4, 128, 7, BYTES / sizeof(SCALAR))                               \
    KERNEL(softmax_lanes_32_by_##BYTES, 32, 4, 128, 7, BYTES / sizeof(SCALAR))                               \
    KERNEL(softmax_block_4_by_##BYTES, BLOCK_GROUP, 4, 512, 2, BYTES / sizeof(SCALAR))                       \
    KERNEL(softmax_block_8_by_##BYTES, BLOCK_GROUP, 8, 512, 1, BYTES / sizeof(SCALAR))
KERNELS_BY(8)
KERNELS_BY(4)

ONES(KERNEL, softmax, 7)

// Rows that do not start on 16 bytes: packs lie where they are aligned, and the elements beside them go one by one.
#define KERNEL_AT_ANY_ALIGNMENT(NAME, GROUP, PACKS, THREADS, BLOCKS)                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                            \
        rows_by_groups<GROUP, PACKS>(Softmax{x, y}, rows, cols);  \
    }

KERNEL_AT_ANY_ALIGNMENT(softmax_any_8, 8, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(softmax_any_16, 16, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(softmax_any_32, 32, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(softmax_any_block_4, BLOCK_GROUP, 4, 512, 2)
KERNEL_AT_ANY_ALIGNMENT(softmax_any_block_8, BLOCK_GROUP, 8, 512, 1)

// Rows of up to LANES * EACH elements, at any alignment.
#define KERNEL_OF_ELEMENTS(LANES, EACH)                                                                       \
    extern "C" __global__ void __launch_bounds__(128) softmax_elements_##LANES##_##EACH(                      \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {               \
        start_early();                                                                                        \
        rows_by_elements<LANES, EACH>(Softmax{x, y}, rows, cols);                                             \
    }

KERNEL_OF_ELEMENTS(1, 2)
KERNEL_OF_ELEMENTS(1, 4)
KERNEL_OF_ELEMENTS(2, 4)
KERNEL_OF_ELEMENTS(4, 4)
KERNEL_OF_ELEMENTS(8, 4)
KERNEL_OF_ELEMENTS(16, 4)
KERNEL_OF_ELEMENTS(16, 8)

// Many short rows that begin on 16 bytes: as few lanes as have two packs each.
KERNEL(softmax_pairs_1, 1, 2, 128, 16, PACK)
KERNEL(softmax_pairs_2, 2, 2, 128, 7, PACK)
KERNEL(softmax_pairs_4, 4, 2, 128, 7, PACK)
KERNEL(softmax_pairs_8, 8, 2, 128, 7, PACK)

// Many short rows that begin on no 16 bytes, a thread each, by way of shared memory.
template <int WIDTH>
__device__ __forceinline__ void softmax_slab(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols);
    slab.load(x);
    if (static_cast<int>(threadIdx.x) < slab.rows) {
        const SlabRow<WIDTH> row(slab.row(threadIdx.x), slab.cols);
        float highest = NEGATIVE_INFINITY, total = 0.0f;
        for_elements<WRITES_NONE>(row, [&](int, const SCALAR& element) {
            highest = fmaxf(highest, to_float(element));
        });
        const float base = base_of(highest);
        for_elements<WRITES_NONE>(row, [&](int, const SCALAR& element) { total += power_of(to_float(element), base); });
        const float factor = fast_reciprocal(total);
        for_elements<WRITES_FIRST>(row, [&](int, SCALAR& element) {
            from_float(power_of(to_float(element), base) * factor, element);
        });
    }
    slab.store(y);
}

#define SLAB_KERNEL(WIDTH)                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) softmax_slab_##WIDTH##_1(                                 \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {               \
        start_early();                                                                                        \
        softmax_slab<WIDTH>(x, y, rows, cols);                                                                \
    }

SLAB_KERNEL(1)
SLAB_KERNEL(2)
SLAB_KERNEL(4)

// Such rows of 16-bit elements that a thread holds.
#ifndef SCALAR_IS_FLOAT32
#define HELD_KERNEL(EACH, WIDTH)                                                                              \
    extern "C" __global__ void __launch_bounds__(256) softmax_held_##EACH##_##WIDTH(                          \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {               \
        start_early();                                                                                        \
        rows_of_slab<EACH, WIDTH>(Softmax{x, y}, rows, cols);                                                 \
    }
#define HELD_KERNELS(EACH) HELD_KERNEL(EACH, 1) HELD_KERNEL(EACH, 2) HELD_KERNEL(EACH, 4)

HELD_KERNELS(8)
HELD_KERNELS(16)
HELD_KERNELS(24)
HELD_KERNELS(32)
HELD_KERNELS(48)
HELD_KERNELS(64)
#endif

template <bool PACKED>
__device__ __forceinline__ void softmax_by_pieces(const SCALAR* x, SCALAR* y, long long cols) {
    const int piece = blockDim.x * PACK;
    Statistics mine = of_nothing();
    for (long long start = 0; start < cols; start += piece) {
        Bits pack[1];
        piece_share<PACKED>(start, cols).load(x + start, pack, NEGATIVE_INFINITIES);
        mine = together(mine, statistics_of(pack));
    }
    const Statistics all = over_group<BLOCK_GROUP>(mine);
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        store_powers(share, 0, share.load(x + start, 0), all, y + start);
    }
}

extern "C" __global__ void __launch_bounds__(1024) softmax_pieces(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    start_early();
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    if (are_packed(cols, x, y)) {
        softmax_by_pieces<true>(x, y, cols);
    } else {
        softmax_by_pieces<false>(x, y, cols);
    }
}
