// What the gradients of the norms add up and compute, element by element, of packs as they were loaded.
//
// With h = (x - mean) rstd, or h = x rstd where rows are not CENTRED, and g = dy w: dx = rstd (g - mean_c g -
// h mean_c(g h)), where mean_c g is left out for RMS norm; dw = sum_r dy h, db = sum_r dy.
#pragma once

#include "shared/rows.cuh"

// What h = (x - mean) rstd takes, or h = x rstd. One instruction where 16 bits hide the rounding of the shift.
template <bool CENTRED>
struct Normal {
    float mean, rstd, shift;

    __device__ __forceinline__ Normal(const float* means, const float* rstds, long long row)
        : Normal(CENTRED ? means[row] : 0.0f, rstds[row]) {}
    __device__ __forceinline__ Normal(float mean, float rstd) : mean(mean), rstd(rstd), shift(-mean * rstd) {}
    __device__ __forceinline__ float operator()(float x) const {
        if (!CENTRED) return x * rstd;
        return sizeof(SCALAR) == 2 ? fmaf(x, rstd, shift) : (x - mean) * rstd;
    }
};

__device__ __forceinline__ float2 warp_sum(float2 value) { return {warp_sum(value.x), warp_sum(value.y)}; }

// The thread's sums over rows, of a pack of columns.
template <bool CENTRED>
struct ColumnSums {
    alignas(16) float dw[PACK] = {}, db[PACK] = {};

    __device__ __forceinline__ void add(int i, float dy, float h) {
        dw[i] = fmaf(dy, h, dw[i]);
        if (CENTRED) db[i] += dy;
    }
};

struct NoSums {
    __device__ __forceinline__ void add(int, float, float) {}
};

// Adds the g of a pack to total.x and its g h to total.y, and what is due to its columns to `sums`.
template <bool CENTRED, class Sums>
__device__ __forceinline__ void add_terms(
    float2& total, Sums& sums, const Normal<CENTRED>& normal, const Bits& dy, const Bits& x, const Bits& w
) {
    float of_dy[PACK], of_x[PACK], weight[PACK];
    unpack_words(dy, of_dy);
    unpack_words(x, of_x);
    unpack_words(w, weight);
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const float h = normal(of_x[i]), g = of_dy[i] * weight[i];
        sums.add(i, of_dy[i], h);
        if (CENTRED) total.x += g;
        total.y = fmaf(g, h, total.y);
    }
}

// dx as g rstd + h slope + level, from the sums over its row. It starts from h, not from x: an infinity of x would meet
// another.
template <bool CENTRED>
struct RowGradient {
    float rstd, slope, level;

    __device__ __forceinline__ RowGradient(float rstd, float2 total, float one_of_cols) : rstd(rstd) {
        slope = -rstd * one_of_cols * total.y;
        level = -rstd * one_of_cols * total.x;
    }

    __device__ __forceinline__ float of(float h, float g) const {
        return fmaf(g, rstd, CENTRED ? fmaf(h, slope, level) : h * slope);
    }
    __device__ __forceinline__ Bits
    of(const Normal<CENTRED>& normal, const float (&dy)[PACK], const float (&x)[PACK], const Bits& w) const {
        float weight[PACK], gradients[PACK];
        unpack_words(w, weight);
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            gradients[i] = of(normal(x[i]), dy[i] * weight[i]);
        }
        return pack_bits(gradients);
    }
};
