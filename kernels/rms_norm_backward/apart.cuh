// Gradient of RMS norm of few short rows: rows and columns by blocks of their own, side by side in one kernel.
//
// With the rows' statistics given, the sums over rows need nothing of the gradient of x: a block has 32 columns of all rows,
// another a row, and neither waits for any other. What both read comes from memory once and from L2 once, which is
// less than a second kernel takes.
#pragma once

#include "shared/overlap.cuh"
#include "shared/rows.cuh"

constexpr int APART_THREADS = 512;                 // as in cuda_lanes.py
constexpr int APART_WARPS = APART_THREADS / WARP;  // of a block: each has every so-manyth row
constexpr int APART_ROWS = 8;                      // of a thread at once, as many as it has of the most there are

// Loads lie at columns and rows that are there, so that none is behind a branch: all are under way at once.
template <int EACH>
__device__ __forceinline__ void gradient_of_row(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, float rstd, SCALAR* dx, int cols
) {
    __shared__ float of_warps[APART_WARPS];
    float g[EACH], h[EACH], weight[EACH], total = 0.0f;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const int col = min(static_cast<int>(threadIdx.x) + i * APART_THREADS, cols - 1);
        g[i] = to_float(dy[col]);
        h[i] = to_float(x[col]);
        weight[i] = to_float(w[col]);
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        g[i] *= weight[i];
        h[i] *= rstd;
        if (threadIdx.x + i * APART_THREADS < cols) total = fmaf(g[i], h[i], total);
    }
    total = warp_sum(total);
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = total;
    __syncthreads();
    total = 0.0f;
#pragma unroll
    for (int warp = 0; warp < APART_WARPS; ++warp) total += of_warps[warp];
    const float slope = total / static_cast<float>(cols);
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const int col = threadIdx.x + i * APART_THREADS;
        if (col < cols) from_float(rstd * (g[i] - h[i] * slope), dx[col]);
    }
}

// Volatile, as the compiler would put off loads until registers are free, and memory would be waited for twice.
__device__ __forceinline__ SCALAR load_now(const SCALAR* address) {
#ifdef SCALAR_IS_FLOAT32
    float value;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(address));
    return value;
#else
    unsigned short bits;
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(bits) : "l"(address));
    return reinterpret_cast<const SCALAR&>(bits);
#endif
}

// The sum over rows of a column for each lane.
__device__ __forceinline__ void gradient_of_columns(
    const SCALAR* dy, const SCALAR* x, const float* rstd, SCALAR* dw, int panel, int rows, int cols
) {
    __shared__ float of_warps[APART_WARPS][WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, col = panel * WARP + lane;
    const int at = min(col, cols - 1);
    float sum = 0.0f;
    for (int first = warp; first < rows; first += APART_ROWS * APART_WARPS) {
        SCALAR of_dy[APART_ROWS], of_x[APART_ROWS];
        float scale[APART_ROWS];
#pragma unroll
        for (int u = 0; u < APART_ROWS; ++u) {
            const int row = min(first + u * APART_WARPS, rows - 1);
            scale[u] = rstd[row];
            of_dy[u] = load_now(dy + row * cols + at);
            of_x[u] = load_now(x + row * cols + at);
        }
        if (unknown_zero()) return;  // nothing is moved over it
#pragma unroll
        for (int u = 0; u < APART_ROWS; ++u) {
            if (first + u * APART_WARPS < rows) sum = fmaf(to_float(of_dy[u]), to_float(of_x[u]) * scale[u], sum);
        }
    }
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || col >= cols) return;
#pragma unroll
    for (int other = 1; other < APART_WARPS; ++other) sum += of_warps[other][lane];
    from_float(sum, dw[col]);
}

// The blocks of columns come first: they take longer.
template <int EACH>
__device__ __forceinline__ void gradients_apart(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* rstd, SCALAR* dx, SCALAR* dw, int rows, int cols
) {
    start_early();
    const int panels = (cols + WARP - 1) / WARP, row = static_cast<int>(blockIdx.x) - panels;
    if (row < 0) return gradient_of_columns(dy, x, rstd, dw, blockIdx.x, rows, cols);
    gradient_of_row<EACH>(dy + row * cols, x + row * cols, w, rstd[row], dx + row * cols, cols);
}
