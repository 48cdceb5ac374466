// Running sums of rows of up to some thousand columns, each by a block of as many warps as hold it: all of it is under way at
// once.
//
// Packs begin on 16 bytes wherever the row does, so that the first and the last one lie only partly in it: these go element by
// element. The scans of a lane's packs go side by side, and none of them waits for another one.
#pragma once

#include "cumsum/tile.cuh"

constexpr int MOST_HELD_WARPS = 16;  // as in cuda_lookback.py

// The totals of the warps before this one. Once in a kernel.
__device__ __forceinline__ float before_warp(float total) {
    __shared__ float of_warps[MOST_HELD_WARPS];
    const int warp = threadIdx.x / WARP;
    if (threadIdx.x % WARP == 0) of_warps[warp] = total;
    __syncthreads();
    float before = 0.0f;
    for (int other = 0; other < warp; ++other) before += of_warps[other];
    return before;
}

template <int PACKS>
__device__ __forceinline__ void cumsum_of_held(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    constexpr int STEP = WARP * PACK;  // elements from one pack of a lane to its next
    const Grid grid(x, blockIdx.x, rows, cols);
    const int lane = threadIdx.x % WARP, length = static_cast<int>(cols);
    const int first = (threadIdx.x / WARP * (WARP * PACKS) + lane) * PACK - grid.skew;
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;
    const auto is_whole = [&](int at) { return at >= 0 && at + PACK <= length; };
    const auto has = [&](int at) { return at >= 0 && at < length; };

    float values[PACKS][PACK], sums[PACKS], totals[PACKS], total = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int at = first + p * STEP;
        if (is_whole(at)) {
            unpack(__ldg(reinterpret_cast<const Bits*>(x + at)), values[p]);
        } else {
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[p][i] = has(at + i) ? to_float(x[at + i]) : 0.0f;
        }
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
#pragma unroll
        for (int i = 1; i < PACK; ++i) values[p][i] += values[p][i - 1];
        sums[p] = values[p][PACK - 1];
    }
#pragma unroll
    for (int offset = 1; offset < WARP; offset *= 2) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const float before = __shfl_up_sync(WHOLE_WARP, sums[p], offset);
            if (lane >= offset) sums[p] += before;
        }
    }
#pragma unroll
    for (int p = 0; p < PACKS; ++p) total += totals[p] = __shfl_sync(WHOLE_WARP, sums[p], WARP - 1);
    float before = before_warp(total);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int at = first + p * STEP;
        const float neighbours = __shfl_up_sync(WHOLE_WARP, sums[p], 1), base = lane ? before + neighbours : before;
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[p][i] += base;
        const Pack result = to_pack(values[p]);
        if (is_whole(at)) {
            store_pack(y + at, result);
        } else {
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                if (has(at + i)) y[at + i] = result.element[i];
            }
        }
        before += totals[p];
    }
}
