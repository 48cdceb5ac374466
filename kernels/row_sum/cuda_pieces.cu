// Sum of rows, 16 bytes an access; where rows are few, each is split into pieces for many blocks.
//
// Formula: y[r] = sum_c x[r, c]; rows cols FLOP, rows cols s + 4 rows bytes.
// Mapping: a row group owns a row or a piece of one, some lanes or a warp for short rows and a block for long ones. Where
//   short rows begin on no 16 bytes and are many, a thread has one, in shared memory, or of up to four columns
//   PACK rows, in registers. Of float32 a warp has up to four of many rows of some hundred columns, or one of few, an element a lane
//   and access: nothing is to be aligned, and all is under way.
//   Each thread takes every so-manyth pack of 16 bytes, UNROLL of them under way at once, of most rows all that it has,
//   and the row group adds up. Sums of pieces are added by a second kernel in an order of their own: the result is the same at
//   every call, as with atomics it is not. On Hopper and later the second kernel is launched while the first
//   one works. About as fast, but wrong on two streams at once: one kernel whose last block waits for the
//   others, by flags that it resets for the next call. An atomic counter of blocks that have ended is slower.
//   On Hopper a cluster has a row of float32 that is not too long, and no second kernel is needed.
// Idea: Harris, "Optimizing Parallel Reduction in CUDA"; the row group and its loop are those of
//   weighted_sum/cuda_row. Programmatic dependent launch is in the CUDA C++ Programming Guide.
#include "shared/cluster_row_sums.cuh"
#include "shared/columns.cuh"
#include "shared/common.cuh"
#include "shared/few_columns.cuh"
#include "shared/overlap.cuh"
#include "shared/shifted.cuh"
#include "shared/slab.cuh"

constexpr int UNROLL = 4;  // as in cuda_pieces.py

__device__ __forceinline__ float sum_of(const Pack& pack) {
    float values[PACK];
    unpack(pack, values);
#pragma unroll
    for (int step = 1; step < PACK; step *= 2) {
#pragma unroll
        for (int i = 0; i < PACK; i += 2 * step) values[i] += values[i + step];
    }
    return values[0];
}

// This thread's share of the sum of a run of packs.
__device__ __forceinline__ float sum_of_packs(const SCALAR* x, long long packs, int thread, int threads) {
    float sum[UNROLL] = {};  // apart from each other, so that no addition waits for the one before
    const long long round = static_cast<long long>(UNROLL) * threads;
    long long pack = thread;
    for (long long left = packs; left > round; left -= round, pack += round) {
        Pack values[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) values[u] = load_pack(x + (pack + u * threads) * PACK);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum[u] += sum_of(values[u]);
    }
    // The last round, or the only one, is under way at once too, be it whole or not: some threads of a block would else
    // wait twice.
    Pack values[UNROLL] = {};
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        if (pack + u * threads < packs) values[u] = load_pack(x + (pack + u * threads) * PACK);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) sum[u] += sum_of(values[u]);
#pragma unroll
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    return sum[0];
}

// This thread's share of the sum of a run at any alignment.
__device__ __forceinline__ float partial_sum(const SCALAR* x, long long length, int thread, int threads) {
    const AlignedRun run(x, length);
    const float edge = thread < run.edges ? to_float(x[run.edge_at(thread)]) : 0.0f;
    return edge + sum_of_packs(x + run.head, run.packs, thread, threads);
}

extern "C" __global__ void row_sum_warp(
    const SCALAR* __restrict__ x, float* __restrict__ y, long long rows, long long cols
) {
    start_early();
    const long long row = thread_of_grid() / WARP;
    if (row >= rows) return;
    const int lane = threadIdx.x % WARP;
    const float sum = warp_sum(partial_sum(x + row * cols, cols, lane, WARP));
    if (lane == 0) y[row] = sum;
}

// Some lanes of a warp a row, a word of 16 bytes each.
template <int LANES>
__device__ __forceinline__ void short_row(const SCALAR* x, float* y, long long rows, long long cols) {
    const long long row = thread_of_grid() / LANES;
    const int lane = threadIdx.x % LANES;
    const ShortRow here(x, row < rows ? row : 0, rows, cols);
    Bits bits = {};
    if (row < rows && lane < here.packs()) bits = here.load(lane, 0.0f);
    const float sum = lanes_sum<LANES>(sum_of(reinterpret_cast<const Pack&>(bits)));
    if (row < rows && lane == 0) y[row] = sum;
}

