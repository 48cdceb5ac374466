// Layer norm of a row that several blocks share: row_parts.cuh says what the names mean.
//
// Mean and variance are found together, though never as the difference of two large sums: packs have a mean of their
// own and squares about it, and runs of elements are joined by the distances of their means (Chan, Golub and LeVeque,
// "Updating formulae and a pairwise algorithm for computing sample variances", 1979). So blocks meet once a row.
#pragma once

#include "shared/row_parts.cuh"

constexpr float EPSILON = 1e-5f;

// sum / cols as exactly as a division gives it, in two instructions more than a product with the reciprocal
// (Markstein 1990): where the mean is large beside the deviation, its error is that much larger in the result.
__device__ __forceinline__ float quotient(float sum, long long cols) {
    const float divisor = static_cast<float>(static_cast<int>(cols)), inverse = one_of(cols);
    const float rough = sum * inverse;
    return fmaf(fmaf(-rough, divisor, sum), inverse, rough);
}

struct LayerNorm {
    static constexpr int INPUTS = 1, WRITTEN = 2, WRITTEN_FROM_SHARED = 2;
    static constexpr bool IN_TWO_PASSES = true;  // by a row group
    static constexpr unsigned OUTSIDE = 0;
    struct Statistic {
        float count, mean, squares;  // squares: of the differences from the mean
    };
    struct Scale {
        float mean, factor;
    };
    struct Edge {
        float w, b;
    };
    struct Extra {
        Bits w, b;
    };
    struct Words {
        ColumnVector::Words w, b;
    };

    const SCALAR* x;
    ColumnVector w, b;
    SCALAR* y;

    static __device__ __forceinline__ Statistic nothing() { return {0.0f, 0.0f, 0.0f}; }
    static __device__ __forceinline__ Statistic together(const Statistic& a, const Statistic& b) {
        if (a.count == 0.0f) return b;
        if (b.count == 0.0f) return a;
        const float count = a.count + b.count, distance = b.mean - a.mean;
        const float part = b.count * fast_reciprocal(count);
        return {count, fmaf(distance, part, a.mean), fmaf(distance * distance, a.count * part, a.squares + b.squares)};
    }
    // All at once: their mean, then how far each is from it. Pair by pair takes twice as long.
    template <int LANES>
    static __device__ __forceinline__ Statistic over_lanes(const Statistic& mine) {
        const float count = lanes_sum<LANES>(mine.count), sum = lanes_sum<LANES>(mine.count * mine.mean);
        const float inverse = count == 0.0f ? 0.0f : fast_reciprocal(count), rough = sum * inverse;
        const float mean = fmaf(fmaf(-rough, count, sum), inverse, rough), distance = mine.mean - mean;
        return {count, mean, lanes_sum<LANES>(fmaf(mine.count * distance, distance, mine.squares))};
    }
    template <int PACKS>
    static __device__ __forceinline__ void add(Statistic& mine, const Bits (&packs)[PACKS]) {
        mine = together(mine, statistic_of(packs, PACKS, 1.0f / (PACKS * PACK)));  // a power of two: exact
    }
    template <int PACKS>
    static __device__ __forceinline__ void add_some(Statistic& mine, const Bits (&packs)[PACKS], int inside) {
        if (inside) mine = together(mine, statistic_of(packs, inside, fast_reciprocal(inside * PACK)));
    }
    // Of the first `inside` packs; the others are 0.
    template <int PACKS>
    static __device__ __forceinline__ Statistic
    statistic_of(const Bits (&packs)[PACKS], int inside, float one_of_them) {
        float sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            float values[PACK];
            unpack_words(packs[p], values);
#pragma unroll
            for (int i = 0; i < PACK; ++i) sum += values[i];
        }
        const float mean = sum * one_of_them;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            float values[PACK];
            unpack_words(packs[p], values);
            const float from = p < inside ? mean : 0.0f;
#pragma unroll
            for (int i = 0; i < PACK; ++i) squares = fmaf(values[i] - from, values[i] - from, squares);
        }
        return {static_cast<float>(inside * PACK), mean, squares};
    }
    static __device__ __forceinline__ float outside() { return 0.0f; }
    template <int COUNT>
    static __device__ __forceinline__ Statistic of_elements(const float (&values)[COUNT], int count) {
        float sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sum += values[i];
        const float mean = count ? quotient(sum, count) : 0.0f;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const float difference = i < count ? values[i] - mean : 0.0f;
            squares = fmaf(difference, difference, squares);
        }
        return {static_cast<float>(count), mean, squares};
    }
    static __device__ __forceinline__ void add_element(Statistic& mine, float value) {
        mine = together(mine, {1.0f, value, 0.0f});
    }

    __device__ __forceinline__ Scale scale_of(const Statistic& all, long long cols) const {
        return {all.mean, rsqrtf(all.squares * fast_reciprocal(static_cast<float>(cols)) + EPSILON)};
    }
    // Of a row in the registers of a row group, where a second sum takes less time than means that are joined pair by pair.
    template <int GROUP, int PACKS, int EDGES>
    static __device__ __forceinline__ Scale
    scale_by_sums(const Bits (&packs)[PACKS], int inside, const float (&edges)[EDGES], int edges_here, long long cols) {
        float sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            float values[PACK];
            unpack_words(packs[p], values);
#pragma unroll
            for (int i = 0; i < PACK; ++i) sum += values[i];
        }
