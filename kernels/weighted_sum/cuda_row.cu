// Weighted sum of rows: a warp or a block a row, 16 bytes an access; a few long rows are cut into pieces for many
// blocks.
//
// Formula: y[r] = sum_d x[r, d] w[d]; 2 rows cols FLOP, (rows cols + cols + rows)s bytes.
// Mapping: a row group owns a row, a warp for short rows and a block for long ones; of many shorter ones 1 to 16 lanes,
//   or where they begin on no 16 bytes a thread, by way of shared memory; of up to five columns a thread has PACK rows.
//   Of 65 to 512 columns of float32 a warp has up to four rows, an element a lane and access: nothing is to be aligned. Of
//   up to 4096 columns a block has a row in the same way where rows are not many.
//   Each thread takes otherwise every so-manyth pack of 16 bytes, sums in float, and the row group adds up: HELD packs
//   under way at once where a block has no more of a row, else UNROLL of them, as in warps and pieces.
//   x passes through; w is read again by every row and stays in L1. Of longer rows two loads under way and 256 threads
//   were the fastest of UNROLL 2, 4, 8 and 128, 256, 512 threads on an H200.
//   A piece of w does not stay in L1, and read once a row it would be half of what the L2 cache has to give:
//   a block takes the same piece of ROWS rows at once, and has w in registers. Blocks in a row take the same
//   piece of w. A second kernel adds up the pieces, always in the same order, as in row_sum/cuda_pieces. On Hopper a
//   cluster has a row of float32 that is neither short nor too long, and no second kernel is needed.
// Idea: Harris, "Optimizing Parallel Reduction in CUDA"; warp shuffles after "Faster Parallel Reductions on
//   Kepler". Rows at any alignment are cut into whole packs and edges.
#include "shared/cluster_row_sums.cuh"
#include "shared/columns.cuh"
#include "shared/common.cuh"
#include "shared/few_columns.cuh"
#include "shared/overlap.cuh"
#include "shared/slab_rows.cuh"

constexpr int UNROLL = 2;  // as in cuda_row.py
constexpr int HELD = 4;    // as in cuda_row.py: packs of a thread that has nothing else of a row
constexpr int ROWS = 4;    // whose pieces a block takes at once

// `w` at the same distance from 16-byte alignment as the row gives packs, else single elements.
template <bool PACKED>
__device__ __forceinline__ Pack weights_at(const SCALAR* w) {
    if (PACKED) return load_pack(w);
    Pack pack;
#pragma unroll
    for (int i = 0; i < PACK; ++i) pack.element[i] = w[i];
    return pack;
}

__device__ __forceinline__ float dot(const Pack& x, const Pack& w, float sum) {
    float left[PACK], right[PACK];
    unpack(x, left);
    unpack(w, right);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum = fmaf(left[i], right[i], sum);
    return sum;
}

// This thread's share of the packs of a row; x and w start at the first pack.
template <bool PACKED>
__device__ __forceinline__ float sum_packs(const SCALAR* x, const SCALAR* w, long long packs, int thread, int threads) {
    float sum[UNROLL] = {};  // apart from each other, so that no addition waits for the one before
    long long pack = thread;
    for (; pack + (UNROLL - 1) * threads < packs; pack += UNROLL * threads) {
        Pack values[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) values[u] = load_pack(x + (pack + u * threads) * PACK);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            sum[u] = dot(values[u], weights_at<PACKED>(w + (pack + u * threads) * PACK), sum[u]);
        }
    }
    for (; pack < packs; pack += threads) {
        sum[0] = dot(load_pack(x + pack * PACK), weights_at<PACKED>(w + pack * PACK), sum[0]);
    }
#pragma unroll
    for (int u = 1; u < UNROLL; ++u) sum[0] += sum[u];
    return sum[0];
}

__device__ __forceinline__ float partial_sum(
    const SCALAR* row, const SCALAR* w, long long cols, int thread, int threads
) {
    const AlignedRun run(row, cols);
    float sum = 0.0f;
    if (thread < run.edges) {
        const long long at = run.edge_at(thread);
        sum = to_float(row[at]) * to_float(w[at]);
    }
    row += run.head;
    w += run.head;
    return sum + (is_aligned(w) ? sum_packs<true>(row, w, run.packs, thread, threads)
                                : sum_packs<false>(row, w, run.packs, thread, threads));
}

