// Bias and GELU of the sums, as the versions of matmul_bias_gelu apply them before they store.
//
// GELU uses the hardware's tanh, off by up to 2^-11 of it: the special function unit, for which the tensor cores wait,
// would take twice as long for the sigmoid's exponential and reciprocal.
#pragma once

#include "shared/common.cuh"

struct alignas(2 * sizeof(SCALAR)) Pair {
    SCALAR low, high;
};

// 0.5 x (1 + tanh u), u = x (LINEAR + CUBIC x^2).
__device__ __forceinline__ float gelu_of(float x) {
    constexpr float LINEAR = 0.7978845608028654f;   // sqrt(2/pi)
    constexpr float CUBIC = 0.035677408136300125f;  // 0.044715 times that
    float tanh;
    asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(x * (LINEAR + CUBIC * (x * x))));
    return x * (0.5f + 0.5f * tanh);
}

struct Finish {
    const Pair* __restrict__ bias;
    int last;

    __device__ __forceinline__ float2 operator()(float2 sums, int column) const {
        const Pair pair = bias[min(column / 2, last)];  // what lies beyond is not stored
        return make_float2(gelu_of(sums.x + to_float(pair.low)), gelu_of(sums.y + to_float(pair.high)));
    }
};

// Of the parameters that follow k.
#define FINISH (Finish{bias, static_cast<int>(n - 1) / 2}), const Pair* __restrict__ bias
