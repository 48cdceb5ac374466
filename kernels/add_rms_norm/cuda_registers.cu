// Residual addition and RMS norm with the row in registers: two reads and two writes of memory, one reduction a
// row.
//
// Formula: h = x + residual; y[r, c] = h[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the squares of row r of
//   h. 5 rows cols FLOP, (4 rows cols + cols) s bytes.
// Mapping: a row group owns a row: 1 to 32 lanes up to 2 KB a row, a warp where such rows are few, a block
//   above. Each thread keeps 1 to 8 packs of h as they are stored, so that y is the norm of the h that is returned,
//   rounding and all. Rows that do not start on 16 bytes have packs where they are aligned, and the elements
//   beside them go one by one; many short ones have a thread or some lanes each, and come and go as one run by way
//   of shared memory. Rows that are too long for registers go by pieces: the second pass reads the h that it
//   wrote in the first, from L1 or L2.
// Idea: the fused residual of QuACK (Dao-AILab) and Liger: apart from each other the two read and write h once
//   more.
#include "add_rms_norm/operation.cuh"
#include "shared/ones.cuh"
#include "shared/row_groups.cuh"
#include "shared/slab_rows.cuh"

// h of one pack, rounded to its type.
__device__ __forceinline__ Bits sum_of(const Bits& x, const Bits& residual) {
    float left[PACK], right[PACK];
    unpack(x, left);
    unpack(residual, right);
#pragma unroll
    for (int i = 0; i < PACK; ++i) left[i] += right[i];
    return pack_bits(left);
}

template <int GROUP, int PACKS, int WIDTH>
__device__ __forceinline__ void add_and_normalise(
    const SCALAR* x, const SCALAR* residual, const SCALAR* w, SCALAR* y, SCALAR* h, long long rows, long long cols
) {
    const auto share = group_share_by<GROUP, WIDTH>(rows, cols);
    const long long start = group_row<GROUP>() * cols;
    constexpr bool EARLY = PACKS <= 2;  // registers suffice for the scales too, before the reduction
    Bits packs[PACKS], residuals[PACKS], weights[PACKS];
    share.load(x + start, packs);
    share.load(residual + start, residuals);
    if (EARLY) share.load(w, weights);

    float squares = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (share.skips(p)) break;
        keep_packed(residuals[p]);  // not to be taken apart before its turn
        packs[p] = sum_of(packs[p], residuals[p]);
        keep_packed(packs[p]);
        share.store(h + start, p, packs[p]);
        squares += squares_of(packs[p]);
    }
    const float scale = rsqrtf(group_sum<GROUP, 0>(squares) / cols + EPSILON);
    keep_packed(packs);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (share.skips(p)) break;
        store_scaled(share, p, packs[p], scale, EARLY ? weights[p] : share.load(w, p), y + start);
    }
}

// BLOCKS of THREADS on a multiprocessor: registers enough, and no spilling for the sake of more.
#define KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS, WIDTH)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ residual, const SCALAR* __restrict__ w,     \
        SCALAR* __restrict__ y, SCALAR* __restrict__ h, long long rows, long long cols) {                    \
        start_early();                                                                                       \
        add_and_normalise<GROUP, PACKS, WIDTH>(x, residual, w, y, h, rows, cols);                            \
    }

KERNEL(add_rms_norm_lanes_8, 8, 4, 128, 8, PACK)
KERNEL(add_rms_norm_lanes_16, 16, 4, 128, 8, PACK)
KERNEL(add_rms_norm_lanes_32, 32, 4, 128, 8, PACK)
KERNEL(add_rms_norm_warp_1, 32, 1, 128, 8, PACK)
KERNEL(add_rms_norm_warp_2, 32, 2, 128, 8, PACK)
KERNEL(add_rms_norm_block_4, BLOCK_GROUP, 4, 512, 2, PACK)
KERNEL(add_rms_norm_block_8, BLOCK_GROUP, 8, 512, 1, PACK)

constexpr int NARROW_BLOCKS = __CUDA_ARCH__ >= 1000 ? 1 : 2;  // there two would spill

