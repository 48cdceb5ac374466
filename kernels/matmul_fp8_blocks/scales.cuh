// What tiles of scaled blocks share whose scales a warp of its own brings into shared memory: of a stage those of the
// tile's rows, then those of its blocks of B.
#pragma once

#define MULTIPLIES_FP8
#include "shared/wgmma_tiles.cuh"

constexpr int BLOCK = 128;  // of k and n, with one scale
constexpr int CONSUMERS = 2, BLOCK_M = CONSUMERS * 64;
constexpr int SCALES = BLOCK_M + 4;  // of a stage: rows of A, blocks of B

__device__ __forceinline__ void copy_float(float* to, const float* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
// This thread arrives when its copies so far are there.
__device__ __forceinline__ void arrive_behind_copies(Barrier* barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// By a warp: the scales of the rows of A from `row` on, of m. Rows beyond the last have its scale, and are not stored.
__device__ __forceinline__ void copy_scales_of_rows(float* to, const float* of_a, int row, long long m) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < BLOCK_M; i += WARP) {
        copy_float(to + i + lane, of_a + min(static_cast<long long>(row) + i + lane, m - 1));
    }
}
