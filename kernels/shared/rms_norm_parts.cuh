// RMS norm of a row that several blocks share: row_parts.cuh says what the names mean.
#pragma once

#include "shared/rms_norm.cuh"
#include "shared/row_parts.cuh"

struct RmsNorm {
    static constexpr int INPUTS = 1, WRITTEN = 2,
                         WRITTEN_FROM_SHARED = __CUDA_ARCH__ == 900 ? 4 : 2;  // more would spill
    static constexpr bool IN_TWO_PASSES = false;
    static constexpr unsigned OUTSIDE = 0;
    struct Statistic {
        float squares;
    };
    using Scale = float;
    using Extra = Bits;
    using Edge = float;
    using Words = ColumnVector::Words;

    const SCALAR* x;
    ColumnVector w;
    SCALAR* y;

    static __device__ __forceinline__ Statistic nothing() { return {0.0f}; }
    static __device__ __forceinline__ Statistic together(const Statistic& a, const Statistic& b) {
        return {a.squares + b.squares};
    }
    template <int LANES>
    static __device__ __forceinline__ Statistic over_lanes(const Statistic& mine) {
        return {lanes_sum<LANES>(mine.squares)};
    }
    template <int PACKS>
    static __device__ __forceinline__ void add(Statistic& mine, const Bits (&packs)[PACKS]) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) mine.squares += squares_of(packs[p]);
    }
    template <int PACKS>
    static __device__ __forceinline__ void add_some(Statistic& mine, const Bits (&packs)[PACKS], int) {
        add(mine, packs);
    }
    static __device__ __forceinline__ float outside() { return 0.0f; }
    template <int COUNT>
    static __device__ __forceinline__ Statistic of_elements(const float (&values)[COUNT], int) {
        Statistic mine = nothing();
#pragma unroll
        for (int i = 0; i < COUNT; ++i) add_element(mine, values[i]);
        return mine;
    }
    static __device__ __forceinline__ void add_element(Statistic& mine, float value) {
        mine.squares = fmaf(value, value, mine.squares);
    }

    __device__ __forceinline__ Scale scale_of(const Statistic& all, long long cols) const {
        return rsqrtf(all.squares * fast_reciprocal(static_cast<float>(cols)) + EPSILON);
    }
    __device__ __forceinline__ bool extras_are_aligned(long long column) const { return w.is_aligned(column); }
    __device__ __forceinline__ bool extras_begin_on_words() const { return w.is_aligned(0); }
    __device__ __forceinline__ Words words(long long column) const { return w.words(column); }
    static __device__ __forceinline__ Extra of_words(const Words& words, unsigned bytes) { return words.from(bytes); }
    __device__ __forceinline__ void expect(long long column) const { w.expect(column); }
    __device__ __forceinline__ void expect_many(long long column, int columns) const { w.expect_many(column, columns); }
    template <bool ALIGNED>
    __device__ __forceinline__ Extra extra(long long column) const {
        return w.at<ALIGNED>(column);
    }
    __device__ __forceinline__ void map(float (&values)[PACK], const Extra& w, Scale scale) const {
        float weights[PACK];
        unpack_words(w, weights);
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] = values[i] * scale * weights[i];
    }
    __device__ __forceinline__ Edge edge(long long column) const { return w.element(column); }
    static __device__ __forceinline__ float map_edge(float value, Edge w, Scale scale) { return value * scale * w; }
};
