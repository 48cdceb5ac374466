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

__device__ __forceinline__ Statistics joined(Statistics one, Statistics other) {
    const float highest = fmaxf(one.highest, other.highest);
    return {highest, one.total * rescale(one.highest, highest) + other.total * rescale(other.highest, highest)};
}

// `at_label`, times log2(e), is there for labels that are columns.
__device__ __forceinline__ float loss_of(Statistics row, float at_label, long long label, long long vocab) {
    if (label == IGNORED) return 0.0f;
    if (label < 0 || label >= vocab) return __int_as_float(0x7fffffff);
    return (log2f(row.total) + (row.highest - at_label)) / LOG2_E;
}
