// Gradients of the norms of rows that begin anywhere and are longer than a warp has packs for: two to sixteen warps a row.
//
// As in norm_lanes.cuh, every PACK-th row begins alike: a block has only such rows, so that a thread's pack of each is a
// whole word at the same columns, and what the word has of other rows is masked. A block has a few row groups, and stays
// while they walk along the rows; the next UNROLL rows of each are under way while these are reduced. Each block leaves
// its sums over rows in `partial`.
#pragma once

#include "shared/norm_lanes.cuh"

constexpr int SKEWED_THREADS = 256;  // as in norm_lanes.py; or those of a row group

// What a thread has of UNROLL rows.
template <bool CENTRED, int UNROLL>
struct SkewedRows {
    Bits dy[UNROLL], x[UNROLL];
    float mean[UNROLL], rstd[UNROLL];

    template <int GROUP>
    __device__ __forceinline__ void load(
        const LanePack<GROUP, true>& own, const SCALAR* all_dy, const SCALAR* all_x, const float* means,
        const float* rstds, long long row, long long step, long long rows, int cols
    ) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u, row += step) {
            dy[u] = x[u] = {};
            mean[u] = rstd[u] = 0.0f;
            if (row >= rows) continue;
            dy[u] = own.load(all_dy + row * cols, all_dy + rows * cols);
            x[u] = own.load(all_x + row * cols, all_x + rows * cols);
            rstd[u] = rstds[row];
            if (CENTRED) mean[u] = means[row];
        }
    }
};

// Sums of a row group of several warps, of COUNT rows at once. One barrier: successive calls alternate between two slots.
template <int GROUP, int THREADS, int COUNT>
__device__ __forceinline__ void over_group(float2 (&totals)[COUNT], int turn) {
    constexpr int WARPS = GROUP / WARP;
    __shared__ float2 of_warps[2][COUNT][THREADS / WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, group = threadIdx.x / GROUP;
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
        totals[u] = warp_sum(totals[u]);
        if (lane == 0) of_warps[turn % 2][u][warp] = totals[u];
    }
    meet_row_group(group, WARPS);
#pragma unroll
    for (int u = 0; u < COUNT; ++u) {
        const float2 mine = of_warps[turn % 2][u][group * WARPS + lane % WARPS];
        totals[u] = {lanes_sum<WARPS>(mine.x), lanes_sum<WARPS>(mine.y)};
    }
}

// The block's sums over rows, of its row groups in their order.
template <bool CENTRED, int GROUP, int THREADS>
__device__ __forceinline__ void store_group_sums(
    const ColumnSums<CENTRED>& own, int skew, int cols, float* to_dw, float* to_db
) {
    __shared__ float4 of_dw[THREADS * PACK / 4], of_db[CENTRED ? THREADS * PACK / 4 : 1];
#pragma unroll
    for (int i = 0; i < PACK; i += 4) {
        const int at = (threadIdx.x * PACK + i) / 4;
        of_dw[at] = {own.dw[i], own.dw[i + 1], own.dw[i + 2], own.dw[i + 3]};
        if (CENTRED) of_db[at] = {own.db[i], own.db[i + 1], own.db[i + 2], own.db[i + 3]};
    }
    __syncthreads();
    for (int col = threadIdx.x; col < cols; col += THREADS) {
        float sum_of_dw = 0.0f, sum_of_db = 0.0f;
#pragma unroll
        for (int group = 0; group < THREADS / GROUP; ++group) {
            const int at = group * GROUP * PACK + col + skew;
            sum_of_dw += reinterpret_cast<const float*>(of_dw)[at];
            if (CENTRED) sum_of_db += reinterpret_cast<const float*>(of_db)[at];
        }
        to_dw[col] = sum_of_dw;
        if (CENTRED) to_db[col] = sum_of_db;
    }
}

// A grid of a multiple of PACK blocks.
template <bool CENTRED, int GROUP, int THREADS>
__device__ __forceinline__ void skewed_gradients(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* means, const float* rstds, SCALAR* dx,
    float* partial, long long rows, int cols
) {
    start_early();
    constexpr int UNROLL = __CUDA_ARCH__ >= 1000 ? 1 : 2, GROUPS = THREADS / GROUP;  // there two would spill
    const int phase = blockIdx.x % PACK, skew = skew_of(x, phase, cols);
    const LanePack<GROUP, true> own(cols, skew);
    const Bits weights = own.elements(w);
    const float one_of_cols = 1.0f / cols;
    ColumnSums<CENTRED> sums;
    const long long step = static_cast<long long>(gridDim.x) * GROUPS;  // from a row of the group to its next
    long long row = (static_cast<long long>(blockIdx.x / PACK) * GROUPS + threadIdx.x / GROUP) * PACK + phase;
    SkewedRows<CENTRED, UNROLL> next;
    next.load(own, dy, x, means, rstds, row, step, rows, cols);
    for (int turn = 0; row < rows; row += UNROLL * step, ++turn) {  // the same in a row group
        const SkewedRows<CENTRED, UNROLL> here = next;
        next.load(own, dy, x, means, rstds, row + UNROLL * step, step, rows, cols);
        float2 totals[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            totals[u] = {0.0f, 0.0f};
            add_terms(totals[u], sums, Normal<CENTRED>(here.mean[u], here.rstd[u]), here.dy[u], here.x[u], weights);
        }
        over_group<GROUP, THREADS>(totals, turn);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            if (row + u * step >= rows) break;
            const Normal<CENTRED> normal(here.mean[u], here.rstd[u]);
            const RowGradient<CENTRED> gradient(here.rstd[u], totals[u], one_of_cols);
            float of_dy[PACK], of_x[PACK];
            unpack_words(here.dy[u], of_dy);
            unpack_words(here.x[u], of_x);
            own.store(dx + (row + u * step) * cols, gradient.of(normal, of_dy, of_x, weights));
        }
    }
    const int group = threadIdx.x / GROUP;
    meet_as_often(row - group * PACK < rows, group, GROUP / WARP);
    float* const to_dw = partial + static_cast<long long>(blockIdx.x) * cols;
    store_group_sums<CENTRED, GROUP, THREADS>(
        sums, skew, cols, to_dw, to_dw + static_cast<long long>(gridDim.x) * cols
    );
}
