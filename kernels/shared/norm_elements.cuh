// Gradients of the norms of many rows of some hundred columns that begin anywhere: a warp a row, element by element.
//
// Packs of such rows lie partly in their neighbours, have to be masked, and are stored by single elements at both ends; a
// power of two of lanes has many of them empty. Here a lane has every 32nd column, and nothing is masked but the last one.
// It keeps the scales of its columns and their sums over rows; the blocks stay, with UNROLL rows of a warp under way at
// once. Each block leaves its sums over rows in `partial`.
#pragma once

#include "shared/norm_terms.cuh"
#include "shared/overlap.cuh"

constexpr int ELEMENTS_THREADS = 256;  // as in norm_lanes.py

// The block's sums over rows, of its warps in their order.
template <int EACH>
__device__ __forceinline__ void store_column_sums(const float (&own)[EACH], int cols, float* to) {
    constexpr int WARPS = ELEMENTS_THREADS / WARP;
    __shared__ float of_warps[WARPS][EACH * WARP];
    __syncthreads();  // the sums before have been read
#pragma unroll
    for (int e = 0; e < EACH; ++e) of_warps[threadIdx.x / WARP][threadIdx.x % WARP + e * WARP] = own[e];
    __syncthreads();
    for (int col = threadIdx.x; col < cols; col += ELEMENTS_THREADS) {
        float sum = 0.0f;
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) sum += of_warps[warp][col];
        to[col] = sum;
    }
}

// EACH elements of a lane.
template <bool CENTRED, int EACH>
__device__ __forceinline__ void elements_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, SCALAR* dx,
    float* partial, long long rows, int cols
) {
    constexpr int UNROLL = EACH <= 3 ? 4 : 2, WARPS = ELEMENTS_THREADS / WARP;
    start_early();
    const int lane = threadIdx.x % WARP, left = cols - lane;
    const float one_of_cols = 1.0f / cols;
    float weights[EACH], of_dw[EACH] = {}, of_db[EACH] = {};
#pragma unroll
    for (int e = 0; e < EACH; ++e) weights[e] = e * WARP < left ? to_float(w[lane + e * WARP]) : 0.0f;
    const long long step = static_cast<long long>(gridDim.x) * WARPS;
    long long row = static_cast<long long>(blockIdx.x) * WARPS + threadIdx.x / WARP;
    for (; row < rows; row += UNROLL * step) {
        float gradients[UNROLL][EACH], values[UNROLL][EACH], mean[UNROLL], rstd[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const bool is_row = row + u * step < rows;
            const long long at = (row + u * step) * cols + lane;
            mean[u] = CENTRED && is_row ? means[row + u * step] : 0.0f;
            rstd[u] = is_row ? rstds[row + u * step] : 0.0f;
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                const bool has = is_row && e * WARP < left;
                gradients[u][e] = has ? to_float(dy[at + e * WARP]) : 0.0f;
                values[u][e] = has ? to_float(x[at + e * WARP]) : 0.0f;
            }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const Normal<CENTRED> normal(mean[u], rstd[u]);
            float2 total = {0.0f, 0.0f};
            // Past the row x is 0 and h is not: dy, which is 0 too, keeps it out of all sums.
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                const float h = normal(values[u][e]), g = gradients[u][e] * weights[e];
                of_dw[e] = fmaf(gradients[u][e], h, of_dw[e]);
                if (CENTRED) of_db[e] += gradients[u][e];
                if (CENTRED) total.x += g;
                total.y = fmaf(g, h, total.y);
            }
            if (CENTRED) total.x = warp_sum(total.x);
            total.y = warp_sum(total.y);
            const RowGradient<CENTRED> how(rstd[u], total, one_of_cols);
            SCALAR* const to = dx + (row + u * step) * cols + lane;
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                const float result = how.of(normal(values[u][e]), gradients[u][e] * weights[e]);
                if (row + u * step < rows && e * WARP < left) from_float(result, to[e * WARP]);
            }
        }
    }
    float* const to_dw = partial + static_cast<long long>(blockIdx.x) * cols;
    store_column_sums<EACH>(of_dw, cols, to_dw);
    if (CENTRED) store_column_sums<EACH>(of_db, cols, to_dw + static_cast<long long>(gridDim.x) * cols);
}

// Elements of a lane, and blocks of a multiprocessor, as norm_lanes.py has them.
#define ELEMENTS_KERNELS   \
    ELEMENTS_KERNEL(3, 3)  \
    ELEMENTS_KERNEL(4, 3)  \
    ELEMENTS_KERNEL(5, 3)  \
    ELEMENTS_KERNEL(6, 3)  \
    ELEMENTS_KERNEL(7, 2)  \
    ELEMENTS_KERNEL(8, 2)  \
    ELEMENTS_KERNEL(10, 2)
