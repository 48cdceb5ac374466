// What the RMS norms share: a pack's squares, and its elements scaled.
#pragma once

#include "shared/rows.cuh"

constexpr float EPSILON = 1e-6f;

__device__ __forceinline__ float squares_of(const Bits& pack) {
    float values[PACK], sum = 0.0f;
    unpack_words(pack, values);
#pragma unroll
    for (int i = 0; i < PACK; ++i) sum = fmaf(values[i], values[i], sum);
    return sum;
}

template <int WIDTH, int LANES>
__device__ __forceinline__ void store_scaled(
    const ShareBy<WIDTH, LANES>& share, int p, const Bits& pack, float scale, const Bits& w, SCALAR* y
) {
    float values[PACK], weights[PACK];
    unpack_words(pack, values);
    unpack_words(w, weights);
#pragma unroll
    for (int i = 0; i < PACK; ++i) values[i] = values[i] * scale * weights[i];
    share.store(y, p, values);
}
