// From the maxima and sums of pieces of a row of logits to its loss.
#pragma once

#include "shared/common.cuh"

constexpr long long IGNORED = -100;  // torch's ignore_index: the row's loss is 0

struct Statistics {
    float highest;  // largest logit so far, times log2(e)
    float total;    // sum of 2^(logit log2(e) - highest)
};

// 2^(from - to), which makes a sum relative to `from` one relative to `to`; nothing was summed at -inf.
__device__ __forceinline__ float rescale(float from, float to) {
    return from == NEGATIVE_INFINITY ? 0.0f : fast_exp2(from - to);
}

// The largest of COUNT / 2 logits of one of a thread's two rows, and of those of the other three lanes that have it.
template <int COUNT>
__device__ __forceinline__ float highest_of(const float (&logits)[COUNT], int half) {
    float highest = NEGATIVE_INFINITY;
#pragma unroll
    for (int i = half * 2; i < COUNT; i += 4) highest = fmaxf(highest, fmaxf(logits[i], logits[i + 1]));
    highest = fmaxf(highest, __shfl_xor_sync(WHOLE_WARP, highest, 1));
    return fmaxf(highest, __shfl_xor_sync(WHOLE_WARP, highest, 2));
}

__device__ __forceinline__ Statistics joined(Statistics one, Statistics other) {
    const float highest = fmaxf(one.highest, other.highest);
    return {highest, one.total * rescale(one.highest, highest) + other.total * rescale(other.highest, highest)};
}

__device__ __forceinline__ Statistics over_warp(Statistics mine) {
    const float highest = warp_max(mine.highest);
    return {highest, warp_sum(mine.total * rescale(mine.highest, highest))};
}

// `at_label`, times log2(e), is there for labels that are columns.
__device__ __forceinline__ float loss_of(Statistics row, float at_label, long long label, long long vocab) {
    if (label == IGNORED) return 0.0f;
    if (label < 0 || label >= vocab) return __int_as_float(0x7fffffff);
    return (log2f(row.total) + (row.highest - at_label)) / LOG2_E;
}
