// Boxes of 16-bit elements that TMA cannot store, by words of 16 bytes: part of wgmma_stores.cuh where LOOSE_BY_WORDS is defined.
//
// Mapping: a warpgroup fills two boxes, 128 columns, and then its warps store words as they lie in C, two rows at a time; of the
//   words at both ends of a row other tiles have a part.
// Idea: a row of one box, as copy_loose takes them, ends amid a word twice as often.
#pragma once

#include "shared/amid_words.cuh"
#include "shared/word_ends.cuh"

// 64 rows of COLUMNS / 64 boxes beside each other, by the warpgroup, two rows at a time by each warp: words of 16 bytes as they
// lie in C, each out of two chunks of a row, and the elements of words at both ends of a row.
template <int COLUMNS>
__device__ __forceinline__ void copy_words(
    const unsigned char* boxes, const Loose& loose, unsigned row0, unsigned column0
) {
    constexpr int CHUNKS = COLUMNS / 8, ROWS = WARP / CHUNKS;  // of a row, of a warp at a time
    const int lane = threadIdx.x % WARP, chunk = lane % CHUNKS;
    const int columns = min(static_cast<int>(loose.n - column0), COLUMNS);
    const auto chunk_at = [&](int row, int of) {
        return *reinterpret_cast<const uint4*>(boxes + of / 8 * BOX + row * ROW + (of % 8 ^ row % 8) * 16);
    };
#pragma unroll 2
    for (int i = 0; i < 64 / (4 * ROWS); ++i) {
        const int row = i * 4 * ROWS + threadIdx.x % WARPGROUP / WARP * ROWS + lane / CHUNKS;
        if (row0 + row >= loose.m) return;
        SCALAR* const to = loose.c + (static_cast<unsigned long long>(row0 + row) * loose.n + column0);
        const int past = static_cast<int>(reinterpret_cast<unsigned long long>(to) / sizeof(SCALAR) % 8);
        const int before = -past & 7, first = chunk * 8 + before;  // elements before a word
        const uint4 low = chunk_at(row, chunk), high = chunk_at(row, min(chunk + 1, CHUNKS - 1));
        unsigned words[4];
        bytes_amid(low, high, before * 2, words);
        if (first + 8 <= columns)
            *reinterpret_cast<uint4*>(to + first) = make_uint4(words[0], words[1], words[2], words[3]);
        else if (first < columns) store_within_word(to + first, words, columns - first);
        if (chunk == 0 && before <= columns) {
            store_before_word(to, low, before);
        } else if (chunk == 0) {  // the row ends before its first word
            const auto* const elements = reinterpret_cast<const SCALAR*>(boxes + row * ROW + row % 8 * 16);
            for (int j = 0; j < columns; ++j) to[j] = elements[j];
        }
    }
}

// The rows of a warpgroup from column FIRST on, where TMA cannot store them.
template <int FIRST = 0, int COUNT, class Finish>
__device__ __forceinline__ void store_loose(
    const float (&sum)[COUNT], unsigned char* boxes, int row0, int column0, const Finish& finish, const Loose& loose
) {
    constexpr int COLUMNS = COUNT * 2 - FIRST < 2 * BOX_N ? BOX_N : 2 * BOX_N;
    const int warpgroup = threadIdx.x / WARPGROUP;
    meet_warpgroup(warpgroup);
    fill_box(sum, boxes, FIRST, column0, finish);
    if constexpr (COLUMNS > BOX_N) fill_box(sum, boxes + BOX, FIRST + BOX_N, column0, finish);
    meet_warpgroup(warpgroup);
    if (column0 + FIRST < static_cast<int>(loose.n)) copy_words<COLUMNS>(boxes, loose, row0, column0 + FIRST);
    if constexpr (FIRST + COLUMNS < COUNT * 2) {
        store_loose<FIRST + COLUMNS>(sum, boxes, row0, column0, finish, loose);
    }
}