extern "C" __global__ void weighted_sum_warp(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long rows, long long cols
) {
    start_early();
    const int lane = threadIdx.x % WARP;
    const long long row = static_cast<long long>(blockIdx.x) * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (row >= rows) return;
    const float sum = warp_sum(partial_sum(x + row * cols, w, cols, lane, WARP));
    if (lane == 0) from_float(sum, y[row]);
}

extern "C" __global__ void weighted_sum_block(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long cols
) {
    start_early();
    const long long row = blockIdx.x;
    const float sum = block_sum(partial_sum(x + row * cols, w, cols, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) from_float(sum, y[row]);
}

// The packs of a row that no thread has more than HELD of: all are under way at once, and so are their weights.
template <bool PACKED>
__device__ __forceinline__ float sum_held_packs(const SCALAR* x, const SCALAR* w, int packs) {
    Pack values[HELD] = {}, weights[HELD] = {};
    const int thread = threadIdx.x, threads = blockDim.x;
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        if (thread + h * threads < packs) values[h] = load_pack(x + (thread + h * threads) * PACK);
    }
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        if (thread + h * threads < packs) weights[h] = weights_at<PACKED>(w + (thread + h * threads) * PACK);
    }
    float sum = 0.0f;
#pragma unroll
    for (int h = 0; h < HELD; ++h) sum = dot(values[h], weights[h], sum);
    return sum;
}

extern "C" __global__ void __launch_bounds__(1024) weighted_sum_held(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long cols
) {
    start_early();
    x += blockIdx.x * cols;
    const AlignedRun run(x, cols);
    const int packs = static_cast<int>(run.packs);
    float sum = 0.0f;
    if (static_cast<int>(threadIdx.x) < run.edges) {
        const long long at = run.edge_at(threadIdx.x);
        sum = to_float(x[at]) * to_float(w[at]);
    }
    x += run.head;
    w += run.head;
    sum += is_aligned(w) ? sum_held_packs<true>(x, w, packs) : sum_held_packs<false>(x, w, packs);
    sum = block_sum(sum);
    if (threadIdx.x == 0) from_float(sum, y[blockIdx.x]);
}

// Short rows that begin on 16 bytes, as w does: some lanes with up to two packs each.
template <int LANES>
__device__ __forceinline__ void weighted_sum_by_lanes(
    const SCALAR* x, const SCALAR* w, SCALAR* y, long long rows, long long cols
) {
    const long long row = thread_of_grid() / LANES;
    const int lane = threadIdx.x % LANES, packs = row < rows ? static_cast<int>(cols) / PACK : 0;
    x += row * cols;
    float sum[2] = {};
#pragma unroll
    for (int p = 0; p < 2; ++p) {
        const int at = (lane + p * LANES) * PACK;
        if (lane + p * LANES < packs) sum[p] = dot(load_pack(x + at), load_pack(w + at), 0.0f);
    }
    const float total = lanes_sum<LANES>(sum[0] + sum[1]);
    if (lane == 0 && row < rows) from_float(total, y[row]);
}

#define PAIRS_KERNEL(LANES)                                                                                           \
    extern "C" __global__ void __launch_bounds__(128) weighted_sum_pairs_##LANES(                                     \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long rows,           \
        long long cols) {                                                                                             \
        start_early();                                                                                                \
        weighted_sum_by_lanes<LANES>(x, w, y, rows, cols);                                                            \
    }

PAIRS_KERNEL(1)
PAIRS_KERNEL(2)
PAIRS_KERNEL(4)
PAIRS_KERNEL(8)
PAIRS_KERNEL(16)

// PACK rows a thread, each of COLS elements: many rows of a few columns.
template <int COLS>
__device__ __forceinline__ void weighted_sum_of_few_columns(
    const SCALAR* x, const SCALAR* w, SCALAR* y, long long rows
) {
    float weights[COLS], sums[PACK];
#pragma unroll
    for (int c = 0; c < COLS; ++c) weights[c] = to_float(w[c]);  // behind the rows they would be waited for once more
    const FewColumns<COLS> mine(x, rows);
#pragma unroll
    for (int r = 0; r < PACK; ++r) {
        sums[r] = mine.at(r, 0) * weights[0];
#pragma unroll
        for (int c = 1; c < COLS; ++c) sums[r] = fmaf(mine.at(r, c), weights[c], sums[r]);
    }
    store_part(y + mine.first, to_pack(sums), mine.rows);
}

#define FEW_COLUMNS_KERNEL(COLS)                                                                                      \
    extern "C" __global__ void __launch_bounds__(128) weighted_sum_few_columns_##COLS(                                \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long rows) {         \
        start_early();                                                                                                \
        weighted_sum_of_few_columns<COLS>(x, w, y, rows);                                                             \
    }