#define SHORT_KERNEL(LANES)                                                                    \
    extern "C" __global__ void __launch_bounds__(128) row_sum_lanes_##LANES(                   \
        const SCALAR* __restrict__ x, float* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                         \
        short_row<LANES>(x, y, rows, cols);                                                    \
    }

SHORT_KERNEL(4)
SHORT_KERNEL(8)
SHORT_KERNEL(16)

#ifdef SCALAR_IS_FLOAT32
// A warp ROWS rows, EACH elements a lane of each.
template <int EACH, int ROWS>
__device__ __forceinline__ void sum_of_columns(const SCALAR* x, float* y, long long rows, long long cols) {
    const long long row = thread_of_grid() / WARP * ROWS;
    const int lane = threadIdx.x % WARP;
    float values[ROWS][EACH];
    load_columns(values, x, row, rows, cols);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float sum = 0.0f;
#pragma unroll
        for (int e = 0; e < EACH; ++e) sum += values[r][e];
        sum = warp_sum(sum);
        if (lane == 0 && row + r < rows) y[row + r] = sum;
    }
}

#define COLUMNS_KERNEL(EACH, ROWS)                                                             \
    extern "C" __global__ void __launch_bounds__(128) row_sum_columns_##EACH##_##ROWS(         \
        const SCALAR* __restrict__ x, float* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                         \
        sum_of_columns<EACH, ROWS>(x, y, rows, cols);                                          \
    }

COLUMNS_KERNEL(4, 2)
COLUMNS_KERNEL(4, 4)
COLUMNS_KERNEL(8, 2)
COLUMNS_KERNEL(16, 1)
COLUMNS_KERNEL(32, 1)
#endif

// Element by element, EACH a thread: less to do before the first load, where that is most of the time.
template <int EACH>
__device__ __forceinline__ float sum_of_elements(const SCALAR* x, int cols, int thread, int threads) {
    float values[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = thread + e * threads;
        values[e] = at < cols ? to_float(x[at]) : 0.0f;
    }
#pragma unroll
    for (int step = 1; step < EACH; step *= 2) {
#pragma unroll
        for (int e = 0; e + step < EACH; e += 2 * step) values[e] += values[e + step];
    }
    return values[0];
}

#define ELEMENTS_KERNEL(LANES, EACH)                                                                      \
    extern "C" __global__ void __launch_bounds__(128) row_sum_elements_##LANES##_##EACH(                  \
        const SCALAR* __restrict__ x, float* __restrict__ y, long long rows, long long cols) {            \
        start_early();                                                                                    \
        const long long row = thread_of_grid() / LANES;                                                   \
        const int lane = threadIdx.x % LANES, length = row < rows ? static_cast<int>(cols) : 0;           \
        const float sum = lanes_sum<LANES>(sum_of_elements<EACH>(x + row * cols, length, lane, LANES));   \
        if (length && lane == 0) y[row] = sum;                                                            \
    }

ELEMENTS_KERNEL(1, 4)
ELEMENTS_KERNEL(2, 4)

// PACK rows a thread, each of COLS elements: many rows of a few columns.
template <int COLS>
__device__ __forceinline__ void sum_of_few_columns(const SCALAR* x, float* y, long long rows) {
    const FewColumns<COLS> mine(x, rows);
    float sums[PACK];
#pragma unroll
    for (int r = 0; r < PACK; ++r) {
        sums[r] = mine.at(r, 0);
#pragma unroll
        for (int c = 1; c < COLS; ++c) sums[r] += mine.at(r, c);
    }
    y += mine.first;
    if (mine.rows == PACK) {
#pragma unroll
        for (int r = 0; r < PACK; r += 4) {
            *reinterpret_cast<float4*>(y + r) = make_float4(sums[r], sums[r + 1], sums[r + 2], sums[r + 3]);
        }
        return;
    }
#pragma unroll
    for (int r = 0; r < PACK; ++r) {
        if (r < mine.rows) y[r] = sums[r];
    }
}

