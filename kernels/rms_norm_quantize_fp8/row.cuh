// What is found of a row before it is quantised, and its codes.
#pragma once

#include <cuda_fp8.h>

#include "shared/quantise.cuh"
#include "shared/rms_norm.cuh"

constexpr float LARGEST_CODE = 448.0f;

// Of a thread's elements, then of a row's.
struct Statistics {
    float squares = 0.0f;
    unsigned largest = 0;  // bits of the largest |x w|, as quantise.cuh compares magnitudes

    __device__ __forceinline__ void take(const Bits& pack, const Bits& w) {
        float values[PACK], weights[PACK];
        unpack_words(pack, values);
        unpack_words(w, weights);
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            squares = fmaf(values[i], values[i], squares);
            largest = max(largest, __float_as_uint(values[i] * weights[i]) & 0x7fffffffu);
        }
    }

    // Over a row group; each of its threads gets it.
    template <int GROUP>
    __device__ __forceinline__ Statistics over_group() const {
        if constexpr (GROUP <= WARP) {
            return {lanes_sum<GROUP>(squares), largest_over<GROUP>(largest)};
        } else {
            __shared__ Statistics partial[WARP];
            const int lane = threadIdx.x % WARP;
            const Statistics mine = over_group<WARP>();
            if (lane == 0) partial[threadIdx.x / WARP] = mine;
            __syncthreads();
            return (lane < blockDim.x / WARP ? partial[lane] : Statistics{0.0f, 0}).over_group<WARP>();
        }
    }
};

// How a row is quantised, from its statistics and the reciprocal of its length.
struct Row {
    float scale;
    float factor;  // of x w

    __device__ __forceinline__ Row(const Statistics& row, float one_of_cols) {
        // At least 2^-100, so that the reciprocal is finite; as integers, because a NaN has to stay one.
        const float divisor = __uint_as_float(max(row.largest, 0x0d800000u));
        const float inverse = fast_reciprocal(divisor);
        factor = LARGEST_CODE * fmaf(inverse, fmaf(-divisor, inverse, 1.0f), inverse);
        const float rstd = rsqrtf(fmaf(row.squares, one_of_cols, EPSILON));
        scale = row.largest == 0 ? 1.0f : rstd * __uint_as_float(row.largest) * (1.0f / LARGEST_CODE);
    }

    __device__ __forceinline__ PackedBytes codes(const Bits& pack, const Bits& w) const {
        float values[PACK], weights[PACK];
        unpack_words(pack, values);
        unpack_words(w, weights);
        PackedBytes codes;
#pragma unroll
        for (int i = 0; i < PACK; i += 4) {
            codes.word[i / 4] = two(values + i, weights + i) | two(values + i + 2, weights + i + 2) << 16;
        }
        return codes;
    }

    __device__ __forceinline__ unsigned two(const float* x, const float* w) const {
        const float2 quotients = {x[0] * w[0] * factor, x[1] * w[1] * factor};
        return __nv_cvt_float2_to_fp8x2(quotients, __NV_SATFINITE, __NV_E4M3);
    }
};
