// Maxima and sums of powers of what lanes keep, pack by pack: one fused instruction for the exponent of each power.
//
// A total is relative to 2^base, where base is highest * log2 e as a float and highest not below -LARGEST. What base
// lost of its highest comes back when the loss is taken relative to the same base. Rows with a higher maximum, only
// elements below or a label that far away are computed again by differences.
#pragma once

#include "cross_entropy/short_rows.cuh"

constexpr int CHUNK = 4;            // packs of a lane with one maximum
constexpr float LARGEST = 1.34e8f;  // a base may lose 8 of it, so 2^8 of a power
constexpr float LN_2 = 0.6931471805599453f;

struct Powers {
    float highest, base, total;
};

// The product is not to be fused with what comes after: both sides of a difference need the same base.
__device__ __forceinline__ float base_of(float highest) { return __fmul_rn(fmaxf(highest, -LARGEST), LOG2_E); }
__device__ __forceinline__ Powers no_powers() { return {NEGATIVE_INFINITY, base_of(NEGATIVE_INFINITY), 0.0f}; }

__device__ __forceinline__ float fast_log2(float value) {
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
    return result;
}

// Adds packs of one maximum, and what lies beside them.
template <int PACKS, int EDGES, typename Skips>
__device__ __forceinline__ void add_packs(
    Powers& mine, const Bits (&kept)[PACKS], const SCALAR (&edges)[EDGES], bool has_edges, const Skips& skips
) {
    unsigned word = NEGATIVE_INFINITIES;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (skips(p)) break;
        const unsigned words[4] = {kept[p].x, kept[p].y, kept[p].z, kept[p].w};
#pragma unroll
        for (int i = 0; i < 4; ++i) word = higher_of_words(word, words[i]);
    }
    float highest = fmaxf(mine.highest, highest_of_word(word));
    if (has_edges) {
#pragma unroll
        for (int e = 0; e < EDGES; ++e) highest = fmaxf(highest, to_float(edges[e]));
    }
    const float base = base_of(highest);
    float totals[2] = {mine.total * fast_exp2(mine.base - base), 0.0f};
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (skips(p)) break;
        float values[PACK];
        unpack_words(kept[p], values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) totals[i % 2] += fast_exp2(fmaf(values[i], LOG2_E, -base));
    }
    if (has_edges) {
#pragma unroll
        for (int e = 0; e < EDGES; ++e) totals[1] += fast_exp2(fmaf(to_float(edges[e]), LOG2_E, -base));
    }
    mine = {highest, base, totals[0] + totals[1]};
}

template <int LANES>
__device__ __forceinline__ Powers over_lanes(const Powers& mine) {
    const float highest = lanes_max<LANES>(mine.highest), base = base_of(highest);
    return {highest, base, lanes_sum<LANES>(mine.total * fast_exp2(mine.base - base))};
}

__device__ __forceinline__ void store_loss(const Powers& row, float at_label, bool ignored, SCALAR* loss) {
    from_float(ignored ? 0.0f : LN_2 * (fast_log2(row.total) + fmaf(-at_label, LOG2_E, row.base)), *loss);
}

// The same by differences, for elements of any size.
template <int LANES>
__device__ __noinline__ void store_loss_by_differences(
    const SCALAR* row, int cols, float at_label, bool ignored, SCALAR* loss
) {
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (int i = threadIdx.x % LANES; i < cols; i += LANES) {
        const float one[1] = {to_float(row[i])};
        add(mine, one);
    }
    const float highest = lanes_max<LANES>(mine.highest);
    const Statistics all = {highest, lanes_sum<LANES>(mine.total * rescale(mine.highest, highest))};
    if (cols && threadIdx.x % LANES == 0) store_loss(all, at_label, ignored, loss);
}
