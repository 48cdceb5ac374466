// Layer norm with the row in registers: one read and one write of memory, two reductions a row.
//
// Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5) w[c] + b[c], m_r and v_r the row's mean and variance. 8
//   rows cols FLOP, (2 rows cols + 2 cols) s bytes.
// Mapping: a row group owns a row: 1 to 32 lanes up to 2 KB a row, a warp where such rows are few, a block
//   above. Each thread keeps 1 to 8 packs of 16 bytes, all of which are under way at once. The variance is taken
//   about the mean, in a second reduction: the difference of two large sums would lose it. w and b are read again
//   by every row and stay in L1; a thread of 1 or 2 packs loads them beside the row. Rows that do not start
//   on 16 bytes have packs where they are aligned, and the elements beside them go one by one; many short ones have a
//   thread or some lanes each, and come and go as one run by way of shared memory. Rows that are too long for registers go
//   by pieces: read three times, from DRAM the first time, from L1 or L2 then.
// Idea: cuda_naive's passes over memory become passes over registers: rows kept on chip by row groups that grow with
//   them after QuACK (Dao-AILab).
#include "layer_norm/operation.cuh"
#include "shared/exact_rows.cuh"
#include "shared/ones.cuh"
#include "shared/row_groups.cuh"
#include "shared/slab_rows.cuh"

__device__ __forceinline__ float sum_of(const Bits& pack) {
    float values[PACK], sum = 0.0f;
    unpack_words(pack, values);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum += values[i];
    return sum;
}

template <int WIDTH, int LANES>
__device__ __forceinline__ float squares_about(
    float mean, const ShareBy<WIDTH, LANES>& share, int p, const Bits& pack
) {
    float values[PACK], sum = 0.0f;
    unpack_words(pack, values);
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const float difference = values[i] - (share.has(p, i) ? mean : 0.0f);  // outside the row: 0 - 0
        sum = fmaf(difference, difference, sum);
    }
    return sum;
}

template <int WIDTH, int LANES>
__device__ __forceinline__ void store_normalised(
    const ShareBy<WIDTH, LANES>& share, int p, const Bits& pack, float mean, float scale, const Bits& w, const Bits& b,
    SCALAR* y
) {
    float values[PACK], weights[PACK], shifts[PACK];
    unpack_words(pack, values);
    unpack_words(w, weights);
    unpack_words(b, shifts);
#pragma unroll
    for (int i = 0; i < PACK; ++i) values[i] = fmaf((values[i] - mean) * scale, weights[i], shifts[i]);
    share.store(y, p, values);
}

template <int GROUP, int PACKS, int WIDTH = PACK>
__device__ __forceinline__ void normalise(
    const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long rows, long long cols
) {
    const auto share = group_share_by<GROUP, WIDTH>(rows, cols);
    x += group_row<GROUP>() * cols;
    y += group_row<GROUP>() * cols;
    constexpr bool EARLY = PACKS <= 2;  // registers suffice for the scales and shifts too, before the reductions
    Bits packs[PACKS], weights[PACKS], shifts[PACKS];
    share.load(x, packs);
    if (EARLY) {
        share.load(w, weights);
        share.load(b, shifts);
    }

    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (share.skips(p)) break;
        sum += sum_of(packs[p]);
    }
    const float mean = quotient(group_sum<GROUP, 0>(sum), cols);
    keep_packed(packs);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (share.skips(p)) break;
        squares += squares_about(mean, share, p, packs[p]);
    }
    const float scale = rsqrtf(group_sum<GROUP, 1>(squares) * one_of(cols) + EPSILON);
    keep_packed(packs);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (share.skips(p)) break;
        const Bits weight = EARLY ? weights[p] : share.load(w, p), shift = EARLY ? shifts[p] : share.load(b, p);
        store_normalised(share, p, packs[p], mean, scale, weight, shift, y);
    }
}

// Three blocks of 512 threads leave 40 registers a thread, which suffice on Hopper only.
constexpr int BLOCKS_OF_512 = __CUDA_ARCH__ == 900 ? 3 : 2;

// BLOCKS of THREADS on a multiprocessor: registers enough, and no spilling for the sake of more.
#define KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS, WIDTH)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const SCALAR* __restrict__ b,            \
        SCALAR* __restrict__ y, long long rows, long long cols) {                                            \
        start_early();                                                                                       \
        normalise<GROUP, PACKS, WIDTH>(x, w, b, y, rows, cols);                                              \
    }

KERNEL(layer_norm_lanes_8, 8, 4, 128, 8, PACK)
KERNEL(layer_norm_lanes_16, 16, 4, 128, 8, PACK)
KERNEL(layer_norm_lanes_32, 32, 4, 128, 8, PACK)
KERNEL(layer_norm_warp_1, 32, 1, 128, 8, PACK)
KERNEL(layer_norm_warp_2, 32, 2, 128, 8, PACK)
KERNEL(layer_norm_block_4, BLOCK_GROUP, 4, 512, BLOCKS_OF_512, PACK)
KERNEL(layer_norm_block_8, BLOCK_GROUP, 8, 512, 1, PACK)

