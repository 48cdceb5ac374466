// Gradients of the weighted sum of rows in two phases, one that reads and one that writes.
//
// Formula: dx[r, d] = dy[r] w[d], dw[d] = sum_r dy[r] x[r, d]; 3 rows cols FLOP, 2 rows cols s bytes and
// little more.
// Mapping: a block owns some rows of a panel of columns, a pack of 16 bytes a thread, so
//   that its columns stay a thread's own all the way down. The first kernel reads x and leaves sums of
//   columns over chunks of rows. The second writes dx; its first blocks add the chunks up to dw, in the same
//   order at every call. Of few rows a thread has its columns of all of them, and one kernel does both: a pack of
//   long rows, a single column of shorter float32, where packs would leave most of the GPU without threads.
//   Many rows of float32 come through rings on Hopper (ring.cuh), and little of it that begins on no 16 bytes,
//   or long rows of it, go a column a thread. Such rows are written as one run of memory (flat.cuh), of any type.
// Idea: cuda_naive has a thread for all rows of a column, and so too few threads. dx needs nothing of x. Memory that is
//   only read and then only written never turns round between the two, and moves more than where both mix. Column sums
//   in two stages as in the norms' gradients.
#include "shared/overlap.cuh"
#include "shared/rows.cuh"
#include "shared/shifted.cuh"
#include "weighted_sum_backward/flat.cuh"
#include "weighted_sum_backward/ring.cuh"

constexpr int THREADS = 256;  // as in cuda_phases.py
constexpr int UNROLL = 4;

// The position of a block's threads: `across` of them, a power of two, side by side on a row, the others on the
// rows below.
template <bool PACKED>
struct Position {
    long long part;       // number of the block in its panel, from the top
    long long start;      // first column of the panel
    int down, steps;      // row of this thread among those of the block, and their number
    Share<PACKED> share;  // of a row of the panel

    __device__ __forceinline__ Position(long long block, int across, long long cols) {
        const long long width = static_cast<long long>(across) * PACK, panels = (cols + width - 1) / width;
        part = block / panels;
        start = block % panels * width;
        down = threadIdx.x / across;
        steps = THREADS / across;
        const long long left = cols - start;
        share = {static_cast<int>(threadIdx.x) % across, across, static_cast<int>(left < width ? left : width)};
    }
};

__device__ __forceinline__ void add_scaled(float (&sum)[PACK], float scale, const Bits& bits) {
    float values[PACK];
    unpack(bits, values);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum[i] = fmaf(scale, values[i], sum[i]);
}

// Sums over the block's rows, into a row of `partial`; by way of `sums`, shared memory for all its threads'
// sums.
template <bool PACKED>
__device__ __forceinline__ void sum_columns(
    const SCALAR* dy, const SCALAR* x, float* partial, float* sums, long long rows, long long cols, int across,
    long long height
) {
    const Position<PACKED> position(blockIdx.x, across, cols);
    const long long first = position.part * height, last = first + height < rows ? first + height : rows;
    x += position.start;
    float sum[PACK] = {};
    long long row = first + position.down;
    for (; row + (UNROLL - 1) * position.steps < last; row += UNROLL * position.steps) {
        Bits packs[UNROLL];
        float scale[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            packs[u] = position.share.load(x + (row + u * position.steps) * cols, 0);
            scale[u] = to_float(dy[row + u * position.steps]);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) add_scaled(sum, scale[u], packs[u]);
    }
    for (; row < last; row += position.steps) {
        add_scaled(sum, to_float(dy[row]), position.share.load(x + row * cols, 0));
    }

    // Each sum is put where its column is, under those of the rows above.
    const int width = across * PACK;
#pragma unroll
    for (int i = 0; i < PACK; ++i) sums[position.down * width + position.share.column(0, i)] = sum[i];
    __syncthreads();
    partial += position.part * cols + position.start;
    for (int col = threadIdx.x; col < position.share.cols; col += THREADS) {
        float total = sums[col];
        for (int down = 1; down < position.steps; ++down) total += sums[down * width + col];
        partial[col] = total;
    }
}

