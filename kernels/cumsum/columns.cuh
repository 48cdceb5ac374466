// Running sums of some rows of some hundred columns, element by element: nothing is to be aligned, and all is under way at once.
//
// Packs of rows that begin anywhere lie partly in their neighbours, and what becomes of them takes longer than the few rows
// do. A lane has every 32nd element of its warp's, so that accesses are coalesced; the warp scans as many side by side as a
// lane has, and none of these scans waits for another one.
#pragma once

#include "cumsum/tile.cuh"

// By WARPS of a row, EACH elements a lane; a warp alone shares its block with others.
template <int WARPS, int EACH>
__device__ __forceinline__ void cumsum_by_columns(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    const int lane = threadIdx.x % WARP, warp = WARPS > 1 ? threadIdx.x / WARP : 0, first = warp * (WARP * EACH) + lane;
    const long long row = WARPS > 1 ? blockIdx.x : thread_of_grid() / WARP;
    const int left = row < rows ? static_cast<int>(cols) - first : 0;
    x += row * cols + first;
    y += row * cols + first;
    float values[EACH], sums[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) values[e] = e * WARP < left ? to_float(x[e * WARP]) : 0.0f;
#pragma unroll
    for (int offset = 1; offset < WARP; offset *= 2) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const float before = __shfl_up_sync(WHOLE_WARP, values[e], offset);
            if (lane >= offset) values[e] += before;
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) sums[e] = __shfl_sync(WHOLE_WARP, values[e], WARP - 1);
    float before = 0.0f;
    if constexpr (WARPS > 1) {
        __shared__ float of_warps[WARPS];
        float total = 0.0f;
#pragma unroll
        for (int e = 0; e < EACH; ++e) total += sums[e];
        if (lane == 0) of_warps[warp] = total;
        __syncthreads();
#pragma unroll
        for (int w = 0; w + 1 < WARPS; ++w) before += w < warp ? of_warps[w] : 0.0f;
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        if (e * WARP < left) from_float(values[e] + before, y[e * WARP]);
        before += sums[e];
    }
}
