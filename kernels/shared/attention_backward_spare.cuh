// Warps of a block of attention's gradients on Hopper (sm_90a) that neither multiply nor copy.
//
// One has the parts of dq added to their sums in memory: threads that multiply would lose time to starting these adds. Two
// more prepare steps and finish sums while tiles are multiplied, which else takes the time of two passes over memory.
#pragma once

#include "shared/attention_backward_block.cuh"

// ---- The warp that has parts of dq added ---------------------------------------------------------

// Barriers of a warpgroup and this warp, of which one waits for the other, and the other goes on.
__device__ __forceinline__ int part_full(int warpgroup) { return 3 + warpgroup; }
__device__ __forceinline__ int part_empty(int warpgroup) { return 5 + warpgroup; }
__device__ __forceinline__ void wait_at(int barrier) { asm volatile("bar.sync %0, 160;" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void tell(int barrier) { asm volatile("bar.arrive %0, 160;" ::"r"(barrier) : "memory"); }

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
    for (int part = 0; part < CONSUMERS; ++part) tell(part_empty(part));
    for (unsigned full = 0;; full ^= 1) {
        wait_for(at.keys_full, full);
        const int head = at.next_tile[0], first = at.next_tile[3], end = at.next_tile[4];
        __syncwarp();
        if (head < 0) return;
        arrive(at.keys_empty);
        for (int step = first; step < end; ++step) {
            float* const to = sums + (static_cast<long long>(head) * steps + step) * CONSUMERS * PART;
#pragma unroll
            for (int part = 0; part < CONSUMERS; ++part) {
                wait_at(part_full(part));
                if (first_lane) add_run(to + part * PART, at.part(part), Block<DIM, PAIRS>::PART_BYTES);
            }
            if (first_lane) wait_for_reads<1>();
            __syncwarp();
            tell(part_empty(0));
            if (first_lane) wait_for_reads<0>();
            __syncwarp();
            tell(part_empty(1));
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