FEW_COLUMNS_KERNEL(1)
FEW_COLUMNS_KERNEL(2)
FEW_COLUMNS_KERNEL(3)
FEW_COLUMNS_KERNEL(4)
FEW_COLUMNS_KERNEL(5)

// A thread a row, by way of shared memory: many short rows that begin on no 16 bytes. Weights are floats there.
template <int WIDTH>
__device__ __forceinline__ void weighted_sum_of_slab(
    const SCALAR* x, const SCALAR* w, SCALAR* y, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    using Row = SlabRow<WIDTH>;
    const Slab slab(slab_packs, rows, cols);
    float* const weights = reinterpret_cast<float*>(behind_slabs(slab_packs, slab.cols, 1));
    for (int col = threadIdx.x; col < slab.cols; col += blockDim.x) weights[col] = to_float(w[col]);
    slab.load(x);
    if (static_cast<int>(threadIdx.x) >= slab.rows) return;
    const Row row(slab.row(threadIdx.x), slab.cols);
    float sum[2] = {};
    if constexpr (Row::HAS_SINGLE) sum[0] = to_float(row.row[row.single()]) * weights[row.single()];
    const float* const from = weights + row.head;
#pragma unroll 8
    for (int a = 0; a < row.accesses; ++a) {
        const Access<Row::EACH> access = row.access(a);
#pragma unroll
        for (int i = 0; i < Row::EACH; ++i) {
            sum[i % 2] = fmaf(to_float(access.element[i]), from[a * Row::EACH + i], sum[i % 2]);
        }
    }
    from_float(sum[0] + sum[1], y[slab.first + threadIdx.x]);
}

#define SLAB_KERNEL(WIDTH)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256) weighted_sum_slab_##WIDTH##_1(                                    \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long rows,           \
        long long cols) {                                                                                             \
        start_early();                                                                                                \
        weighted_sum_of_slab<WIDTH>(x, w, y, rows, cols);                                                             \
    }

SLAB_KERNEL(1)
SLAB_KERNEL(2)
SLAB_KERNEL(4)

#ifdef SCALAR_IS_FLOAT32
// A warp ROWS rows, EACH elements a lane of each, which has the same columns of every row and their weights once.
template <int EACH, int ROWS>
__device__ __forceinline__ void weighted_sum_of_columns(
    const SCALAR* x, const SCALAR* w, SCALAR* y, long long rows, long long cols
) {
    const long long row = thread_of_grid() / WARP * ROWS;
    const int lane = threadIdx.x % WARP, length = static_cast<int>(cols) - lane;
    float weights[EACH], values[ROWS][EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) weights[e] = e * WARP < length ? to_float(w[lane + e * WARP]) : 0.0f;
    load_columns(values, x, row, rows, cols);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float sum = 0.0f;
#pragma unroll
        for (int e = 0; e < EACH; ++e) sum = fmaf(values[r][e], weights[e], sum);
        sum = warp_sum(sum);
        if (lane == 0 && row + r < rows) from_float(sum, y[row + r]);
    }
}

#define COLUMNS_KERNEL(EACH, ROWS)                                                                                    \
    extern "C" __global__ void __launch_bounds__(128) weighted_sum_columns_##EACH##_##ROWS(                           \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long rows,           \
        long long cols) {                                                                                             \
        start_early();                                                                                                \
        weighted_sum_of_columns<EACH, ROWS>(x, w, y, rows, cols);                                                     \
    }

// A block has a row, a thread EACH elements of it as far apart as there are threads.
template <int EACH>
__device__ __forceinline__ void weighted_sum_of_spread_columns(
    const SCALAR* x, const SCALAR* w, SCALAR* y, long long cols
) {
    constexpr int SUMS = 4;
    const int threads = blockDim.x, length = static_cast<int>(cols) - static_cast<int>(threadIdx.x);
    float weights[EACH], values[EACH], sum[SUMS] = {};
    x += blockIdx.x * cols + threadIdx.x;
    w += threadIdx.x;
#pragma unroll
    for (int e = 0; e < EACH; ++e) weights[e] = e * threads < length ? to_float(w[e * threads]) : 0.0f;
#pragma unroll
    for (int e = 0; e < EACH; ++e) values[e] = e * threads < length ? to_float(x[e * threads]) : 0.0f;
#pragma unroll
    for (int e = 0; e < EACH; ++e) sum[e % SUMS] = fmaf(values[e], weights[e], sum[e % SUMS]);
    const float total = block_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
    if (threadIdx.x == 0) from_float(total, y[blockIdx.x]);
}

