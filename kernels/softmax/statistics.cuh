// Maximum and sum of a row, or of a part of it, and the powers that softmax writes: exp(x - m) = 2^((x - m) log2 e).
#pragma once

#include "shared/rows.cuh"

// A word is one element or two; of two, each half has its own maximum, in one instruction and without
// conversion.
#ifdef SCALAR_IS_FLOAT32
using Word = float;
constexpr unsigned NEGATIVE_INFINITIES = 0xff800000u;
__device__ __forceinline__ float higher(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ float highest_of(float word) { return word; }
#else
#ifdef SCALAR_IS_FLOAT16
using Word = __half2;
constexpr unsigned NEGATIVE_INFINITIES = 0xfc00fc00u;
#else
using Word = __nv_bfloat162;
constexpr unsigned NEGATIVE_INFINITIES = 0xff80ff80u;
#endif
__device__ __forceinline__ Word higher(const Word& a, const Word& b) { return __hmax2(a, b); }
__device__ __forceinline__ float highest_of(const Word& word) { return fmaxf(to_float(word.x), to_float(word.y)); }
#endif

struct Statistics {
    float highest;  // largest element so far; NaN does not count
    float total;    // sum of exp(element - highest); NaN if any element is
};

__device__ __forceinline__ Statistics of_nothing() { return {NEGATIVE_INFINITY, 0.0f}; }

// The difference comes first: multiplied by log2 e, the lowest float32, which masks are made of, would overflow.
__device__ __forceinline__ float power_of(float value, float base) { return fast_exp2((value - base) * LOG2_E); }

// The factor that makes a sum relative to `from` one relative to `to`; nothing was summed at -inf.
__device__ __forceinline__ float rescale(float from, float to) {
    return from == NEGATIVE_INFINITY ? 0.0f : power_of(from, to);
}

__device__ __forceinline__ Statistics together(const Statistics& a, const Statistics& b) {
    const float highest = fmaxf(a.highest, b.highest);
    return {highest, a.total * rescale(a.highest, highest) + b.total * rescale(b.highest, highest)};
}

// The statistics of LANES neighbouring lanes together; each of them gets them.
template <int LANES>
__device__ __forceinline__ Statistics over_lanes(Statistics mine) {
    float highest = mine.highest;
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(WHOLE_WARP, highest, offset));
    }
    return {highest, lanes_sum<LANES>(mine.total * rescale(mine.highest, highest))};
}

// The number subtracted from the exponents; -inf relative to -inf counts as nothing, not as NaN.
__device__ __forceinline__ float base_of(float highest) { return highest == NEGATIVE_INFINITY ? 0.0f : highest; }

template <int PACKS>
__device__ __forceinline__ float highest_of(const Bits (&packs)[PACKS]) {
    const unsigned nothing = NEGATIVE_INFINITIES;
    Word highest = reinterpret_cast<const Word&>(nothing);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
#pragma unroll
        for (int i = 0; i < 4; ++i) highest = higher(highest, reinterpret_cast<const Word*>(&packs[p])[i]);
    }
    return highest_of(highest);
}

// The statistics of one thread's packs.
template <int PACKS>
__device__ __forceinline__ Statistics statistics_of(const Bits (&packs)[PACKS]) {
    Statistics mine = {highest_of(packs), 0.0f};
    const float base = base_of(mine.highest);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        float values[PACK];
        unpack(packs[p], values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) mine.total += power_of(values[i], base);
    }
    return mine;
}

// A thread's packs as powers relative to its own maximum. Once the row's is known, one factor for all of them is left.
template <int PACKS>
struct KeptPowers {
    float of[PACKS][PACK], highest;

    __device__ __forceinline__ Statistics find(const Bits (&packs)[PACKS]) {
        highest = highest_of(packs);
        const float base = base_of(highest);
        float total = 0.0f;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            float of_pack = 0.0f;
            unpack_words(packs[p], of[p]);
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                of[p][i] = power_of(of[p][i], base);
                of_pack += of[p][i];
            }
            total += of_pack;
        }
        return {highest, total};
    }
    // `inverse` of the row's sum.
    __device__ __forceinline__ float factor(float highest_of_row, float inverse) const {
        return rescale(highest, highest_of_row) * inverse;
    }
};

template <int WIDTH, int LANES>
__device__ __forceinline__ void store_powers(
    const ShareBy<WIDTH, LANES>& share, int p, const Bits& pack, const Statistics& all, SCALAR* y
) {
    const float base = base_of(all.highest), scale = fast_reciprocal(all.total);
    float values[PACK];
    unpack(pack, values);
#pragma unroll
    for (int i = 0; i < PACK; ++i) values[i] = power_of(values[i], base) * scale;
    share.store(y, p, values);
}
