// Operands of mma.m16n8k16 from 4-bit weights and 16-bit rows.
#pragma once

#include "shared/common.cuh"

constexpr int STEP = 64;  // packed bytes of a row in a step: 16 for each of four lanes
constexpr int WORDS = 4;  // of 8 weights in the 16 bytes of a lane

#ifdef SCALAR_IS_FLOAT16
using Pair = __half2;
#define OPERANDS "f16.f16"
constexpr unsigned EXPONENT = 0x64u;  // upper byte of 1024
constexpr float BIAS = 1024.0f + 8.0f;
__device__ __forceinline__ Pair both(float value) { return __float2half2_rn(value); }
#else
using Pair = __nv_bfloat162;
#define OPERANDS "bf16.bf16"
constexpr unsigned EXPONENT = 0x43u;  // upper byte of 128
constexpr float BIAS = 128.0f + 8.0f;
__device__ __forceinline__ Pair both(float value) { return __float2bfloat162_rn(value); }
#endif

// Two of four codes, each in a byte, as weights: bytes 0 and 1 or 2 and 3.
template <int FIRST>
__device__ __forceinline__ Pair weights_of(unsigned codes, unsigned exponent) {
    const unsigned biased = __byte_perm(codes, exponent, FIRST ? 0x4342 : 0x4140);
    return __hsub2(reinterpret_cast<const Pair&>(biased), both(BIAS));
}

// sum (16 x 8) += a (16 x 16) b (16 x 8).
__device__ __forceinline__ void multiply_add(float (&sum)[4], const Pair (&a)[4], unsigned b0, unsigned b1) {
    const unsigned (&bits)[4] = reinterpret_cast<const unsigned (&)[4]>(a);
    asm("mma.sync.aligned.m16n8k16.row.col.f32." OPERANDS ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(bits[0]), "r"(bits[1]), "r"(bits[2]), "r"(bits[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned word_of(const uint4& words, int i) {
    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// Keeps a value in a register: the compiler would otherwise recompute it at every use.
template <typename Value>
__device__ __forceinline__ void keep(Value& value) {
    asm volatile("" : "+l"(value));
}
