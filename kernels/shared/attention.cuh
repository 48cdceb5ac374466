// Shared by the attention kernels on mma and on wgmma: softmax and stores of a warp's 16 rows of sums.
//
// Sums lie as mma and wgmma leave them. With g = lane / 4 and i = lane % 4 a thread holds columns 8 j + 2 i and the
// next of rows g and g + 8, in sum[4 j] to sum[4 j + 3].
#pragma once

#include "shared/ampere.cuh"

constexpr float LN_2 = 0.6931471805599453f;

// 1 / sqrt(dim).
template <int DIM>
constexpr float ROOT = DIM == 64    ? 0.125f
                       : DIM == 96  ? 0.10206207261596575f
                       : DIM == 128 ? 0.08838834764831845f
                       : DIM == 192 ? 0.07216878364870323f
                                    : 0.0625f;

__device__ __forceinline__ float quad_max(float value) {
    value = fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, 1));
    return fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, 2));
}

__device__ __forceinline__ float quad_sum(float value) {
    value += __shfl_xor_sync(WHOLE_WARP, value, 1);
    return value + __shfl_xor_sync(WHOLE_WARP, value, 2);
}

// Online softmax of two rows a thread: takes in their scores block by block.
struct Softmax {
    float scale;                                                // log2(e) / sqrt(dim)
    float row_max[2] = {NEGATIVE_INFINITY, NEGATIVE_INFINITY};  // highest score so far
    float row_sum[2] = {};                                      // this thread's share of the sum of powers
    float rescale[2];                                           // the factor for sums made before the last scores

    __device__ __forceinline__ explicit Softmax(float scale) : scale(scale) {}

    // Turns scores into powers relative to the row maximum so far. Where no score is finite, powers are 0.
    template <int COUNT>
    __device__ __forceinline__ void exponentiate(float (&s)[COUNT]) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            float new_max = row_max[row];
#pragma unroll
            for (int j = row * 2; j < COUNT; j += 4) new_max = fmaxf(new_max, fmaxf(s[j], s[j + 1]));
            new_max = quad_max(new_max);
            const float shift = new_max == NEGATIVE_INFINITY ? 0.0f : new_max * scale;
            rescale[row] = fast_exp2(row_max[row] * scale - shift);
            row_max[row] = new_max;
            float total = 0.0f;
#pragma unroll
            for (int j = row * 2; j < COUNT; j += 4) {
                s[j] = fast_exp2(s[j] * scale - shift);
                s[j + 1] = fast_exp2(s[j + 1] * scale - shift);
                total += s[j] + s[j + 1];
            }
            row_sum[row] = row_sum[row] * rescale[row] + total;
        }
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
        lse = (row_max[row] * scale + log2f(total)) * LN_2;
    }
};

// Rounds sums to pairs: as they lie they are the first operand of the next product.
template <int COUNT>
__device__ __forceinline__ void to_operand(const float (&s)[COUNT], unsigned (&p)[COUNT / 2]) {
#pragma unroll
    for (int i = 0; i < COUNT / 2; ++i) from_floats(s[2 * i], s[2 * i + 1], reinterpret_cast<SCALAR*>(&p[i]));
}

// Stores one of a thread's two rows times `factor`; `to` is the row's first element, on 16 bytes.
template <int COUNT>
__device__ __forceinline__ void store_row(const float (&sum)[COUNT], int row, float factor, SCALAR* to, bool inside) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int j = 0; j < COUNT / 4; j += 4) {
        unsigned words[4];
#pragma unroll
        for (int l = 0; l < 4; ++l) {
            const float* pair = &sum[(j + l) * 4 + row * 2];
            from_floats(pair[0] * factor, pair[1] * factor, reinterpret_cast<SCALAR*>(&words[l]));
        }
        transpose_quad(words, lane);  // now 8 neighbours of 8 (j + lane % 4)
        if (!inside) continue;
        *reinterpret_cast<uint4*>(to + (j + lane % 4) * 8) = make_uint4(words[0], words[1], words[2], words[3]);
    }
}
