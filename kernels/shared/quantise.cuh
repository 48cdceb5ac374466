// Shared by the kernels that quantise: largest magnitudes, and exact rounding to a few levels.
#pragma once

#include "shared/common.cuh"

// ---- Largest magnitude -------------------------------------------------------------------------

// Bits without the sign are in the order of the magnitudes as unsigned integers, with infinity above every number
// and NaN above infinity: a maximum of integers loses no NaN, as fmaxf does. Two 16-bit elements go as one word.
#ifdef SCALAR_IS_FLOAT32
constexpr unsigned WITHOUT_SIGNS = 0x7fffffffu;
__device__ __forceinline__ unsigned larger(unsigned a, unsigned b) { return max(a, b); }
__device__ __forceinline__ unsigned largest_half(unsigned word) { return word; }
__device__ __forceinline__ float magnitude_of(unsigned bits) { return __uint_as_float(bits); }
__device__ __forceinline__ unsigned bits_of(float element) { return __float_as_uint(element) & WITHOUT_SIGNS; }
#else
constexpr unsigned WITHOUT_SIGNS = 0x7fff7fffu;
__device__ __forceinline__ unsigned larger(unsigned a, unsigned b) { return __vmaxu2(a, b); }
__device__ __forceinline__ unsigned largest_half(unsigned word) { return max(word >> 16, word & 0xffffu); }
__device__ __forceinline__ float magnitude_of(unsigned bits) {
    const unsigned short half = static_cast<unsigned short>(bits);
    return to_float(reinterpret_cast<const SCALAR&>(half));
}
__device__ __forceinline__ unsigned bits_of(const SCALAR& element) {
    return reinterpret_cast<const unsigned short&>(element) & 0x7fffu;
}
#endif

__device__ __forceinline__ unsigned largest_of(const Pack& pack, unsigned so_far) {
    const uint4 words = reinterpret_cast<const uint4&>(pack);
    so_far = larger(so_far, words.x & WITHOUT_SIGNS);
    so_far = larger(so_far, words.y & WITHOUT_SIGNS);
    so_far = larger(so_far, words.z & WITHOUT_SIGNS);
    return larger(so_far, words.w & WITHOUT_SIGNS);
}

// Over LANES neighbouring lanes, a power of two; every one gets it. Takes bits of single elements.
template <int LANES>
__device__ __forceinline__ unsigned largest_over(unsigned bits) {
#if __CUDA_ARCH__ >= 800
    if (LANES == WARP) return __reduce_max_sync(WHOLE_WARP, bits);
#endif
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) {
        bits = max(bits, __shfl_xor_sync(WHOLE_WARP, bits, offset));
    }
    return bits;
}

// ---- Rounding ----------------------------------------------------------------------------------

// Codes of numbers up to `largest` in size, LEVELS to either side: round(LEVELS x / largest), halves to even.
//
// The quotient has the accuracy of a division in five instructions: a product with the reciprocal, corrected by
// its remainder (Markstein 1990). For 16-bit elements LEVELS x is exact, hence so is every tie. Numbers are
// brought to a largest one between 1 and 4 by a power of two, so that nothing over- or underflows on the way.
template <int LEVELS>
struct Quantiser {
    float scale;    // of one code; 1 where all is zero
    float factor;   // LEVELS and the power of two
    float divisor;  // largest, times the power of two
    float inverse;

    __device__ __forceinline__ explicit Quantiser(float largest) {
        if (largest == 0.0f) largest = LEVELS;
        scale = quotient_by_levels(largest);
        const unsigned bits = __float_as_uint(largest);
        const unsigned exponent = min(max(bits, 0x0d000000u), 0x7e800000u) & 0x7f800000u;  // 2^-101 to 2^126
        const float power = __uint_as_float(0x7f000000u - exponent);
        factor = LEVELS * power;
        divisor = largest * power;
        inverse = fast_reciprocal(divisor);
    }

    // An infinity or NaN is what it was.
    static __device__ __forceinline__ float quotient_by_levels(float value) {
        const float quotient = value * (1.0f / LEVELS);
        const float remainder = fmaf(-quotient, LEVELS, value);
        return remainder == remainder ? fmaf(remainder, 1.0f / LEVELS, quotient) : quotient;
    }

    // The code in two's complement in the low bits, plus `offset`: adding 1.5 2^23 rounds and puts it there.
    __device__ __forceinline__ unsigned code(float x, float offset = 0.0f) const {
        const float numerator = x * factor;
        const float quotient = numerator * inverse;
        const float remainder = fmaf(-quotient, divisor, numerator);
        return __float_as_uint(fmaf(remainder, inverse, quotient) + (12582912.0f + offset));
    }
};

// The low bytes of four words as one word.
__device__ __forceinline__ unsigned low_bytes(unsigned a, unsigned b, unsigned c, unsigned d) {
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

// As many bytes as a pack has elements.
struct alignas(PACK) PackedBytes {
    unsigned word[PACK / 4];
};
