// What the gradients of the norms share: row groups, and sums over columns by fours of neighbours.
#pragma once

#include "shared/rows.cuh"

constexpr int MOST_THREADS = 512;  // as in norm_backward.py

__device__ __forceinline__ float4& four_at(float* first) { return *reinterpret_cast<float4*>(first); }

__device__ __forceinline__ void add_to(float4& sum, const float4& more) {
    sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
}

// The `warps` warps of a row group meet; barrier 0 is __syncthreads.
__device__ __forceinline__ void meet_row_group(int group, int warps) {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "r"(warps * WARP) : "memory");
}

// Row groups of a block that have met unequally often confuse racecheck of compute-sanitizer. So where it watches, one
// that had a row less meets once more.
__device__ __forceinline__ void meet_as_often(bool had_less, int group, int warps) {
#ifdef SANITIZED
    if (had_less && warps > 1) meet_row_group(group, warps);
#endif
}
