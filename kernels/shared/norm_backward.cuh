// What the gradients of the norms share: teams of threads, and sums over columns by fours of neighbours.
#pragma once

#include "shared/rows.cuh"

constexpr int MOST_THREADS = 512;  // as in norm_backward.py

__device__ __forceinline__ float4 plus(const float4& sum, float x, float y, float z, float w) {
    return {sum.x + x, sum.y + y, sum.z + z, sum.w + w};
}

__device__ __forceinline__ float element(const float4& four, int i) { return reinterpret_cast<const float*>(&four)[i]; }