// dw of THREADS / groups columns: each group of threads of the block adds every so-manyth part.
__device__ __forceinline__ void total_of_parts(
    const float* partial, long long parts, long long cols, SCALAR* dw, int groups
) {
    __shared__ float sums[THREADS];
    const int width = THREADS / groups, lane = static_cast<int>(threadIdx.x) % width;
    const int group = static_cast<int>(threadIdx.x) / width;
    const long long col = static_cast<long long>(blockIdx.x) * width + lane;
    float sum = 0.0f;
    if (col < cols) {
#pragma unroll 8
        for (long long part = group; part < parts; part += groups) sum += partial[part * cols + col];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (group != 0 || col >= cols) return;
#pragma unroll 1
    for (int other = 1; other < groups; ++other) sum += sums[other * width + lane];
    from_float(sum, dw[col]);
}

// The same for little work in rows that begin on no 16 bytes: a column a thread, BESIDE rows of it under way. The threads
// of a block, `width` on a row, are side by side in memory where these are all columns.
constexpr int BESIDE = 8;  // as in cuda_phases.py

extern "C" __global__ void __launch_bounds__(THREADS, 5) weighted_sum_single_columns(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, float* __restrict__ partial, long long rows,
    long long cols, long long width, long long height
) {
    wait_for_previous();
    let_next_start();
    __shared__ float sums[THREADS];
    const int across = static_cast<int>(width), panels = static_cast<int>((cols + across - 1) / across);
    const int down = static_cast<int>(threadIdx.x) / across, steps = THREADS / across;
    const long long part = blockIdx.x / panels, first = part * height + down;
    const long long col = static_cast<long long>(blockIdx.x % panels) * across + threadIdx.x % across;
    const bool has = down < steps && col < cols;
    const int count =
        has ? static_cast<int>((rows - part * height < height ? rows - part * height : height)) - down : 0;
    const long long apart = steps * cols;
    x += first * cols + col;
    dy += first;
    float sum = 0.0f;
    for (int row = 0; row < count; row += BESIDE * steps, x += BESIDE * apart, dy += BESIDE * steps) {
        float values[BESIDE], scale[BESIDE];
#pragma unroll
        for (int b = 0; b < BESIDE; ++b) {
            const bool is = row + b * steps < count;
            values[b] = is ? to_float(x[b * apart]) : 0.0f;
            scale[b] = is ? to_float(dy[b * steps]) : 0.0f;
        }
#pragma unroll
        for (int b = 0; b < BESIDE; ++b) sum = fmaf(scale[b], values[b], sum);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (down > 0 || !has) return;
#pragma unroll 8
    for (int other = 1; other < steps; ++other) sum += sums[other * across + threadIdx.x];
    partial[part * cols + col] = sum;
}

template <bool PACKED>
__device__ __forceinline__ void write_outer(
    const SCALAR* dy, const SCALAR* w, SCALAR* dx, long long block, long long rows, long long cols, int across,
    long long height
) {
    const Position<PACKED> position(block, across, cols);
    const long long first = position.part * height, last = first + height < rows ? first + height : rows;
    float weights[PACK];
    unpack(position.share.load(w + position.start, 0), weights);
#pragma unroll 2
    for (long long row = first + position.down; row < last; row += position.steps) {
        const float gradient = to_float(dy[row]);
        float values[PACK];
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] = gradient * weights[i];
        position.share.store(dx + row * cols + position.start, 0, values);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) weighted_sum_column_parts(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, float* __restrict__ partial, long long rows,
    long long cols, long long across, long long height
) {
    wait_for_previous();
    let_next_start();  // only now, as blocks of the next one that write dx do not wait
    __shared__ float sums[THREADS * PACK];
    if (are_packed(cols, x)) {
        sum_columns<true>(dy, x, partial, sums, rows, cols, across, height);
    } else {
        sum_columns<false>(dy, x, partial, sums, rows, cols, across, height);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) weighted_sum_outer(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ w, const float* partial, SCALAR* __restrict__ dx,
    SCALAR* __restrict__ dw, long long parts, long long rows, long long cols, long long across, long long height,
    long long groups
) {
    let_next_start();
    const int of_block = THREADS / static_cast<int>(groups);  // columns of dw
    const long long block = blockIdx.x - (cols + of_block - 1) / of_block;
    if (block < 0) {
        wait_for_previous();
        total_of_parts(partial, parts, cols, dw, static_cast<int>(groups));
    } else if (are_packed(cols, w, dx)) {
        write_outer<true>(dy, w, dx, block, rows, cols, across, height);
    } else {
        write_outer<false>(dy, w, dx, block, rows, cols, across, height);
    }
}

RING_KERNEL(2)
RING_KERNEL(4)
RING_KERNEL(8)

#define FLAT_KERNEL(PACKS)                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS) weighted_sum_outer_flat_##PACKS(                  \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ w, const float* partial,                  \
        SCALAR* __restrict__ dx, SCALAR* __restrict__ dw, long long parts, long long rows, long long cols,  \
        long long reciprocal, long long groups) {                                                           \
        let_next_start();                                                                                   \
        const int of_block = THREADS / static_cast<int>(groups);                                            \
        const long long block = blockIdx.x - (cols + of_block - 1) / of_block;                              \
        if (block < 0) {                                                                                    \
            wait_for_previous();                                                                            \
            total_of_parts(partial, parts, cols, dw, static_cast<int>(groups));                             \
        } else {                                                                                            \
            write_flat<PACKS>(dy, w, dx, block, rows, cols, reciprocal);                                    \
        }                                                                                                   \
    }

FLAT_KERNEL(2)
FLAT_KERNEL(4)

// ---- Few long rows ------------------------------------------------------------------------------

// A pack of columns a thread, of every row.
template <bool SHIFTED>
__device__ __forceinline__ void columns_of_few_rows(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, SCALAR* dx, SCALAR* dw, long long rows, long long cols
) {
    const Columns<SHIFTED> own(thread_of_grid() * PACK, cols);
    float weights[PACK], sum[PACK] = {};
    unpack(own.load(w), weights);
    for (long long first = 0; first < rows; first += UNROLL) {
        Bits packs[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            if (first + u < rows) packs[u] = own.load(x + (first + u) * cols);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            if (first + u >= rows) break;
            const float gradient = to_float(dy[first + u]);
            float values[PACK];
            add_scaled(sum, gradient, packs[u]);
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[i] = gradient * weights[i];
            own.store(dx + (first + u) * cols, pack_bits(values));
        }
    }
    own.store(dw, pack_bits(sum));
}

#define FEW_ROWS_KERNEL(NAME, SHIFTED)                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS) weighted_sum_few_rows_##NAME(                     \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,          \
        SCALAR* __restrict__ dx, SCALAR* __restrict__ dw, long long rows, long long cols) {                 \
        start_early();                                                                                      \
        columns_of_few_rows<SHIFTED>(dy, x, w, dx, dw, rows, cols);                                         \
    }

FEW_ROWS_KERNEL(packed, false)
FEW_ROWS_KERNEL(shifted, true)

#ifdef SCALAR_IS_FLOAT32
// A column a thread: nothing is to be aligned, and threads are many where columns are too few for packs.
extern "C" __global__ void __launch_bounds__(128) weighted_sum_few_rows_column(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ dx,
    SCALAR* __restrict__ dw, long long rows, long long cols
) {
    constexpr int TOGETHER = 8;  // rows; of more, predicates would overflow into memory
    start_early();
    const long long col = thread_of_grid();
    if (col >= cols) return;
    const int count = static_cast<int>(rows);
    const float weight = w[col];
    float sum = 0.0f;
    x += col;
    dx += col;
    for (int row = 0; row < count; row += TOGETHER, x += TOGETHER * cols, dx += TOGETHER * cols) {
        float values[TOGETHER], gradients[TOGETHER];
#pragma unroll
        for (int u = 0; u < TOGETHER; ++u) {
            values[u] = row + u < count ? x[u * cols] : 0.0f;
            gradients[u] = row + u < count ? dy[row + u] : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < TOGETHER; ++u) {
            if (row + u < count) {
                dx[u * cols] = gradients[u] * weight;
                sum = fmaf(gradients[u], values[u], sum);
            }
        }
    }
    dw[col] = sum;
}
#endif
