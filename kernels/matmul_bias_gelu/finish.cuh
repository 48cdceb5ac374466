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
    const SCALAR* __restrict__ bias;
    int last;

    // Of an even number of columns, or of a bias of which more is there: what lies beyond is not stored.
    __device__ __forceinline__ float2 operator()(float2 sums, int column) const {
        const Pair pair = reinterpret_cast<const Pair*>(bias)[min(column, last) >> 1];
        return make_float2(gelu_of(sums.x + to_float(pair.low)), gelu_of(sums.y + to_float(pair.high)));
    }
    // A Pair of any number, of which the last may be alone.
    __device__ __forceinline__ unsigned pair_of(int column) const {
        const auto* const from = reinterpret_cast<const unsigned short*>(bias);
        if (column < last) return __ldg(reinterpret_cast<const unsigned*>(from + column));
        return __ldg(from + last);
    }
};

// As shared/wgmma_loose_rows.cuh has them: one by one.
__device__ __forceinline__ float finish_one(const Finish& finish, float sum, int column) {
    return gelu_of(sum + to_float(finish.bias[min(column, finish.last)]));
}

// As shared/finish.cuh has it: a bias comes from memory, for which a short product would wait once more.
__device__ __forceinline__ void ask_for_columns(const Finish& finish, int column) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(finish.bias + min(column, finish.last)));
}

// The bias of a thread's columns, fetched before the products, as shared/finish.cuh has it. GELU is that of half of x, so
// that half of the bias is added by the multiplication that halves the sum.
template <int COUNT>
struct BiasOfColumns {
    unsigned of[COUNT];  // a Pair each: the compiler would give it two registers
};

template <int COUNT>
__device__ __forceinline__ BiasOfColumns<COUNT> for_columns(const Finish& finish, int first) {
    BiasOfColumns<COUNT> bias;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) bias.of[i] = finish.pair_of(first + i * 8);
    return bias;
}

// As gelu_of of twice as much.
__device__ __forceinline__ float gelu_of_twice(float half) {
    constexpr float LINEAR = 2 * 0.7978845608028654f;
    constexpr float CUBIC = 8 * 0.035677408136300125f;
    float tanh;
    asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(half * (LINEAR + CUBIC * (half * half))));
    return half + half * tanh;
}

template <int COUNT>
__device__ __forceinline__ float2 finish_pair(const BiasOfColumns<COUNT>& bias, float2 sums, int, int index) {
    const Pair pair = reinterpret_cast<const Pair&>(bias.of[index]);
    return make_float2(
        gelu_of_twice(0.5f * sums.x + 0.5f * to_float(pair.low)),
        gelu_of_twice(0.5f * sums.y + 0.5f * to_float(pair.high))
    );
}

// Of the parameters that follow k.
#define FINISH (Finish{bias, static_cast<int>(n - 1)}), const SCALAR* __restrict__ bias
