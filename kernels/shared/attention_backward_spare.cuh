// Warps of a block of attention's gradients on Hopper (sm_90a) that neither multiply nor copy.
//
// One has the parts of dq added to their sums in memory: threads that multiply would lose time to starting these adds. Two
// more prepare steps and finish sums while tiles are multiplied, which else takes the time of two passes over memory.
#pragma once

#include "shared/attention_backward_block.cuh"

// ---- The warp that has parts of dq added ---------------------------------------------------------

// Barriers of this warp and the warpgroup that makes the step's part: one waits for the other, and the other goes on.
constexpr int PART_FULL = 3, PART_EMPTY = 4;
template <int THREADS = WARPGROUP + WARP>
__device__ __forceinline__ void wait_at(int barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}
template <int THREADS = WARPGROUP + WARP>
__device__ __forceinline__ void tell(int barrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}

__device__ __forceinline__ void add_run(float* to, const void* from, int bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(to), "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}

template <int DIM, bool PAIRS>
__device__ __forceinline__ void add_parts(
    const Block<DIM, PAIRS>& at, float* __restrict__ sums, const Progress& progress, int steps
) {
    const bool first_lane = threadIdx.x % WARP == 0;
    tell(PART_EMPTY);
    for (unsigned full = 0;; full ^= 1) {
        wait_for(at.keys_full, full);
        const int head = at.next_tile[0], first = at.next_tile[3], end = at.next_tile[4];
        __syncwarp();
        if (head < 0) return;
        arrive(at.keys_empty);
        for (int step = first; step < end; ++step) {
            wait_at(PART_FULL);
            if (first_lane) {
                add_run(sums + (static_cast<long long>(head) * steps + step) * PART, at.part(), PART * 4);
                wait_for_reads<0>();
            }
            __syncwarp();
            tell(PART_EMPTY);
        }
        if (first_lane && head < progress.finished) {
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // all are added
            publish_everywhere();
            count_up(progress.tiles_done(head));
        }
    }
}

// ---- Warps that prepare steps and finish sums meanwhile -------------------------------------------

__device__ __forceinline__ int take(int* count) {
    int taken = 0;
    if (threadIdx.x % WARP == 0) taken = atomicAdd(count, 1);
    return __shfl_sync(WHOLE_WARP, taken, 0);
}

template <int DIM>
__device__ __forceinline__ void prepare_others(
    const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,
    float* __restrict__ numbers, float* __restrict__ sums, const Progress& progress, int steps, int seq
) {
    constexpr int ROWS = WARP * PACK / DIM;  // at once
    while (true) {
        const int taken = take(progress.steps_taken());
        const int head = progress.prepared + taken / steps;
        if (head >= progress.heads) return;
        const int query = taken % steps * STEP<DIM> + threadIdx.x % WARP / (DIM / PACK);
#pragma unroll 1
        for (int i = 0; i < STEP<DIM>; i += ROWS) {
            prepare_row<DIM>(
                o, grad, lse, numbers, sums, made_anew(head), query + i, made_anew(steps) * STEP<DIM>, seq
            );
        }
        publish_everywhere();
        __syncwarp();
        if (threadIdx.x % WARP == 0) count_up(progress.steps_ready(head));
    }
}

template <int DIM>
__device__ __forceinline__ void finish_others(
    const float* __restrict__ sums, SCALAR* __restrict__ dq, const Progress& progress, int blocks, int steps, int seq
) {
    while (true) {
        const int taken = take(progress.sums_taken());
        const int head = taken / steps;
        if (head >= progress.finished) return;
        if (threadIdx.x % WARP == 0) wait_until(progress.tiles_done(head), blocks);
        __syncwarp();
#pragma unroll 1
        for (int i = 0; i < 8; ++i) {
            finish_rows<DIM>(sums, dq, made_anew(head), made_anew(taken) % steps, i / 4, i % 4, made_anew(steps), seq);
        }
    }
}
