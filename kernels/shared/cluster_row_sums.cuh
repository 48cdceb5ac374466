// Sums of few long float32 rows, weighted or not, in one kernel: a cluster has a row, all of it under way at once.
//
// Each block adds up its part of the row and sends the sum to the first block, where they count on a barrier. It adds
// them in the order of the ranks: the result is the same at every call.
// Idea: pieces and a second kernel that adds them (row_sum/cuda_pieces.cu) wait for memory three times, for the row, for
// the sums to be written and for them to be read; here a row is waited for once, and a message takes less than a launch.
#pragma once

#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

constexpr int MOST_SUMMING_BLOCKS = 16;    // of a cluster
constexpr int MOST_SUMMING_THREADS = 512;  // as in cluster_row_sums.py

// Loads that the compiler does not put off. Others it asks for in turns with the additions, to spare registers, and a
// thread then waits for memory more than once.
template <int WIDTH>
__device__ __forceinline__ void load_now(const float* from, float (&to)[WIDTH]) {
    static_assert(WIDTH == 1 || WIDTH == 2 || WIDTH == 4);
    if constexpr (WIDTH == 4) {
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                     : "l"(from)
                     : "memory");
    } else if constexpr (WIDTH == 2) {
        asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(to[0]), "=f"(to[1]) : "l"(from) : "memory");
    } else {
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(to[0]) : "l"(from) : "memory");
    }
}

// Zero, known only when it has been read: sums that begin with it are added up behind all loads.
__device__ __forceinline__ float late_zero() {
    __shared__ volatile float zero;
    if (threadIdx.x == 0) zero = 0.0f;
    __syncthreads();
    return zero;
}

// This thread's share of `count` accesses of WIDTH elements, of which it has EACH, as far apart as there are threads.
template <int EACH, int WIDTH, bool WEIGHTED>
__device__ __forceinline__ float sum_of_share(const float* x, const float* w, int count) {
    constexpr int SUMS = 4;
    const int threads = blockDim.x, left = count - static_cast<int>(threadIdx.x);
    float values[EACH][WIDTH], weights[WEIGHTED ? EACH : 1][WIDTH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        // Past the end the first ones again, as a load under a condition would be waited for on its own.
        const int at = e * threads < left ? (static_cast<int>(threadIdx.x) + e * threads) * WIDTH : 0;
        load_now<WIDTH>(x + at, values[e]);
        if constexpr (WEIGHTED) load_now<WIDTH>(w + at, weights[e]);
    }
    const float zero = late_zero();
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        if (e * threads < left) continue;
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            values[e][i] = 0.0f;
            if constexpr (WEIGHTED) weights[e][i] = 0.0f;
        }
    }
    float sums[SUMS] = {zero, zero, zero, zero};
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            float& sum = sums[(e * WIDTH + i) % SUMS];
            if constexpr (WEIGHTED) sum = fmaf(values[e][i], weights[e][i], sum);
            else sum += values[e][i];
        }
    }
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

// Rows begin on WIDTH elements, as w does, and parts of `part` elements too; the threads of a block have EACH accesses of
// one or more. Block (b, r) has the b-th part of row r.
template <int EACH, int WIDTH, bool WEIGHTED>
__device__ __forceinline__ void sum_by_cluster(
    const float* x, const float* w, float* y, long long cols, long long part
) {
    __shared__ Barrier arrived;
    __shared__ float of_block[MOST_SUMMING_BLOCKS];
    const int blocks = blocks_of_cluster(), rank = static_cast<int>(rank_in_cluster());
    const bool is_first = rank == 0 && threadIdx.x == 0;
    if (is_first) {
        init_barrier(&arrived, 1);
        publish_barriers();
    }
    __syncwarp();  // a warp arrives as one
    arrive_at_cluster();
    if (is_first) arrive_and_expect(&arrived, blocks * static_cast<int>(sizeof(float)));
    start_early();

    const long long start = blockIdx.y * cols;
    const int all = static_cast<int>(cols), first = min(rank * static_cast<int>(part), all);
    const int count = min(static_cast<int>(part), all - first) / WIDTH;
    // A block without a part loads the row's first elements, and adds none of them.
    const int from = count ? first : 0;
    const float sum = block_sum(sum_of_share<EACH, WIDTH, WEIGHTED>(x + start + from, w + from, count));

    wait_for_cluster();
    if (threadIdx.x == 0) send_to(address_in(0, of_block + rank), __float_as_uint(sum), address_in(0, &arrived));
    if (rank > 0 || threadIdx.x >= WARP) return;
    wait_for(&arrived, 0);
    const float whole = warp_sum(threadIdx.x < blocks ? of_block[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) y[blockIdx.y] = whole;
}

// KERNEL(EACH, WIDTH) for all that cluster_row_sums.py chooses.
#define CLUSTER_SUMS(KERNEL) KERNEL(8, 1) KERNEL(4, 2) KERNEL(8, 2) KERNEL(4, 4)