// Rows that start on BYTES, and not all of them on 16.
#define KERNELS_BY(BYTES)                                                                                     \
    KERNEL(add_rms_norm_lanes_8_by_##BYTES, 8, 4, 128, 6, BYTES / sizeof(SCALAR))                            \
    KERNEL(add_rms_norm_lanes_16_by_##BYTES, 16, 4, 128, 6, BYTES / sizeof(SCALAR))                          \
    KERNEL(add_rms_norm_lanes_32_by_##BYTES, 32, 4, 128, 6, BYTES / sizeof(SCALAR))                          \
    KERNEL(add_rms_norm_block_4_by_##BYTES, BLOCK_GROUP, 4, 512, NARROW_BLOCKS, BYTES / sizeof(SCALAR))
KERNELS_BY(8)
KERNELS_BY(4)

ONES(KERNEL, add_rms_norm, 8)

// Rows that do not start on 16 bytes: packs lie where they are aligned, and the elements beside them go one by one.
#define KERNEL_AT_ANY_ALIGNMENT(NAME, GROUP, PACKS, THREADS, BLOCKS)                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ residual, const SCALAR* __restrict__ w,     \
        SCALAR* __restrict__ y, SCALAR* __restrict__ h, long long rows, long long cols) { \
        start_early();                                                                       \
        rows_by_groups<GROUP, PACKS>(AddRmsNorm(x, residual, {w, cols}, y, h), rows, cols);  \
    }

KERNEL_AT_ANY_ALIGNMENT(add_rms_norm_any_8, 8, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(add_rms_norm_any_16, 16, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(add_rms_norm_any_32, 32, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(add_rms_norm_any_block_4, BLOCK_GROUP, 4, 512, 2)
KERNEL_AT_ANY_ALIGNMENT(add_rms_norm_any_block_8, BLOCK_GROUP, 8, 512, 1)

// Rows of up to LANES * EACH elements, at any alignment.
#define KERNEL_OF_ELEMENTS(LANES, EACH)                                                                      \
    extern "C" __global__ void __launch_bounds__(128) add_rms_norm_elements_##LANES##_##EACH(                \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ residual, const SCALAR* __restrict__ w,     \
        SCALAR* __restrict__ y, SCALAR* __restrict__ h, long long rows, long long cols) {                    \
        start_early();                                                                                       \
        rows_by_elements<LANES, EACH>(AddRmsNorm(x, residual, {w, cols}, y, h), rows, cols);                 \
    }

KERNEL_OF_ELEMENTS(1, 2)
KERNEL_OF_ELEMENTS(1, 4)
KERNEL_OF_ELEMENTS(2, 4)
KERNEL_OF_ELEMENTS(4, 4)
KERNEL_OF_ELEMENTS(8, 4)
KERNEL_OF_ELEMENTS(16, 4)

// Many short rows that begin on 16 bytes: as few lanes as have two packs each.
KERNEL(add_rms_norm_pairs_1, 1, 2, 128, 8, PACK)
KERNEL(add_rms_norm_pairs_2, 2, 2, 128, 8, PACK)
KERNEL(add_rms_norm_pairs_4, 4, 2, 128, 8, PACK)
KERNEL(add_rms_norm_pairs_8, 8, 2, 128, 8, PACK)

// Many short rows that begin on no 16 bytes, a thread or some lanes each, by way of shared memory. h comes to lie where x did, y where
// the residual did; scales are floats there.
template <int WIDTH, int LANES>
__device__ __forceinline__ void add_and_normalise_slab(
    const SCALAR* x, const SCALAR* residual, const SCALAR* w, SCALAR* y, SCALAR* h, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab sums(slab_packs, rows, cols, LANES);
    const Slab results(behind_slabs(slab_packs, sums.cols, 1, LANES), rows, cols, LANES);
    float* const scales = reinterpret_cast<float*>(behind_slabs(slab_packs, sums.cols, 2, LANES));
    sums.begin_load(x);
    results.begin_load(residual);
    for (int col = threadIdx.x; col < sums.cols; col += blockDim.x) scales[col] = to_float(w[col]);
    wait_for_copies();
    const SlabRow<WIDTH, LANES> row(sums), other(results);
    float squares = 0.0f;
    for_elements<WRITES_FIRST>(row, other, [&](int, SCALAR& sum, const SCALAR& residual) {
        from_float(to_float(sum) + to_float(residual), sum);
        squares = fmaf(to_float(sum), to_float(sum), squares);
    });
    const float scale = rsqrtf(lanes_sum<LANES>(squares) / static_cast<float>(sums.cols) + EPSILON);
    for_elements<WRITES_SECOND>(row, other, [&](int column, const SCALAR& sum, SCALAR& result) {
        from_float(to_float(sum) * scale * scales[column], result);
    });
    sums.store(h);
    results.store(y);
}

#define SLAB_KERNEL(WIDTH, LANES)                                                                             \
    extern "C" __global__ void __launch_bounds__(256) add_rms_norm_slab_##WIDTH##_##LANES(                    \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ residual, const SCALAR* __restrict__ w,      \
        SCALAR* __restrict__ y, SCALAR* __restrict__ h, long long rows, long long cols) {                     \
        start_early();                                                                                        \
        add_and_normalise_slab<WIDTH, LANES>(x, residual, w, y, h, rows, cols);                               \
    }

#define SLAB_KERNELS(LANES) SLAB_KERNEL(1, LANES) SLAB_KERNEL(2, LANES) SLAB_KERNEL(4, LANES)

SLAB_KERNELS(1)
#ifndef SCALAR_IS_FLOAT32
SLAB_KERNELS(2)
SLAB_KERNELS(8)
#endif

template <bool PACKED>
__device__ __forceinline__ void add_and_normalise_by_pieces(
    const SCALAR* x, const SCALAR* residual, const SCALAR* w, SCALAR* y, SCALAR* h, long long cols
) {
    const int piece = blockDim.x * PACK;
    float squares = 0.0f;
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        const Bits sum = sum_of(share.load(x + start, 0), share.load(residual + start, 0));
        share.store(h + start, 0, sum);
        squares += squares_of(sum);
    }
    const float scale = rsqrtf(group_sum<BLOCK_GROUP, 0>(squares) / cols + EPSILON);
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        store_scaled(share, 0, share.load(h + start, 0), scale, share.load(w + start, 0), y + start);
    }
}

extern "C" __global__ void __launch_bounds__(1024) add_rms_norm_pieces(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ residual, const SCALAR* __restrict__ w,
    SCALAR* __restrict__ y, SCALAR* h, long long rows, long long cols
) {
    start_early();
    const long long start = blockIdx.x * cols;
    if (are_packed(cols, x + start, residual + start, w, y + start, h + start)) {
        add_and_normalise_by_pieces<true>(x + start, residual + start, w, y + start, h + start, cols);
    } else {
        add_and_normalise_by_pieces<false>(x + start, residual + start, w, y + start, h + start, cols);
    }
}
