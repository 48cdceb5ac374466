// Many short rows, a thread each, by way of shared memory: lanes that share one would meet twice for its loss.
#pragma once

#include "cross_entropy/short_rows.cuh"
#include "shared/slab_rows.cuh"

// Calls act(word) for the words of some accesses of a row, several of which are read at once.
template <int WIDTH, typename Act>
__device__ __forceinline__ void for_words(const SlabRow<WIDTH>& row, const Act& act) {
    using Row = SlabRow<WIDTH>;
    constexpr int WORDS = Row::EACH * sizeof(SCALAR) / 4, AHEAD = 4;
    struct alignas(WORDS * 4) Some {
        unsigned word[WORDS];
    };
    const Some* const words = reinterpret_cast<const Some*>(row.row + row.head);
    int a = 0;
    for (; a + AHEAD <= row.accesses; a += AHEAD) {
        Some some[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) some[i] = words[a + i];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
#pragma unroll
            for (int j = 0; j < WORDS; ++j) act(some[i].word[j]);
        }
    }
#pragma unroll 1
    for (; a < row.accesses; ++a) {
        const Some some = words[a];
#pragma unroll
        for (int j = 0; j < WORDS; ++j) act(some.word[j]);
    }
}

// Where each row begins on as many bytes as WIDTH elements have.
template <int WIDTH>
__device__ __forceinline__ void losses_of_slab(
    const SCALAR* x, const long long* labels, SCALAR* loss, long long rows, long long cols
) {
    extern __shared__ __align__(16) Bits slab_packs[];
    using Row = SlabRow<WIDTH>;
    const Slab slab(slab_packs, rows, cols);
    const bool has_row = static_cast<int>(threadIdx.x) < slab.rows;
    const long long label = has_row ? labels[slab.first + threadIdx.x] : IGNORED;
    slab.load(x);
    if (!has_row) return;
    const Row row(slab.row(threadIdx.x), slab.cols);
    const float single = Row::HAS_SINGLE ? to_float(row.row[row.single()]) : NEGATIVE_INFINITY;
    unsigned word = NEGATIVE_INFINITIES;
    for_words(row, [&](unsigned one) { word = higher_of_words(word, one); });
    const float highest = fmaxf(highest_of_word(word), single);
    const float base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
    const auto power = [&](float value) { return fast_exp2((value - base) * LOG2_E); };
    float totals[2] = {Row::HAS_SINGLE ? power(single) : 0.0f, 0.0f};
    for_words(row, [&](unsigned one) {
        if constexpr (sizeof(SCALAR) == 4) {
            totals[0] += power(__uint_as_float(one));
        } else {
            totals[0] += power(to_float(reinterpret_cast<const SCALAR*>(&one)[0]));
            totals[1] += power(to_float(reinterpret_cast<const SCALAR*>(&one)[1]));
        }
    });
    const float at_label = load_at(row.row, label, cols);
    store_loss(Statistics{highest, totals[0] + totals[1]}, at_label, label == IGNORED, loss + slab.first + threadIdx.x);
}
