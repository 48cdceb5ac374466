// What tiles leave of their logits: of each row the maximum and the sum of powers, and the logit at its label.
#pragma once

#include "linear_cross_entropy/join.cuh"
#include "shared/hopper.cuh"

// The statistics of COUNT / 2 logits of one of a thread's two rows, with those of the other three lanes that have it.
template <int COUNT>
__device__ __forceinline__ Statistics statistics_of(const float (&logits)[COUNT], int half) {
    const float highest = highest_of(logits, half);
    const float shift = highest == NEGATIVE_INFINITY ? 0.0f : highest * LOG2_E;
    float total[2] = {};
#pragma unroll
    for (int i = half * 2; i < COUNT; i += 4) {
        total[0] += fast_exp2(logits[i] * LOG2_E - shift);
        total[1] += fast_exp2(logits[i + 1] * LOG2_E - shift);
    }
    float sum = total[0] + total[1];
    sum += __shfl_xor_sync(WHOLE_WARP, sum, 1);
    sum += __shfl_xor_sync(WHOLE_WARP, sum, 2);
    return {highest * LOG2_E, sum};
}

// What the kernels have in common besides their two matrices.
struct Rest {
    const long long* labels;
    Statistics* pieces;
    float* at_label;
    long long rows, vocab, hidden;
};

// A tile's columns are rows of w from number `first` on, of all of them or of each 2^shift-th behind `residue`.
struct Columns {
    int first, residue = 0, shift = 0;
};
// Rows of w from the tile's first on.
__device__ __forceinline__ long long left_of(const Columns& columns, long long vocab) {
    return ((vocab - columns.residue + (1ll << columns.shift) - 1) >> columns.shift) - columns.first;
}
// Of a label, behind the tile's first; below 0 where it is of no such row.
__device__ __forceinline__ long long place_of(long long label, const Columns& columns) {
    const bool is_here = label >= 0 && (label & ((1ll << columns.shift) - 1)) == columns.residue;
    return is_here ? (label >> columns.shift) - columns.first : -1;
}

// The statistics of a thread's logits number `first_sum` and on of a tile, whose warpgroup's rows begin at `top`: piece number
// `piece` of `count` of a row.
template <int COUNT>
__device__ __forceinline__ void leave_statistics(
    float (&logits)[COUNT], int first_sum, int top, const Columns& columns, const Rest& rest, unsigned piece,
    unsigned count
) {
    const int lane = threadIdx.x % WARP;
    const long long left = left_of(columns, rest.vocab);
    const auto column_of = [&](int i) { return (first_sum + i) / 4 * 8 + lane % 4 * 2 + i % 2; };
    if (left < 256) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if (column_of(i) >= left) logits[i] = NEGATIVE_INFINITY;
        }
    }
    const int first = top + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = first + half * 8;
        const long long wanted = row < rest.rows ? place_of(rest.labels[row], columns) : -1;
        if (wanted >= 0 && wanted < left) {
#pragma unroll
            for (int i = half * 2; i < COUNT; i += 4) {
                if (column_of(i) == wanted) rest.at_label[row] = logits[i] * LOG2_E;
                if (column_of(i + 1) == wanted) rest.at_label[row] = logits[i + 1] * LOG2_E;
            }
        }
        const Statistics mine = statistics_of(logits, half);
        if (row < rest.rows && lane % 4 == 0) rest.pieces[1ll * row * count + piece] = mine;
    }
}
