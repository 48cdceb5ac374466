// Layer norm of few rows in registers: held_rows.cuh says what the names mean.
//
// Runs of elements are joined about the mean of one of them: their distances from it and the squares of these are summed
// side by side, where the row's own mean would have to be known before the squares are begun. What cancels in the end is
// bounded: the row's sum of squares is at least the square of that run's distance from the row's mean, times the run's
// elements, so that no more is taken away than the sum as often as there are runs.
#pragma once

#include "layer_norm/operation.cuh"
#include "shared/held_rows.cuh"

struct HeldLayerNorm : LayerNorm {
    struct alignas(16) Sent {
        float count, mean, squares, beside;
    };
    __device__ __forceinline__ HeldLayerNorm(const SCALAR* x, const ColumnVector& w, const ColumnVector& b, SCALAR* y)
        : LayerNorm{x, w, b, y} {}

    static __device__ __forceinline__ Sent nothing_sent() { return {0.0f, 0.0f, 0.0f, 0.0f}; }
    static __device__ __forceinline__ const Sent& sent(const Sent& mine) { return mine; }
    static __device__ __forceinline__ Sent over_warp(const Statistic& mine) {
        const Sent one[1] = {{mine.count, mine.mean, mine.squares, 0.0f}};
        Sent first = one[0];
        first.mean = __shfl_sync(WHOLE_WARP, mine.mean, 0);
        return over_warps(one, first);
    }
    template <int COUNT>
    static __device__ __forceinline__ Sent over_warps(const Sent (&sent)[COUNT], const Sent& first) {
        float count = 0.0f, sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const float distance = sent[i].mean - first.mean, all = sent[i].count * distance;
            count += sent[i].count;
            sum += all;
            squares += fmaf(all, distance, sent[i].squares);
        }
#pragma unroll
        for (int offset = WARP / 2; offset; offset /= 2) {  // side by side, not one sum after the other
            count += __shfl_xor_sync(WHOLE_WARP, count, offset);
            sum += __shfl_xor_sync(WHOLE_WARP, sum, offset);
            squares += __shfl_xor_sync(WHOLE_WARP, squares, offset);
        }
        const float from = count == 0.0f ? 0.0f : sum * fast_reciprocal(count);
        const float left = fmaf(-sum, from, squares);
        return {count, first.mean + from, left < 0.0f ? 0.0f : left, 0.0f};  // fmaxf would lose NaN
    }
    __device__ __forceinline__ Scale scale_of_all(const Sent& all, long long cols) const {
        return {all.mean, rsqrtf(all.squares * one_of(cols) + EPSILON)};
    }

    template <int PACKS>
    struct Kept {
        Bits packs[PACKS];
        // Pack by pack, so that no sum is one long chain.
        template <bool SPARES>
        __device__ __forceinline__ Statistic find(const Bits (&found)[PACKS], int inside) {
            float sum = 0.0f, squares = 0.0f;
#pragma unroll
            for (int p = 0; p < PACKS; ++p) {
                float values[PACK], of_pack = 0.0f;
                packs[p] = found[p];
                unpack_words(packs[p], values);
#pragma unroll
                for (int i = 0; i < PACK; ++i) of_pack += values[i];
                sum += of_pack;
            }
            const float mean = sum * fast_reciprocal(max(inside, 1) * PACK);
            if constexpr (SPARES) keep_packed(packs);
#pragma unroll
            for (int p = 0; p < PACKS; ++p) {
                float values[PACK], of_pack = 0.0f;
                unpack_words(packs[p], values);
                const float from = p < inside ? mean : 0.0f;
#pragma unroll
                for (int i = 0; i < PACK; ++i) of_pack = fmaf(values[i] - from, values[i] - from, of_pack);
                squares += of_pack;
            }
            return {static_cast<float>(inside * PACK), mean, squares};
        }
        __device__ __forceinline__ void map(
            const HeldLayerNorm& norm, int p, const Extra& extra, const Scale& scale, float (&values)[PACK]
        ) const {
            unpack_words(packs[p], values);
            norm.LayerNorm::map(values, extra, scale);
        }
    };
    template <int PACKS, bool ALIGNED, template <int, bool> class COLUMNS>
    struct Extras {
        COLUMNS<PACKS, ALIGNED> w, b;
        __device__ __forceinline__ void load(const HeldLayerNorm& norm, const HeldShare<ALIGNED>& share) {
            COLUMNS<PACKS, ALIGNED>::begin(2);
            w.load(norm.w.start, share);
            b.load(norm.b.start, share, 1);
        }
        __device__ __forceinline__ Extra at(int p, const HeldShare<ALIGNED>& share) const {
            return {w.at(p, share), b.at(p, share)};
        }
    };
};
