// Groups to 4-bit integers: a few lanes a group, 16 bytes an access.
//
// Formula: q = round(x / scale) + 8, scale = max |x| / 7 over each group. 3 rows cols FLOP,
//   rows cols (s + 1/2 + 4/group) bytes.
// Mapping: rows and groups are one run. A thread holds two packs of a group, one of its first half and the one as
//   far into its second half: the low and the high nibbles of 4 or 8 packed bytes, which leave in one access. The
//   2 to 32 lanes of a group find its largest magnitude by shuffles.
// Idea: the layout is that of GGUF's Q4_0: no nibble changes its thread. Magnitudes are compared as integers and
//   quotients are exact to the last bit without a division: quantise.cuh.
#include "shared/quantise.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py

using Group = Quantiser<7>;

// A packed byte in the low bits of a word; what lies above it is no part of it.
__device__ __forceinline__ unsigned byte_of(const Group& group, const SCALAR& low, const SCALAR& high) {
    return (group.code(to_float(low), 8.0f) & 15u) | group.code(to_float(high), 8.0f) << 4;
}

template <int GROUP>
__device__ __forceinline__ void quantize(const SCALAR* x, unsigned char* packed, float* scales, long long n) {
    constexpr int HALF = GROUP / 2;
    const long long at = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) * PACK;  // of the packed bytes
    const long long group = at / HALF;
    Pack low = {}, high = {};
    if (at < n) {
        const SCALAR* first = x + at + group * HALF;  // a group of HALF bytes is GROUP elements
        low = load_pack_evict_last(first);
        high = load_pack_evict_last(first + HALF);
    }
    const unsigned largest = largest_half(largest_of(high, largest_of(low, 0)));
    const Group quantiser(magnitude_of(largest_over<HALF / PACK>(largest)));
    if (at >= n) return;
    if (at % HALF == 0) scales[group] = quantiser.scale;
    PackedBytes bytes;
#pragma unroll
    for (int i = 0; i < PACK; i += 4) {
        unsigned four[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) four[j] = byte_of(quantiser, low.element[i + j], high.element[i + j]);
        bytes.word[i / 4] = low_bytes(four[0], four[1], four[2], four[3]);
    }
    *reinterpret_cast<PackedBytes*>(packed + at) = bytes;
}

#define QUANTIZE(GROUP)                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS) quantize_##GROUP(                                      \
        const SCALAR* __restrict__ x, unsigned char* __restrict__ packed, float* __restrict__ scales,            \
        long long n) {                                                                                           \
        quantize<GROUP>(x, packed, scales, n);                                                                   \
    }

QUANTIZE(32)
QUANTIZE(64)
QUANTIZE(128)
QUANTIZE(256)

// Groups of any even length at any alignment: a warp a group.
extern "C" __global__ void __launch_bounds__(THREADS) quantize_any(
    const SCALAR* __restrict__ x, unsigned char* __restrict__ packed, float* __restrict__ scales, long long groups,
    long long half
) {
    const int lane = threadIdx.x % WARP;
    const long long group = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) / WARP;
    if (group >= groups) return;
    x += group * half * 2;
    packed += group * half;
    unsigned largest = 0;
    for (long long i = lane; i < 2 * half; i += WARP) largest = max(largest, bits_of(x[i]));
    const Group quantiser(magnitude_of(largest_over<WARP>(largest)));
    if (lane == 0) scales[group] = quantiser.scale;
    for (long long i = lane; i < half; i += WARP) {
        packed[i] = static_cast<unsigned char>(byte_of(quantiser, x[i], x[half + i]));
    }
}
