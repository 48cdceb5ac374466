// Softmax of few rows in registers: held_rows.cuh says what the names mean.
//
// A thread keeps powers, not what they are of.
#pragma once

#include "shared/held_rows.cuh"
#include "softmax/operation.cuh"

struct HeldSoftmax : Softmax {
    struct alignas(8) Sent {
        float highest, total;
    };
    struct Whole {
        float highest, factor;
    };
    __device__ __forceinline__ HeldSoftmax(const SCALAR* x, SCALAR* y) : Softmax{x, y} {}

    static __device__ __forceinline__ Sent nothing_sent() { return {NEGATIVE_INFINITY, 0.0f}; }
    static __device__ __forceinline__ const Sent& sent(const Sent& mine) { return mine; }
    static __device__ __forceinline__ Sent over_warp(const Statistic& mine) {
        const Sent one[1] = {{mine.highest, mine.total}};
        return over_warps(one, one[0]);
    }
    template <int COUNT>
    static __device__ __forceinline__ Sent over_warps(const Sent (&sent)[COUNT], const Sent&) {
        float highest = sent[0].highest, total = 0.0f;
#pragma unroll
        for (int i = 1; i < COUNT; ++i) highest = fmaxf(highest, sent[i].highest);
        highest = highest_of_warp(highest);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) total += sent[i].total * rescale(sent[i].highest, highest);
        return {highest, lanes_sum<WARP>(total)};
    }
    __device__ __forceinline__ Whole scale_of_all(const Sent& all, long long) const {
        return {all.highest, fast_reciprocal(all.total)};
    }
    static __device__ __forceinline__ float map_edge(float value, const Edge&, const Whole& whole) {
        return power_of(value, base_of(whole.highest)) * whole.factor;
    }

    template <int PACKS>
    struct Kept {
        KeptPowers<PACKS> powers;
        template <bool SPARES>
        __device__ __forceinline__ Statistic find(const Bits (&found)[PACKS], int) {
            return powers.find(found);
        }
        __device__ __forceinline__ void map(
            const HeldSoftmax&, int p, const Extra&, const Whole& whole, float (&values)[PACK]
        ) const {
            const float factor = powers.factor(whole.highest, whole.factor);
#pragma unroll
            for (int i = 0; i < PACK; ++i) values[i] = powers.of[p][i] * factor;
        }
    };
    template <int PACKS, bool ALIGNED, template <int, bool> class>
    struct Extras {
        __device__ __forceinline__ void load(const HeldSoftmax&, const HeldShare<ALIGNED>&) {}
        __device__ __forceinline__ Extra at(int, const HeldShare<ALIGNED>&) const { return {}; }
    };
};
