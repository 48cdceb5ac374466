// Sums of what the blocks of a cluster have at the same place of their shared memory.
#pragma once

#include "shared/hopper.cuh"

// Of all blocks of a cluster, MOST at most, the sum of what lies at `here`, in the order of their ranks.
template <int MOST = 8>
__device__ __forceinline__ float sum_over_cluster(const float* here, int blocks) {
    float parts[MOST];
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        parts[i] = 0.0f;
        if (i < blocks) {
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(parts[i]) : "r"(address_in(i, here)) : "memory");
        }
    }
    float sum = parts[0];
#pragma unroll
    for (int i = 1; i < MOST; ++i) sum += parts[i];
    return sum;
}