#pragma unroll
        for (int e = 0; e < EDGES; ++e) sum += e < edges_here ? edges[e] : 0.0f;
        const float mean = quotient(group_sum<GROUP, 0>(sum), cols);
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            float values[PACK];
            unpack_words(packs[p], values);
            const float from = p < inside ? mean : 0.0f;
#pragma unroll
            for (int i = 0; i < PACK; ++i) squares = fmaf(values[i] - from, values[i] - from, squares);
        }
#pragma unroll
        for (int e = 0; e < EDGES; ++e) {
            const float difference = e < edges_here ? edges[e] - mean : 0.0f;
            squares = fmaf(difference, difference, squares);
        }
        return {mean, rsqrtf(group_sum<GROUP, 1>(squares) * one_of(cols) + EPSILON)};
    }
    __device__ __forceinline__ bool extras_are_aligned(long long column) const {
        return w.is_aligned(column) && b.is_aligned(column);
    }
    __device__ __forceinline__ bool extras_begin_on_words() const { return w.is_aligned(0) && b.is_aligned(0); }
    __device__ __forceinline__ Words words(long long column) const { return {w.words(column), b.words(column)}; }
    static __device__ __forceinline__ Extra of_words(const Words& words, unsigned bytes) {
        return {words.w.from(bytes), words.b.from(bytes)};
    }
    __device__ __forceinline__ void expect(long long column) const {
        w.expect(column);
        b.expect(column);
    }
    __device__ __forceinline__ void expect_many(long long column, int columns) const {
        w.expect_many(column, columns);
        b.expect_many(column, columns);
    }
    template <bool ALIGNED>
    __device__ __forceinline__ Extra extra(long long column) const {
        return {w.at<ALIGNED>(column), b.at<ALIGNED>(column)};
    }
    __device__ __forceinline__ void map(float (&values)[PACK], const Extra& extra, const Scale& scale) const {
        float weights[PACK], shifts[PACK];
        unpack_words(extra.w, weights);
        unpack_words(extra.b, shifts);
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] = fmaf((values[i] - scale.mean) * scale.factor, weights[i], shifts[i]);
    }
    __device__ __forceinline__ Edge edge(long long column) const { return {w.element(column), b.element(column)}; }
    static __device__ __forceinline__ float map_edge(float value, const Edge& edge, const Scale& scale) {
        return fmaf((value - scale.mean) * scale.factor, edge.w, edge.b);
    }
};
