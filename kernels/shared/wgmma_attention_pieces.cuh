// What a block of attention on Hopper takes in turn: tiles, and where a last round of tiles would leave most blocks idle,
// equal shares of their steps; and the last kernel, which puts together what several blocks found of one tile.
#pragma once

#include "shared/attention.cuh"
#include "shared/overlap.cuh"
#include "shared/wgmma_attention_products.cuh"

// Steps `first` to `last` of keys that QUERIES of a head from `first_query` on see, or some of them.
struct alignas(16) Piece {
    int head;  // -1: there is none
    int first_query;
    int first;
    int last;
    int length;  // of the sequence
    int place;   // what else its source has to say
};

struct TileOrigin {
    int head;
    int first_query;
};

// Heads are in groups; in a group the tiles that see most keys come first, of every head in turn. The first group also
// has the remaining heads, so that the last one is whole.
template <int QUERIES, int KEYS, bool CAUSAL>
struct Tiles {
    int seq;
    int of_head;
    int count;
    int group;  // heads
    int remaining;

    __device__ __forceinline__ Tiles(int seq, int heads, int group)
        : seq(seq), of_head((seq + QUERIES - 1) / QUERIES), count(heads * of_head), group(group),
          remaining(heads % group) {}

    // This block's tile of a turn: dealt to and fro where some take longer.
    static __device__ __forceinline__ int of_turn(int turn) {
        const int blocks = gridDim.x, block = blockIdx.x;
        return turn * blocks + (CAUSAL && turn % 2 == 1 ? blocks - 1 - block : block);
    }
    __device__ __forceinline__ TileOrigin origin(int tile) const {
        const int number = (tile - remaining * of_head) / (group * of_head);  // of the group; division rounds to 0
        const int heads = number == 0 ? remaining + group : group;
        const int first_head = number == 0 ? 0 : remaining + number * group;
        const int rest = tile - first_head * of_head;
        return {first_head + rest % heads, (of_head - 1 - rest / heads) * QUERIES};
    }
    // The last step of KEYS keys that any of these queries sees.
    __device__ __forceinline__ int last_step(int first_query) const {
        return (CAUSAL ? min(first_query + QUERIES, seq) - 1 : seq - 1) / KEYS;
    }
    // The first one of a window in which a query sees `window` keys, its own the last of them.
    __device__ __forceinline__ int first_step(int first_query, int window) const {
        return max(first_query - window + 1, 0) / KEYS;
    }
};

// The tiles from number `whole` on are divided: their steps, one tile's after the other's, into one chunk a block.
struct Division {
    int whole;
    int chunks;

    // The first step of a chunk, counted over all divided tiles.
    __device__ __forceinline__ int first_step(int chunk, int steps) const {
        return static_cast<int>(static_cast<long long>(steps) * chunk / chunks);
    }
    // The chunk that has a step.
    __device__ __forceinline__ int chunk_of(int step, int steps) const {
        return static_cast<int>(((step + 1ll) * chunks - 1) / steps);
    }
};

// Rows of a head as they lie where every head has as many: (head, row, element).
struct HeadByHead {
    static constexpr bool CLEARS = false;  // zeros come for rows beyond the head's end

    template <int WIDTH, int ROWS>
    static __device__ __forceinline__ void copy(
        unsigned char* to, const CUtensorMap& map, const Piece&, int row, int head, Barrier* barrier
    ) {
        copy_rows<WIDTH, ROWS>(to, map, row, head, barrier);
    }
};

// Whole tiles. A block's first one goes by its number; with a counter, 0 at the start, each further one is the next that
// is left, else they are dealt in turns. A window, of so many keys, counts only where WINDOWED.
template <int QUERIES, int KEYS, bool CAUSAL_, bool WINDOWED_>
struct WholeTiles : HeadByHead {
    static constexpr bool CAUSAL = CAUSAL_, WINDOWED = WINDOWED_, DIVIDES = false;
    static constexpr int THREADS = 1;  // that take tiles

    int seq;
    int heads;
    int group;
    int whole;  // tiles, and all where causal
    int* counter;
    int window;
    int tile;

    __device__ __forceinline__ WholeTiles(int seq, int heads, int group, int whole, int* counter, int window = 0)
        : seq(seq), heads(heads), group(group), whole(whole), counter(counter), window(window), tile(blockIdx.x) {}

