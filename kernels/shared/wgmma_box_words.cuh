// A box that TMA cannot store, by words of 16 bytes: part of wgmma_stores.cuh.
//
// Mapping: 8 lanes have a row of 128 bytes, so that a warp stores four rows at a time, each lane a word as it lies in C. Of the
//   words at both ends of a row other tiles have a part: what is this tile's are as many elements as a word has, or none, where
//   a box is full, and each lane stores one of them at most.
// Idea: a row at a time by words of 4 bytes is many more instructions, and a wait for shared memory at each.
#pragma once

#include "shared/amid_words.cuh"

// `rows` rows of a box, by the WARPS of a warpgroup or one of them; not more are in flight, as kernels with many sums lack
// registers. Of rows that are 8 or a multiple of it apart the words begin alike, and so a lane finds its places once.
template <int WIDTH = BOX_N, int WARPS = WARPGROUP / WARP>
__device__ __forceinline__ void copy_loose(
    const unsigned char* box, const Loose& loose, unsigned rows, unsigned row0, unsigned column0
) {
    constexpr int PITCH = WIDTH * sizeof(SCALAR), CHUNKS = PITCH / 16;
    constexpr unsigned TOGETHER = WARPS * WARP / CHUNKS, STEP = TOGETHER < 8 ? 8 : TOGETHER;
    const int chunk = threadIdx.x % CHUNKS;
    const int columns = min(static_cast<int>(loose.n - column0), WIDTH);
    if (columns <= 0 || row0 >= loose.m) return;
    const unsigned count = min(rows, loose.m - row0);
#pragma unroll
    for (unsigned turn = 0; turn < STEP; turn += TOGETHER) {
        const unsigned first = turn + threadIdx.x % (WARPS * WARP) / CHUNKS;
        const auto place_of = [&](int column) {
            const int of_row = WIDTH == BOX_N ? column / PACK ^ first % 8 : column / PACK;
            return box + first * PITCH + of_row * 16 + column % PACK * sizeof(SCALAR);
        };
        SCALAR* to = loose.c + (static_cast<unsigned long long>(row0 + first) * loose.n + column0);
        const int before = -static_cast<int>(reinterpret_cast<unsigned long long>(to) / sizeof(SCALAR)) & (PACK - 1);
        const int head = min(before, columns), ends = head + (columns - head) % PACK, begin = chunk * PACK + before;
        const unsigned char* const low_at = place_of(chunk * PACK);
        const unsigned char* const high_at = place_of(min(chunk + 1, CHUNKS - 1) * PACK);
#pragma unroll 1
        for (unsigned past = 0; past < rows; past += STEP, to += STEP * static_cast<unsigned long long>(loose.n)) {
            const uint4 low = *reinterpret_cast<const uint4*>(low_at + past * PITCH);
            const uint4 high = *reinterpret_cast<const uint4*>(high_at + past * PITCH);
            const bool has_row = first + past < count;
            unsigned words[4];
            bytes_amid(low, high, before * sizeof(SCALAR), words);
            if (has_row && begin + PACK <= columns)
                *reinterpret_cast<uint4*>(to + begin) = make_uint4(words[0], words[1], words[2], words[3]);
            const auto store_end = [&](int i) {
                const int column = i < head ? i : columns - ends + i;
                if (has_row && i < ends) to[column] = *reinterpret_cast<const SCALAR*>(place_of(column) + past * PITCH);
            };
#pragma unroll
            for (int i = 0; i < PACK; i += CHUNKS) store_end(i + chunk);
            if (columns < WIDTH) {  // nearly two words of elements
#pragma unroll 1
                for (int i = max(PACK, CHUNKS); i < 2 * PACK - 2; i += CHUNKS) store_end(i + chunk);
            }
        }
    }
}