#define SPREAD_KERNEL(EACH)                                                                                           \
    extern "C" __global__ void __launch_bounds__(256) weighted_sum_spread_##EACH(                                     \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long cols) {         \
        start_early();                                                                                                \
        weighted_sum_of_spread_columns<EACH>(x, w, y, cols);                                                          \
    }

SPREAD_KERNEL(8)
SPREAD_KERNEL(16)

COLUMNS_KERNEL(4, 1)
COLUMNS_KERNEL(4, 4)
COLUMNS_KERNEL(8, 1)
COLUMNS_KERNEL(8, 2)
COLUMNS_KERNEL(16, 2)
#endif

// ---- A few long rows ---------------------------------------------------------------------------

// Adds to each row's sum the products of PACKS packs of the row and of w, `step` elements apart.
template <int PACKS>
__device__ __forceinline__ void add_products(
    const SCALAR* const (&row)[ROWS], const SCALAR* w, long long first, long long step, float (&sum)[ROWS]
) {
    Pack values[PACKS][ROWS], weights[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        weights[p] = load_pack(w + first + p * step);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) values[p][r] = load_pack(row[r] + first + p * step);
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sum[r] = dot(values[p][r], weights[p], sum[r]);
    }
}

// Sums of pieces of `length` elements, the last one of a row shorter, of rows that start on 16 bytes, as w does.
// Block (q, p) has the p-th piece of the q-th ROWS rows; `piece` is (rows, pieces).
extern "C" __global__ void __launch_bounds__(256, 4) weighted_sum_rows_piece(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, float* __restrict__ piece, long long rows,
    long long cols, long long length
) {
    start_early();
    const long long first_row = static_cast<long long>(blockIdx.x) * ROWS, start = blockIdx.y * length;
    const long long end = start + length < cols ? start + length : cols, step = blockDim.x * PACK;
    const SCALAR* row[ROWS];  // the last one again in place of those past it
#pragma unroll
    for (int r = 0; r < ROWS; ++r) row[r] = x + (first_row + r < rows ? first_row + r : rows - 1) * cols;
    float sum[ROWS] = {};
    long long at = start + threadIdx.x * PACK;
    for (; at + (UNROLL - 1) * step < end; at += UNROLL * step) add_products<UNROLL>(row, w, at, step, sum);
    for (; at < end; at += step) add_products<1>(row, w, at, step, sum);

    __shared__ float of_warp[ROWS][WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float total = warp_sum(sum[r]);
        if (lane == 0) of_warp[r][warp] = total;
    }
    __syncthreads();
    if (warp >= ROWS || first_row + warp >= rows) return;  // a warp a row
    const float total = warp_sum(lane < blockDim.x / WARP ? of_warp[warp][lane] : 0.0f);
    if (lane == 0) piece[(first_row + warp) * gridDim.y + blockIdx.y] = total;
}

// The same of one row at any alignment.
extern "C" __global__ void weighted_sum_row_piece(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, float* __restrict__ piece, long long cols,
    long long length
) {
    start_early();
    const long long row = blockIdx.x, start = blockIdx.y * length, left = cols - start;
    const float sum = block_sum(
        partial_sum(x + row * cols + start, w + start, left < length ? left : length, threadIdx.x, blockDim.x)
    );
    if (threadIdx.x == 0) piece[row * gridDim.y + blockIdx.y] = sum;
}

// Adds the pieces of a row. They are written while this kernel runs: no __restrict__, which would promise that
// they are not.
extern "C" __global__ void weighted_sum_pieces(const float* piece, SCALAR* y, long long pieces) {
    start_early();
    piece += blockIdx.x * pieces;
    float sum = 0.0f;
    for (long long p = threadIdx.x; p < pieces; p += blockDim.x) sum += piece[p];
    sum = block_sum(sum);
    if (threadIdx.x == 0) from_float(sum, y[blockIdx.x]);
}

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900
// A cluster a row, which has all of it and of w under way at once.
#define CLUSTER_KERNEL(EACH, WIDTH)                                                                                   \
    extern "C" __global__ void __launch_bounds__(MOST_SUMMING_THREADS) weighted_sum_cluster_##EACH##_##WIDTH(         \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y, long long cols,           \
        long long part) {                                                                                             \
        sum_by_cluster<EACH, WIDTH, true>(x, w, y, cols, part);                                                       \
    }

CLUSTER_SUMS(CLUSTER_KERNEL)
#endif