// Rows that start on BYTES, and not all of them on 16.
#define KERNELS_BY(BYTES)                                                                                     \
    KERNEL(layer_norm_lanes_8_by_##BYTES, 8, 4, 128, 7, BYTES / sizeof(SCALAR))                              \
    KERNEL(layer_norm_lanes_16_by_##BYTES, 16, 4, 128, 7, BYTES / sizeof(SCALAR))                            \
    KERNEL(layer_norm_lanes_32_by_##BYTES, 32, 4, 128, 7, BYTES / sizeof(SCALAR))                            \
    KERNEL(layer_norm_block_4_by_##BYTES, BLOCK_GROUP, 4, 512, 2, BYTES / sizeof(SCALAR))                    \
    KERNEL(layer_norm_block_8_by_##BYTES, BLOCK_GROUP, 8, 512, 1, BYTES / sizeof(SCALAR))
KERNELS_BY(8)
KERNELS_BY(4)

ONES(KERNEL, layer_norm, 8)

// Rows that do not start on 16 bytes: packs lie where they are aligned, and the elements beside them go one by one.
#define KERNEL_AT_ANY_ALIGNMENT(NAME, GROUP, PACKS, THREADS, BLOCKS)                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                      \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const SCALAR* __restrict__ b,            \
        SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                    \
        rows_by_groups<GROUP, PACKS>(LayerNorm{x, {w, cols}, {b, cols}, y}, rows, cols);  \
    }

KERNEL_AT_ANY_ALIGNMENT(layer_norm_any_8, 8, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(layer_norm_any_16, 16, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(layer_norm_any_32, 32, 4, 128, 7)
KERNEL_AT_ANY_ALIGNMENT(layer_norm_any_block_4, BLOCK_GROUP, 4, 512, 2)
KERNEL_AT_ANY_ALIGNMENT(layer_norm_any_block_8, BLOCK_GROUP, 8, 512, 1)

// Rows of up to LANES * EACH elements, at any alignment.
#define KERNEL_OF_ELEMENTS(LANES, EACH)                                                                       \
    extern "C" __global__ void __launch_bounds__(128) layer_norm_elements_##LANES##_##EACH(                   \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const SCALAR* __restrict__ b,            \
        SCALAR* __restrict__ y, long long rows, long long cols) {                                            \
        start_early();                                                                                          \
        rows_by_elements<LANES, EACH>(LayerNorm{x, {w, cols}, {b, cols}, y}, rows, cols);                       \
    }

KERNEL_OF_ELEMENTS(1, 2)
KERNEL_OF_ELEMENTS(1, 4)
KERNEL_OF_ELEMENTS(2, 4)
KERNEL_OF_ELEMENTS(4, 4)
KERNEL_OF_ELEMENTS(8, 4)
KERNEL_OF_ELEMENTS(16, 4)

// Many short rows that begin on 16 bytes: as few lanes as have two packs each.
KERNEL(layer_norm_pairs_1, 1, 2, 128, 8, PACK)
KERNEL(layer_norm_pairs_2, 2, 2, 128, 8, PACK)
KERNEL(layer_norm_pairs_4, 4, 2, 128, 8, PACK)
KERNEL(layer_norm_pairs_8, 8, 2, 128, 8, PACK)

// Many short rows that begin on no 16 bytes, a thread or some lanes each, by way of shared memory.
template <class Row>
__device__ __forceinline__ void layer_norm_slab(
    const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols, Row::GROUP);
    float2* const scales = reinterpret_cast<float2*>(behind_slabs(slab_packs, slab.cols, 1, Row::GROUP));
    slab.begin_load(x);
    for (int col = threadIdx.x; col < slab.cols; col += blockDim.x) scales[col] = {to_float(w[col]), to_float(b[col])};
    wait_for_copies();
    const Row row(slab);
    float sum = 0.0f, squares = 0.0f;
    for_elements<WRITES_NONE>(row, [&](int, const SCALAR& element) { sum += to_float(element); });
    const float mean = quotient(lanes_sum<Row::GROUP>(sum), slab.cols);
    for_elements<WRITES_NONE>(row, [&](int, const SCALAR& element) {
        const float difference = to_float(element) - mean;
        squares = fmaf(difference, difference, squares);
    });
    const float scale = rsqrtf(lanes_sum<Row::GROUP>(squares) / static_cast<float>(slab.cols) + EPSILON);
    for_elements<WRITES_FIRST>(row, [&](int column, SCALAR& element) {
        from_float(fmaf((to_float(element) - mean) * scale, scales[column].x, scales[column].y), element);
    });
    slab.store(y);
}

#define SLAB_KERNEL(WIDTH, LANES)                                                                             \
    extern "C" __global__ void __launch_bounds__(256) layer_norm_slab_##WIDTH##_##LANES(                      \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const SCALAR* __restrict__ b,             \
        SCALAR* __restrict__ y, long long rows, long long cols) {                                             \
        start_early();                                                                                        \
        layer_norm_slab<NormRow<WIDTH, LANES>>(x, w, b, y, rows, cols);                                                \
    }

#define SLAB_KERNELS(LANES) SLAB_KERNEL(1, LANES) SLAB_KERNEL(2, LANES) SLAB_KERNEL(4, LANES)

SLAB_KERNELS(1)
#ifndef SCALAR_IS_FLOAT32
SLAB_KERNELS(2)
SLAB_KERNELS(4)
SLAB_KERNELS(8)
SLAB_KERNELS(16)
#endif

// Rows that are neither short nor long: exact_rows.cuh.
#ifndef SCALAR_IS_FLOAT32
template <int LANES, int EACH, int LEAST, int WIDTH>
__device__ __forceinline__ void normalise_exactly(
    const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long rows, long long cols
) {
    using Row = ExactRow<LANES, EACH, LEAST, WIDTH>;
    const Row row(cols);
    const bool is_row = row.row < rows;
    if (LANES >= WARP && !is_row) return;
    x += (is_row ? row.row : rows - 1) * cols;  // the other lanes of a warp wait for all
    typename Row::Access accesses[Row::ACCESSES], weights[Row::ACCESSES], shifts[Row::ACCESSES];
    row.load(x, accesses);
    row.load(w, weights);
    row.load(b, shifts);
    float values[EACH];
    Row::unpack(accesses, values);
    const float zero = Row::zero_once_loaded(weights) + Row::zero_once_loaded(shifts);
    const float mean = quotient(Row::template sum<0>(values, AddTo(), zero), cols);
#pragma unroll
    for (int i = 0; i < EACH; ++i) values[i] = row.has(i / WIDTH) ? values[i] - mean : 0.0f;
    const float scale = rsqrtf(Row::template sum<1>(values, AddSquareTo()) * one_of(cols) + EPSILON);
#pragma unroll
    for (int a = 0; a < Row::ACCESSES; ++a) {
        float of_access[WIDTH];
#pragma unroll
        for (int i = 0; i < WIDTH; i += 2) {
            const float2 weight = unpack_word(weights[a].word[i / 2]), shift = unpack_word(shifts[a].word[i / 2]);
            of_access[i] = fmaf(values[a * WIDTH + i] * scale, weight.x, shift.x);
            of_access[i + 1] = fmaf(values[a * WIDTH + i + 1] * scale, weight.y, shift.y);
        }
        if (is_row) row.store(y + row.row * cols, a, of_access);
    }
}

#define EXACT_KERNEL(NAME, LANES, EACH, LEAST, WIDTH)                                                         \
    extern "C" __global__ void __launch_bounds__(128, EACH > 40 ? 3 : EACH > 16 ? 5 : 8) NAME(                \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const SCALAR* __restrict__ b,             \
        SCALAR* __restrict__ y, long long rows, long long cols) {                                             \
        start_early();                                                                                        \
        normalise_exactly<LANES, EACH, LEAST, WIDTH>(x, w, b, y, rows, cols);                                 \
    }
EXACT(EXACT_KERNEL, layer_norm)
// Short rows that begin on 8 bytes.
EXACT_KERNEL(layer_norm_eighths_12, 8, 12, 64, 4)
EXACT_KERNEL(layer_norm_eighths_16, 8, 16, 96, 4)
EXACT_KERNEL(layer_norm_eighths_20, 8, 20, 128, 4)
#endif

template <bool PACKED>
__device__ __forceinline__ void normalise_by_pieces(
    const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols
) {
    const int piece = blockDim.x * PACK;
    float sum = 0.0f, squares = 0.0f;
    for (long long start = 0; start < cols; start += piece) {
        sum += sum_of(piece_share<PACKED>(start, cols).load(x + start, 0));
    }
    const float mean = group_sum<BLOCK_GROUP, 0>(sum) / cols;
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        squares += squares_about(mean, share, 0, share.load(x + start, 0));
    }
    const float scale = rsqrtf(group_sum<BLOCK_GROUP, 1>(squares) / cols + EPSILON);
    for (long long start = 0; start < cols; start += piece) {
        const Share<PACKED> share = piece_share<PACKED>(start, cols);
        const Bits weight = share.load(w + start, 0), shift = share.load(b + start, 0);
        store_normalised(share, 0, share.load(x + start, 0), mean, scale, weight, shift, y + start);
    }
}

extern "C" __global__ void __launch_bounds__(1024) layer_norm_pieces(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const SCALAR* __restrict__ b, SCALAR* __restrict__ y,
    long long rows, long long cols
) {
    start_early();
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    if (are_packed(cols, x, w, b, y)) {
        normalise_by_pieces<true>(x, w, b, y, cols);
    } else {
        normalise_by_pieces<false>(x, w, b, y, cols);
    }
}
