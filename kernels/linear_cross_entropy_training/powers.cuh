// What becomes of a tile's logits in the registers that hold them: powers in the place of logits, and their statistics.
#pragma once

#include "linear_cross_entropy/join.cuh"
#include "linear_cross_entropy_backward/products.cuh"

// In powers of two a sample's base lies so far above its maximum, and a row's maximum no more than so far above the base. So of
// bfloat16's 126 below 1 there are 46 for what is smaller than the sample's maximum, and sums of 2^17 powers times any weight
// are finite.
constexpr float BASE_ABOVE_SAMPLE = 80.0f, MOST_ABOVE_BASE = 72.0f;

// Makes the powers of one of a thread's two rows out of their logits, relative to the row's base where that is not too low,
// and to the tile's maximum otherwise.
template <int COUNT>
__device__ __forceinline__ Statistics make_powers(float (&logits)[COUNT], int half, float base) {
    const float highest = LOG2_E * highest_of(logits, half);
    if (!(highest <= base + MOST_ABOVE_BASE)) base = highest;
    const float shift = base == NEGATIVE_INFINITY ? 0.0f : base;
    float total[2] = {};
#pragma unroll
    for (int i = half * 2; i < COUNT; i += 4) {
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            logits[i + side] = fast_exp2(logits[i + side] * LOG2_E - shift);
            total[side] += logits[i + side];
        }
    }
    float sum = total[0] + total[1];
    sum += __shfl_xor_sync(WHOLE_WARP, sum, 1);
    sum += __shfl_xor_sync(WHOLE_WARP, sum, 2);
    return {base, sum};
}
