// What the gradients of the norms share: row groups, and sums over columns by fours of neighbours.
#pragma once

#include "shared/rows.cuh"

constexpr int MOST_THREADS = 512;  // as in norm_backward.py

__device__ __forceinline__ float4& four_at(float* first) { return *reinterpret_cast<float4*>(first); }

__device__ __forceinline__ void add_to(float4& sum, const float4& more) {
    sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
}
