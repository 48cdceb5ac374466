// RMS norm of few rows in registers, of one input or of two that are joined: held_rows.cuh says what the names mean.
#pragma once

#include "shared/held_rows.cuh"
#include "shared/rms_norm_parts.cuh"

template <typename Norm>
struct HeldRmsNorm : Norm {
    using Statistic = RmsNorm::Statistic;
    using Sent = Statistic;
    template <typename... Arguments>
    __device__ __forceinline__ HeldRmsNorm(const Arguments&... arguments) : Norm{arguments...} {}

    static __device__ __forceinline__ Sent nothing_sent() { return RmsNorm::nothing(); }
    static __device__ __forceinline__ const Sent& sent(const Statistic& mine) { return mine; }
    static __device__ __forceinline__ Statistic over_warp(const Statistic& mine) {
        return RmsNorm::over_lanes<WARP>(mine);
    }
    template <int COUNT>
    static __device__ __forceinline__ Statistic over_warps(const Sent (&sent)[COUNT], const Sent&) {
        float squares = 0.0f;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) squares += sent[i].squares;
        return {lanes_sum<WARP>(squares)};
    }
    __device__ __forceinline__ float scale_of_all(const Statistic& all, long long cols) const {
        return rsqrtf(all.squares * one_of(cols) + EPSILON);
    }

    template <int PACKS>
    struct Kept {
        Bits packs[PACKS];
        template <bool SPARES>
        __device__ __forceinline__ Statistic find(const Bits (&found)[PACKS], int) {
            auto mine = RmsNorm::nothing();
#pragma unroll
            for (int p = 0; p < PACKS; ++p) packs[p] = found[p];
            RmsNorm::add(mine, packs);
            return mine;
        }
        __device__ __forceinline__ void map(
            const HeldRmsNorm& norm, int p, const Bits& w, float scale, float (&values)[PACK]
        ) const {
            unpack_words(packs[p], values);
            norm.RmsNorm::map(values, w, scale);
        }
    };
    template <int PACKS, bool ALIGNED, template <int, bool> class COLUMNS>
    struct Extras {
        COLUMNS<PACKS, ALIGNED> w;
        __device__ __forceinline__ void load(const HeldRmsNorm& norm, const HeldShare<ALIGNED>& share) {
            COLUMNS<PACKS, ALIGNED>::begin(1);
            w.load(norm.w.start, share);
        }
        __device__ __forceinline__ Bits at(int p, const HeldShare<ALIGNED>& share) const { return w.at(p, share); }
    };
};
