// Softmax of attention by wgmma, where looking for maxima takes as long as taking powers.
//
// Powers are right relative to any shift that keeps them in range: they and their sums have the same relative errors
// then. So a step takes them relative to the highest score of earlier steps, without looking at its own; only where one
// comes out higher than MOST the step is to be taken again, with a new shift. Float32 and bfloat16 would bear far more,
// float16 a little; after the first step it is rare.
// Idea: Ye et al., "FlashAttention-4", which scales its sums only where the maximum has risen by as much, but looks for it.
#pragma once

#include "shared/attention.cuh"

// As Softmax of shared/attention.cuh.
struct LazySoftmax {
    static constexpr float MOST = 256.0f;  // of a thread's powers of a step and row, their sum

    float scale;             // log2(e) / sqrt(dim)
    float shift[2];          // what is subtracted from scaled scores; NaN before the first finite score
    float row_sum[2] = {};   // this thread's share of the sum of powers
    float step_sum[2] = {};  // that of a step which may have to be taken again
    float rescale[2];        // the factor for sums made before the last scores

    __device__ __forceinline__ explicit LazySoftmax(float scale) : scale(scale) {
        shift[0] = shift[1] = __int_as_float(0x7fffffff);
    }

    // Turns scores into powers relative to the row maximum so far. Where no score is finite, powers are 0.
    template <int COUNT>
    __device__ __forceinline__ void exponentiate(float (&s)[COUNT]) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            float most = NEGATIVE_INFINITY;
#pragma unroll
            for (int j = row * 2; j < COUNT; j += 4) most = fmaxf(most, fmaxf(s[j], s[j + 1]));
            most = fmaxf(shift[row], quad_max(most) * scale);  // the other one where one is NaN
            const float by = most == NEGATIVE_INFINITY ? 0.0f : most;
            rescale[row] = shift[row] == shift[row] ? fast_exp2(shift[row] - by) : 0.0f;
            if (most != NEGATIVE_INFINITY) shift[row] = most;
            float total = 0.0f;
#pragma unroll
            for (int j = row * 2; j < COUNT; j += 4) {
                s[j] = fast_exp2(s[j] * scale - by);
                s[j + 1] = fast_exp2(s[j + 1] * scale - by);
                total += s[j] + s[j + 1];
            }
            row_sum[row] = row_sum[row] * rescale[row] + total;
        }
    }

    // Turns scores into powers relative to the shift that is there. Where they are too high, the scores are needed once
    // more, by exponentiate(). Else take_powers() comes next.
    template <int COUNT>
    __device__ __forceinline__ void try_powers(float (&s)[COUNT]) {
        step_sum[0] = step_sum[1] = 0.0f;
#pragma unroll
        for (int i = 0; i < COUNT; i += 2) {
            const int row = i / 2 % 2;
            s[i] = fast_exp2(s[i] * scale - shift[row]);
            s[i + 1] = fast_exp2(s[i + 1] * scale - shift[row]);
            step_sum[row] += s[i] + s[i + 1];
        }
    }
    // Of the last try, or NaN.
    __device__ __forceinline__ bool is_high(int row) const { return !(step_sum[row] < MOST); }
    __device__ __forceinline__ void take_powers() {
        row_sum[0] += step_sum[0];
        row_sum[1] += step_sum[1];
    }

    template <int COUNT>
    __device__ __forceinline__ void rescale_sums(float (&sum)[COUNT]) const {
        if (__all_sync(WHOLE_WARP, rescale[0] == 1.0f && rescale[1] == 1.0f)) return;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sum[i] *= rescale[i / 2 % 2];
    }

    // For one of the two rows: the factor that turns sums into means, and the logarithm (base e) of its row sum.
    __device__ __forceinline__ void finish(int row, float& factor, float& lse) const {
        const float total = quad_sum(row_sum[row]);
        factor = total == 0.0f ? 1.0f : fast_reciprocal(total);
        lse = total == 0.0f ? NEGATIVE_INFINITY : (shift[row] + log2f(total)) * LN_2;
    }
};

// Whether a thread of this warpgroup says so; all of them come along.
__device__ __forceinline__ bool any_of_warpgroup(bool mine, int warpgroup) {
    unsigned result;
    asm volatile("{\n"
                 ".reg .pred mine, any;\n"
                 "setp.ne.u32 mine, %1, 0;\n"
                 "barrier.cta.red.or.pred any, %2, 128, mine;\n"
                 "selp.u32 %0, 1, 0, any;\n"
                 "}"
                 : "=r"(result)
                 : "r"(static_cast<unsigned>(mine)), "r"(warpgroup + 1)
                 : "memory");
    return __any_sync(WHOLE_WARP, result);  // so that the compiler sees that it is the same for a whole warp
}
