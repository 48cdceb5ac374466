// The statistics of up to eight rows of logits from a small w, a warp a row of w: tensor cores and shared memory would save
// work, which is not what takes time here, and cost steps that wait for each other.
//
// Mapping: lanes have neighbouring elements of a row of w, wherever it begins, and of each row of x. Their sums meet so that
//   a lane in ROWS has that of one row of x. Blocks leave one piece of each row.
#pragma once

#include "linear_cross_entropy/join.cuh"
#include "shared/overlap.cuh"

constexpr int SMALL_WARPS = 8;  // of a block, as in small_weights.py

// Elements that a lane has under way at once, of w and of each row of x.
__device__ constexpr int small_reach(int rows) { return rows <= 2 ? 8 : 4; }

// The sum over a warp of one of its lanes' ROWS sums: that of row lane / (WARP / ROWS).
template <int ROWS>
__device__ __forceinline__ float sum_of_own_row(float (&sums)[ROWS]) {
    const int lane = threadIdx.x % WARP;
    int distance = WARP / 2;
#pragma unroll
    for (int left = ROWS / 2; left > 0; left /= 2, distance /= 2) {
        const bool has_upper = lane & distance;
#pragma unroll
        for (int i = 0; i < left; ++i) {
            const float given = has_upper ? sums[i] : sums[i + left], kept = has_upper ? sums[i + left] : sums[i];
            sums[i] = kept + __shfl_xor_sync(WHOLE_WARP, given, distance);
        }
    }
    for (; distance > 0; distance /= 2) sums[0] += __shfl_xor_sync(WHOLE_WARP, sums[0], distance);
    return sums[0];
}

template <int ROWS>
__device__ __forceinline__ void statistics_of_small(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const long long* __restrict__ labels,
    Statistics* __restrict__ pieces, float* __restrict__ at_label, int rows, int vocab, int hidden
) {
    constexpr int REACH = small_reach(ROWS);
    __shared__ Statistics of_warps[ROWS][SMALL_WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int own = lane / (WARP / ROWS);
    const bool has_own = own < rows && lane % (WARP / ROWS) == 0;
    wait_for_previous();
    let_next_start();
    const long long wanted = has_own ? labels[own] : -1;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (int column = blockIdx.x * SMALL_WARPS + warp; column < vocab; column += gridDim.x * SMALL_WARPS) {
        const SCALAR* const row_of_w = w + 1ll * column * hidden;
        float sums[ROWS] = {};
        for (int first = lane; first < hidden; first += REACH * WARP) {
            SCALAR of_w[REACH], of_x[ROWS][REACH];
#pragma unroll
            for (int i = 0; i < REACH; ++i) {
                const int at = first + i * WARP;
                if (at < hidden) of_w[i] = __ldg(row_of_w + at);
#pragma unroll
                for (int row = 0; row < ROWS; ++row) {
                    if (at < hidden && row < rows) of_x[row][i] = __ldg(x + (1ll * row * hidden + at));
                }
            }
#pragma unroll
            for (int i = 0; i < REACH; ++i) {
                if (first + i * WARP >= hidden) break;
#pragma unroll
                for (int row = 0; row < ROWS; ++row) {
                    if (row < rows) sums[row] += to_float(of_w[i]) * to_float(of_x[row][i]);
                }
            }
        }
        const float logit = sum_of_own_row(sums) * LOG2_E;
        mine = joined(mine, {logit, 1.0f});
        if (wanted == column) at_label[own] = logit;
    }
    if (lane % (WARP / ROWS) == 0) of_warps[own][warp] = mine;
    __syncthreads();
    if (threadIdx.x >= ROWS * SMALL_WARPS) return;
    const int row = threadIdx.x / SMALL_WARPS;
    mine = of_warps[row][threadIdx.x % SMALL_WARPS];
    constexpr unsigned READERS = ROWS * SMALL_WARPS < WARP ? (1u << ROWS * SMALL_WARPS % WARP) - 1 : WHOLE_WARP;
#pragma unroll
    for (int distance = SMALL_WARPS / 2; distance > 0; distance /= 2) {
        const Statistics more = {__shfl_xor_sync(READERS, mine.highest, distance),
                                 __shfl_xor_sync(READERS, mine.total, distance)};
        mine = joined(mine, more);
    }
    if (threadIdx.x % SMALL_WARPS == 0 && row < rows) pieces[1ll * row * gridDim.x + blockIdx.x] = mine;
}

#define STATISTICS_OF_SMALL(ROWS)                                                                                 \
    extern "C" __global__ void __launch_bounds__(SMALL_WARPS* WARP, 2) small_weights_##ROWS(                         \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const long long* __restrict__ labels,         \
        Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows, long long vocab,           \
        long long hidden                                                                                          \
    ) {                                                                                                           \
        statistics_of_small<ROWS>(                                                                                \
            x, w, labels, pieces, at_label, static_cast<int>(rows), static_cast<int>(vocab),                      \
            static_cast<int>(hidden)                                                                              \
        );                                                                                                        \
    }
STATISTICS_OF_SMALL(1)
STATISTICS_OF_SMALL(2)
STATISTICS_OF_SMALL(4)
STATISTICS_OF_SMALL(8)