#define FEW_COLUMNS_KERNEL(COLS)                                                               \
    extern "C" __global__ void __launch_bounds__(128) row_sum_few_columns_##COLS(              \
        const SCALAR* __restrict__ x, float* __restrict__ y, long long rows) {                 \
        start_early();                                                                         \
        sum_of_few_columns<COLS>(x, y, rows);                                                  \
    }

FEW_COLUMNS_KERNEL(1)
FEW_COLUMNS_KERNEL(2)
FEW_COLUMNS_KERNEL(3)
FEW_COLUMNS_KERNEL(4)

// A thread a row, by way of shared memory: many short rows that begin on no 16 bytes.
template <int WIDTH>
__device__ __forceinline__ void sum_of_slab(const SCALAR* x, float* y, long long rows, long long cols) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols);
    slab.load(x);
    const int number = threadIdx.x;
    if (number >= slab.rows) return;
    const Access<WIDTH>* const row = reinterpret_cast<const Access<WIDTH>*>(slab.row(number));
    float sum[2] = {};  // so that not every addition waits for the one before
    const auto add = [&](float& sum, const Access<WIDTH>& access) {
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) sum += to_float(access.element[j]);
    };
    const int count = slab.cols / WIDTH;
#pragma unroll 2
    for (int i = 0; i + 1 < count; i += 2) {
        add(sum[0], row[i]);
        add(sum[1], row[i + 1]);
    }
    if (count % 2) add(sum[0], row[count - 1]);
    y[slab.first + number] = sum[0] + sum[1];
}

#define SLAB_KERNEL(WIDTH)                                                                     \
    extern "C" __global__ void __launch_bounds__(256) row_sum_slab_##WIDTH##_1(                  \
        const SCALAR* __restrict__ x, float* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                         \
        sum_of_slab<WIDTH>(x, y, rows, cols);                                                  \
    }

SLAB_KERNEL(1)
SLAB_KERNEL(2)
SLAB_KERNEL(4)

extern "C" __global__ void row_sum_block(const SCALAR* __restrict__ x, float* __restrict__ y, long long cols) {
    start_early();
    const float sum = block_sum(partial_sum(x + blockIdx.x * cols, cols, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// ---- Few rows: block (r, p) has the p-th piece, of `length` elements, the last one shorter --------

extern "C" __global__ void row_sum_piece(
    const SCALAR* __restrict__ x, float* __restrict__ piece, long long cols, long long length
) {
    start_early();
    const long long row = blockIdx.x, start = blockIdx.y * length, left = cols - start;
    const float sum =
        block_sum(partial_sum(x + row * cols + start, left < length ? left : length, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) piece[row * gridDim.y + blockIdx.y] = sum;
}

// The same for rows that are whole packs: fewer instructions before the first load, which count in a kernel this short.
extern "C" __global__ void row_sum_packed_piece(
    const SCALAR* __restrict__ x, float* __restrict__ piece, long long cols, long long length
) {
    start_early();
    const long long row = blockIdx.x, start = blockIdx.y * length, left = cols - start;
    const unsigned long long packs = static_cast<unsigned long long>(left < length ? left : length) / PACK;
    const float sum = block_sum(sum_of_packs(x + row * cols + start, packs, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) piece[row * gridDim.y + blockIdx.y] = sum;
}

// Adds the pieces of a row, no more than the block has threads. They are written while this kernel runs: no
// __restrict__, which would promise that they are not.
extern "C" __global__ void row_sum_pieces(const float* piece, float* y, long long pieces) {
    start_early();
    piece += blockIdx.x * pieces;
    const float sum = block_sum(threadIdx.x < pieces ? piece[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900
// A cluster a row, which has all of it under way at once.
#define CLUSTER_KERNEL(EACH, WIDTH)                                                                      \
    extern "C" __global__ void __launch_bounds__(MOST_SUMMING_THREADS) row_sum_cluster_##EACH##_##WIDTH( \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long cols, long long part) {          \
        sum_by_cluster<EACH, WIDTH, false>(x, x, y, cols, part);                                         \
    }

CLUSTER_SUMS(CLUSTER_KERNEL)
#endif
