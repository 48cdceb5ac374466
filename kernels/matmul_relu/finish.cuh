// ReLU of the sums, as the versions of matmul_relu apply it before they store.
#pragma once

struct Finish {
    // NaN stays NaN, where fmaxf would make it 0.
    __device__ __forceinline__ float2 operator()(float2 sums, int) const {
        return make_float2(sums.x < 0.0f ? 0.0f : sums.x, sums.y < 0.0f ? 0.0f : sums.y);
    }
};
