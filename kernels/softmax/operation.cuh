// Softmax of a row that several blocks share: row_parts.cuh says what the names mean.
#pragma once

#include "shared/row_parts.cuh"
#include "softmax/statistics.cuh"

struct Softmax {
    static constexpr int INPUTS = 1, WRITTEN = 2, WRITTEN_FROM_SHARED = 2;
    static constexpr bool IN_TWO_PASSES = false;
    static constexpr unsigned OUTSIDE = NEGATIVE_INFINITIES;
    using Statistic = Statistics;
    struct Scale {
        float base, factor;
    };
    struct Extra {};
    struct Edge {};
    using Words = Extra;

    const SCALAR* x;
    SCALAR* y;

    static __device__ __forceinline__ Statistic nothing() { return of_nothing(); }
    static __device__ __forceinline__ Statistic together(const Statistic& a, const Statistic& b) {
        return ::together(a, b);
    }
    template <int LANES>
    static __device__ __forceinline__ Statistic over_lanes(const Statistic& mine) {
        return ::over_lanes<LANES>(mine);
    }
    template <int PACKS>
    static __device__ __forceinline__ void add(Statistic& mine, const Bits (&packs)[PACKS]) {
        mine = ::together(mine, statistics_of(packs));
    }
    template <int PACKS>
    static __device__ __forceinline__ void add_some(Statistic& mine, const Bits (&packs)[PACKS], int) {
        mine = statistics_of(packs);
    }
    static __device__ __forceinline__ float outside() { return NEGATIVE_INFINITY; }
    template <int COUNT>
    static __device__ __forceinline__ Statistic of_elements(const float (&values)[COUNT], int) {
        Statistic mine = of_nothing();
#pragma unroll
        for (int i = 0; i < COUNT; ++i) mine.highest = fmaxf(mine.highest, values[i]);
        const float base = base_of(mine.highest);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) mine.total += power_of(values[i], base);
        return mine;
    }
    static __device__ __forceinline__ void add_element(Statistic& mine, float value) {
        mine = ::together(mine, {value, power_of(value, base_of(value))});
    }

    __device__ __forceinline__ Scale scale_of(const Statistic& all, long long) const {
        return {base_of(all.highest), fast_reciprocal(all.total)};
    }
    __device__ __forceinline__ bool extras_are_aligned(long long) const { return true; }
    __device__ __forceinline__ bool extras_begin_on_words() const { return false; }  // nothing lies beside the packs
    __device__ __forceinline__ Words words(long long) const { return {}; }
    static __device__ __forceinline__ Extra of_words(const Words&, unsigned) { return {}; }
    __device__ __forceinline__ void expect(long long) const {}
    __device__ __forceinline__ void expect_many(long long, int) const {}
    template <bool ALIGNED>
    __device__ __forceinline__ Extra extra(long long) const {
        return {};
    }
    __device__ __forceinline__ void map(float (&values)[PACK], const Extra&, const Scale& scale) const {
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] = power_of(values[i], scale.base) * scale.factor;
    }
    __device__ __forceinline__ Edge edge(long long) const { return {}; }
    static __device__ __forceinline__ float map_edge(float value, const Edge&, const Scale& scale) {
        return power_of(value, scale.base) * scale.factor;
    }
};