    __device__ __forceinline__ Piece take() {
        // Made for each tile, because the copying thread has few registers. A constant group of 1 saves divisions; tiles
        // of a window are all but equal.
        const Tiles<QUERIES, KEYS, CAUSAL> tiles(made_anew(seq), heads, CAUSAL && !WINDOWED ? made_anew(group) : 1);
        if (tile >= (CAUSAL ? tiles.count : whole)) return {-1};
        const TileOrigin origin = tiles.origin(tile);
        const int first = WINDOWED ? tiles.first_step(origin.first_query, window) : 0;
        return {origin.head, origin.first_query, first, tiles.last_step(origin.first_query), tiles.seq, 0};
    }
    // Before a piece's last copies, so that the counter has answered when they are under way.
    __device__ __forceinline__ void go_on(int turn) {
        tile = counter ? gridDim.x + atomicAdd(counter, 1) : Tiles<QUERIES, KEYS, CAUSAL>::of_turn(turn + 1);
    }
};

// A chunk of the divided ones, not causal. A piece's place in memory is the sum of the chunk's number and the tile's, of
// which one or both are higher in the next piece.
template <int QUERIES, int KEYS>
struct DividedTiles : HeadByHead {
    static constexpr bool CAUSAL = false, WINDOWED = false, DIVIDES = true;
    static constexpr int THREADS = 1;

    Tiles<QUERIES, KEYS, false> tiles;
    int whole;
    int step = 0;  // of the next piece, over all divided tiles
    int end = 0;

    __device__ __forceinline__ DividedTiles(int seq, int heads, const Division& division)
        : tiles(seq, heads, 1), whole(division.whole) {
        if (division.chunks <= static_cast<int>(blockIdx.x)) return;
        const int steps = (tiles.count - whole) * (tiles.last_step(0) + 1);
        step = division.first_step(blockIdx.x, steps);
        end = division.first_step(blockIdx.x + 1, steps);
    }
    __device__ __forceinline__ Piece take() {
        if (step >= end) return {-1};
        const int of_tile = tiles.last_step(0) + 1, divided = step / of_tile, first = step - divided * of_tile;
        const int last = min(first + end - step, of_tile) - 1;
        const TileOrigin origin = tiles.origin(whole + divided);
        step += last + 1 - first;
        return {origin.head, origin.first_query, first, last, tiles.seq, static_cast<int>(blockIdx.x) + divided};
    }
    __device__ __forceinline__ void go_on(int) {}
};

// A warp puts together a row of a divided tile.
template <int DIM, int QUERIES, int KEYS>
__device__ __forceinline__ void combine(
    const float* __restrict__ means, const float* __restrict__ logarithms, SCALAR* __restrict__ o,
    float* __restrict__ lse, int seq, int heads, const Division& division
) {
    wait_for_previous();
    const Tiles<QUERIES, KEYS, false> tiles(seq, heads, 1);
    const int number = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    const int divided = number / QUERIES, row = number % QUERIES;
    if (division.whole + divided >= tiles.count) return;
    const TileOrigin origin = tiles.origin(division.whole + divided);
    const int query = origin.first_query + row;
    if (query >= seq) return;
    const int of_tile = tiles.last_step(0) + 1, steps = (tiles.count - division.whole) * of_tile;
    const int first = division.chunk_of(divided * of_tile, steps);
    const int last = division.chunk_of((divided + 1) * of_tile - 1, steps);
    float most = NEGATIVE_INFINITY;
    for (int chunk = first; chunk <= last; ++chunk) {
        most = fmaxf(most, logarithms[(chunk + divided) * QUERIES + row]);
    }
    float total = 0.0f, sum[DIM / WARP] = {};
    for (int chunk = first; chunk <= last; ++chunk) {
        const long long at = static_cast<long long>(chunk + divided) * QUERIES + row;
        const float weight = most == NEGATIVE_INFINITY ? 0.0f : fast_exp2((logarithms[at] - most) * LOG2_E);
        total += weight;
#pragma unroll
        for (int i = 0; i < DIM / WARP; ++i) sum[i] += weight * means[at * DIM + i * WARP + lane];
    }
    const float factor = total == 0.0f ? 1.0f : fast_reciprocal(total);
    const long long index = static_cast<long long>(origin.head) * seq + query;
#pragma unroll
    for (int i = 0; i < DIM / WARP; ++i) from_float(sum[i] * factor, o[index * DIM + i * WARP + lane]);
    if (lane == 0) lse[index] = most + log2f(total) * LN_2;
}
