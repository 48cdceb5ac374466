// Tiles of packed sequences, whose lengths only the GPU knows: their order, and which is number so and so.
#pragma once

#include "shared/common.cuh"

// Of keys and values at most: L2, 50 MB on Hopper, holds what the tiles of a group of heads read again.
constexpr int GROUP_BYTES = 32 << 20;

// QUERIES of a sequence from `first_query` on, of one head; the sequence's rows begin at `begin`.
struct PackedTile {
    int begin;
    int length;  // of the sequence
    int first_query;
    int head;

    // The last step of KEYS keys that any of these queries sees.
    template <int QUERIES, int KEYS>
    __device__ __forceinline__ int last_step() const {
        return (min(first_query + QUERIES, length) - 1) / KEYS;
    }
};

// First row and length of a sequence, whatever its offsets are: no row beyond the tokens.
__device__ __forceinline__ int2 rows_of(const int* __restrict__ offsets, int sequence, int tokens) {
    const int begin = min(max(offsets[sequence], 0), tokens);
    return make_int2(begin, max(min(offsets[sequence + 1], tokens) - begin, 0));
}

// Of each sequence its first row, its length, and how many tiles come before it; behind the last the number of all.
// Every sequence counts those that go before it, the longer ones: batch x batch steps, by as many threads as sequences. A
// block of SORTERS has the lengths of as many in shared memory at a time.
constexpr int SORTERS = 256;  // threads of a block, as in the launcher
__device__ __forceinline__ void sort_sequences(
    const int* __restrict__ offsets, int4* __restrict__ sorted, int* __restrict__ counter, int batch, int tokens,
    int heads, int queries
) {
    __shared__ int2 others[SORTERS];  // lengths and tiles
    const int mine = blockIdx.x * SORTERS + threadIdx.x;
    if (mine == 0) *counter = 0;
    const int2 own = mine < batch ? rows_of(offsets, mine, tokens) : make_int2(0, 0);
    int place = 0, tiles = 0;
    for (int first = 0; first < batch; first += SORTERS) {
        const int theirs = first + threadIdx.x;
        const int length = theirs < batch ? rows_of(offsets, theirs, tokens).y : -1;  // -1 goes before none
        __syncthreads();
        others[threadIdx.x] = make_int2(length, (length + queries - 1) / queries);
        __syncthreads();
        const int count = min(batch - first, SORTERS);
#pragma unroll 8
        for (int i = 0; i < count; ++i) {
            const int2 other = others[i];
            const bool goes_before = other.x > own.y || (other.x == own.y && first + i < mine);
            place += goes_before;
            tiles += goes_before ? other.y : 0;
        }
    }
    if (mine >= batch) return;
    sorted[place] = make_int4(own.x, own.y, tiles * heads, 0);
    if (place == batch - 1) sorted[batch] = make_int4(0, 0, (tiles + (own.y + queries - 1) / queries) * heads, 0);
}

// A warp looks tiles up; their numbers only rise.
struct PackedTiles {
    const int4* sorted;
    int batch;
    int heads;
    int sharing;       // query heads that have one head of keys and values
    int sequence = 0;  // in the order of `sorted`

    __device__ __forceinline__ PackedTiles(const int4* sorted, int batch, int heads, int sharing)
        : sorted(sorted), batch(batch), heads(heads), sharing(sharing) {}

    // Goes on to the sequence of this tile; false where there are not so many. All lanes of a warp.
    __device__ __forceinline__ bool find(int number, int lane) {
        unsigned passed;
        do {
            const int end = sequence + 1 + lane;  // a sequence ends where the next one begins
            passed = __ballot_sync(WHOLE_WARP, end <= batch && number >= sorted[end].z);
            sequence += __popc(passed);
        } while (passed == WHOLE_WARP);
        return sequence < batch;
    }

    // Tiles of the found sequence: groups of heads, in each the later queries first, which see more keys, of every
    // head in turn.
    template <int QUERIES, int DIM>
    __device__ __forceinline__ PackedTile tile(int number) const {
        const int4 found = sorted[sequence];
        const int of_head = (found.y + QUERIES - 1) / QUERIES;
        const int most = max(GROUP_BYTES / (DIM * 4) / found.y, 1) * sharing;
        const int group = most >= heads ? heads : most;
        int rest = number - found.z;
        const int first_head = rest / (group * of_head) * group;
        rest -= first_head * of_head;
        const int count = min(group, heads - first_head);
        return {found.x, found.y, (of_head - 1 - rest / count) * QUERIES, first_head + rest % count};
    }
};
