// 4-bit groups back to numbers, two times 16 bytes stored by a thread.
//
// Formula: x = (q - 8) scale; 2 rows cols FLOP, rows cols (1/2 + s + s/group) bytes.
// Mapping: rows and groups are one run. A thread takes 4 or 8 packed bytes: their low nibbles are a pack of the
//   group's first half, their high nibbles a pack of its second half. A warp reads one run and writes whole
//   halves of groups, and no nibble changes its thread.
// Idea: the layout is that of GGUF's Q4_0. A nibble under the exponent of 2^23 is 2^23 + code + 8, in its place in
//   the word 16 times as much: one LOP3 picks and places it, and no integer is converted.
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py
constexpr int UNROLL = 1;
constexpr unsigned EXPONENT = 0x4b000000u;  // of 2^23

struct alignas(PACK) Codes {
    unsigned word[PACK / 4];
};

template <int GROUP>
__device__ __forceinline__ void dequantize(const unsigned char* packed, const SCALAR* scales, SCALAR* x, long long n) {
    constexpr int HALF = GROUP / 2;
    const long long first = (static_cast<long long>(blockIdx.x) * THREADS * UNROLL + threadIdx.x) * PACK;
    Codes codes[UNROLL];
    float scale[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long at = first + u * THREADS * PACK;
        if (at >= n) continue;
        codes[u] = *reinterpret_cast<const Codes*>(packed + at);
        scale[u] = to_float(scales[at / HALF]);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long at = first + u * THREADS * PACK;
        if (at >= n) break;
        float low[PACK], high[PACK];
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            const unsigned byte = codes[u].word[i / 4] >> i % 4 * 8;
            low[i] = (__uint_as_float((byte & 0x0fu) | EXPONENT) - (8388608.0f + 8)) * scale[u];
            high[i] = (__uint_as_float((byte & 0xf0u) | EXPONENT) - (8388608.0f + 8 * 16)) * (scale[u] * 0.0625f);
        }
        SCALAR* to = x + at + at / HALF * HALF;  // a group of HALF bytes is GROUP elements
        store_pack(to, to_pack(low));
        store_pack(to + HALF, to_pack(high));
    }
}

#define DEQUANTIZE(GROUP)                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS) dequantize_##GROUP(                                    \
        const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales, SCALAR* __restrict__ x,     \
        long long n) {                                                                                           \
        dequantize<GROUP>(packed, scales, x, n);                                                                 \
    }

DEQUANTIZE(32)
DEQUANTIZE(64)
DEQUANTIZE(128)
DEQUANTIZE(256)

// Groups of any even length at any alignment: a thread a byte.
extern "C" __global__ void __launch_bounds__(THREADS) dequantize_any(
    const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales, SCALAR* __restrict__ x, long long n,
    long long half
) {
    const long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (at >= n) return;
    const long long group = at / half;
    const float scale = to_float(scales[group]);
    x += at + group * half;
    from_float(static_cast<float>(packed[at] % 16 - 8) * scale, x[0]);
    from_float(static_cast<float>(packed[at] / 16 - 8) * scale, x[half]);
}
