// What a block of attention on Hopper takes in turn: tiles, and where a last round of tiles would leave most blocks idle,
// equal shares of their steps; and the last kernel, which puts together what several blocks found of one tile.
#pragma once

#include "shared/attention.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

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
    __device__ __forceinline__ int of_turn(int turn) const {
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

// Steps `first` to `last` of a tile. `number` is its place in memory where the tile is divided: the sum of the chunk's
// number and the tile's, of which one or both are higher in the next piece.
struct Piece {
    TileOrigin origin;
    int first;
    int last;
    int number;
};

// Whole tiles, or pieces of the divided ones.
template <int QUERIES, int KEYS, bool CAUSAL, bool WINDOWED, bool DIVIDES>
struct Pieces {
    Tiles<QUERIES, KEYS, CAUSAL> tiles;
    int window;
    Division division;
    int turn = 0;
    int step = 0;  // of the next piece, over all divided tiles
    int end = 0;

    // A constant group of 1 saves divisions; tiles of a window are all but equal.
    __device__ __forceinline__ Pieces(int seq, int heads, int group, int window, const Division& division)
        : tiles(seq, heads, CAUSAL && !WINDOWED ? group : 1), window(window), division(division) {
        if (!DIVIDES || division.chunks <= static_cast<int>(blockIdx.x)) return;
        const int steps = (tiles.count - division.whole) * (tiles.last_step(0) + 1);
        step = division.first_step(blockIdx.x, steps);
        end = division.first_step(blockIdx.x + 1, steps);
    }
    __device__ __forceinline__ bool take(Piece& piece) {
        const int tile = tiles.of_turn(turn++);
        if (!DIVIDES) {
            if (tile >= (CAUSAL ? tiles.count : division.whole)) return false;
            piece.origin = tiles.origin(tile);
            piece.first = WINDOWED ? tiles.first_step(piece.origin.first_query, window) : 0;
            piece.last = tiles.last_step(piece.origin.first_query);
            return true;
        }
        if (step >= end) return false;
        const int of_tile = tiles.last_step(0) + 1, divided = step / of_tile;
        piece.origin = tiles.origin(division.whole + divided);
        piece.first = step - divided * of_tile;
        piece.last = min(piece.first + end - step, of_tile) - 1;
        piece.number = blockIdx.x + divided;
        step += piece.last + 1 - piece.first;
        return true;
    }
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
