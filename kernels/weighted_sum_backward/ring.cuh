// Sums of columns of many rows by blocks that stay: rows come through a ring in shared memory, from Hopper on.
//
// Rows that begin on no 16 bytes can be loaded only element by element, and what a thread has under way is then a quarter.
// Some rows together are one run of memory that does begin on 16 bytes. The copy engine (cp.async.bulk) brings such runs,
// as many ahead as shared memory holds: what is under way takes no register, and shared memory gives elements at any
// address. A thread has the same columns of every so-manyth row. Each block leaves its sums in a row of `partial`.
// cuda_phases.py chooses the sizes.
#pragma once

#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

constexpr int RING_THREADS = 512;  // that add, as in cuda_phases.py
constexpr int MOST_STAGES = 32;    // as in cuda_phases.py
constexpr int RUN = PACK;          // rows that are whole 16 bytes, whatever their length

#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000  // elsewhere nobody launches it
struct Ring {
    SCALAR* stages;  // of `height` rows and behind these their gradients
    Barrier *full, *empty;
    int height, cols, count;

    __device__ __forceinline__ int stage_elements() const { return height * (cols + 1); }
};

// The stages of a block one after the other, and where they are in the ring.
struct Turn {
    int slot = 0;
    unsigned phase = 0;

    __device__ __forceinline__ void next(int count) {
        if (++slot < count) return;
        slot = 0;
        phase ^= 1;
    }
};

// By one thread.
__device__ __forceinline__ void bring_rows(const Ring& ring, const SCALAR* dy, const SCALAR* x, int rows) {
    Turn turn;
    for (long long first = static_cast<long long>(blockIdx.x) * ring.height; first < rows;
         first += static_cast<long long>(gridDim.x) * ring.height, turn.next(ring.count)) {
        wait_for(ring.empty + turn.slot, turn.phase ^ 1);
        const int here = static_cast<int>(min(static_cast<long long>(ring.height), rows - first));
        SCALAR* const to = ring.stages + turn.slot * ring.stage_elements();
        arrive_and_expect(ring.full + turn.slot, here * (ring.cols + 1) * sizeof(SCALAR));
        copy_bytes(to, x + first * ring.cols, here * ring.cols * sizeof(SCALAR), ring.full + turn.slot);
        copy_bytes(to + ring.height * ring.cols, dy + first, here * sizeof(SCALAR), ring.full + turn.slot);
    }
}

// Columns `thread`, `thread` + `threads` and so on of rows `group`, `group` + `groups` and so on.
template <int EACH>
struct ColumnsOfRows {
    int thread, threads, group, groups;
    float sum[EACH];

    __device__ __forceinline__ int column(int e) const { return thread + e * threads; }

    __device__ __forceinline__ void add(SCALAR of_row, const SCALAR* row, int cols) {
        const float gradient = to_float(of_row);
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            if (column(e) < cols) sum[e] = fmaf(gradient, to_float(row[column(e)]), sum[e]);
        }
    }
};

__device__ __forceinline__ void meet_adding_threads() { asm volatile("bar.sync 1, %0;" ::"n"(RING_THREADS) : "memory"); }

template <int EACH>
__device__ __forceinline__ void sum_columns_by_ring(
    const SCALAR* dy, const SCALAR* x, float* partial, int rows, int cols, int threads, int height, int stages
) {
    extern __shared__ float4 shared[];
    __shared__ Barrier full[MOST_STAGES], empty[MOST_STAGES];
    const Ring ring = {reinterpret_cast<SCALAR*>(shared), full, empty, height, cols, stages};
    const int number = threadIdx.x, in_runs = rows / RUN * RUN;  // the last few are read from memory
    if (number < stages) {
        init_barrier(full + number, 1);
        init_barrier(empty + number, RING_THREADS / WARP * ARRIVALS_OF_WARP);
    }
    publish_barriers();
    __syncthreads();
    if (number >= RING_THREADS) {
        if (number == RING_THREADS) bring_rows(ring, dy, x, in_runs);
        return;
    }

    ColumnsOfRows<EACH> own = {number % threads, threads, number / threads, RING_THREADS / threads, {}};
    if (own.group >= own.groups) own.thread = cols;  // without columns
    if (blockIdx.x == gridDim.x - 1 && own.group == 0) {
        for (long long row = in_runs; row < rows; ++row) own.add(dy[row], x + row * cols, cols);
    }
    Turn turn;
    for (long long first = static_cast<long long>(blockIdx.x) * height; first < in_runs;
         first += static_cast<long long>(gridDim.x) * height, turn.next(stages)) {
        const int here = static_cast<int>(min(static_cast<long long>(height), in_runs - first));
        const SCALAR* const from = ring.stages + turn.slot * ring.stage_elements();
        wait_for(full + turn.slot, turn.phase);
#pragma unroll 4
        for (int row = own.group; row < here; row += own.groups)
            own.add(from[height * cols + row], from + row * cols, cols);
        __syncwarp();
        if (arrives_for_warp(number % WARP)) arrive(empty + turn.slot);
    }

    // Nobody reads the ring any more: the groups' sums take its place, and are added up in their order.
    meet_adding_threads();
    float* const sums = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        if (own.column(e) < cols) sums[own.group * cols + own.column(e)] = own.sum[e];
    }
    meet_adding_threads();
    partial += static_cast<long long>(blockIdx.x) * cols;
    for (int col = number; col < cols; col += RING_THREADS) {
        float total = sums[col];
        for (int group = 1; group < own.groups; ++group) total += sums[group * cols + col];
        partial[col] = total;
    }
}
#endif

#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
#define RING_BODY(EACH)                                                                                       \
    sum_columns_by_ring<EACH>(dy, x, partial, static_cast<int>(rows), static_cast<int>(cols),                 \
                              static_cast<int>(threads), static_cast<int>(height), static_cast<int>(stages));
#else
#define RING_BODY(EACH)
#endif

#define RING_KERNEL(EACH)                                                                                     \
    extern "C" __global__ void __launch_bounds__(RING_THREADS + WARP) weighted_sum_column_ring_##EACH(        \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, float* __restrict__ partial, long long rows, \
        long long cols, long long threads, long long height, long long stages) {                              \
        wait_for_previous();                                                                                  \
        let_next_start();                                                                                     \
        RING_BODY(EACH)                                                                                       \
    }
