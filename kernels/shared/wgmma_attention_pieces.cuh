// What a block of attention on Hopper takes in turn: tiles, and where these, or a last round of them, would leave most blocks
// idle, equal shares of their steps; and the last kernel, which puts together what several blocks found of one tile.
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

// Steps of the divided tiles, one tile's after the other's. Where causal all tiles are divided: a head's after the other's,
// its shortest tiles first.
template <int QUERIES, int KEYS, bool CAUSAL>
struct DividedSteps {
    // Causal tiles that are so many apart in a head differ by whole steps.
    static constexpr int PERIOD = QUERIES % KEYS == 0 ? 1 : 2 * QUERIES % KEYS == 0 ? 2 : 3;
    static_assert(!CAUSAL || PERIOD * QUERIES % KEYS == 0);

    struct Tile {
        TileOrigin origin;
        int before;  // steps of tiles in front of it
        int count;   // of its own
    };

    Tiles<QUERIES, KEYS, CAUSAL> tiles;
    int whole;

    __device__ __forceinline__ DividedSteps(int seq, int heads, int whole) : tiles(seq, heads, 1), whole(whole) {}

    __device__ __forceinline__ int count() const {
        if constexpr (CAUSAL) {
            return tiles.count / tiles.of_head * of_head();
        } else {
            return (tiles.count - whole) * (tiles.last_step(0) + 1);
        }
    }
    __device__ __forceinline__ Tile of(int divided) const {
        if constexpr (CAUSAL) {
            const int head = divided / tiles.of_head, number = divided - head * tiles.of_head;
            const int first_query = number * QUERIES;
            return {{head, first_query}, head * of_head() + in_front_of(number), tiles.last_step(first_query) + 1};
        } else {
            const int of_tile = tiles.last_step(0) + 1;
            return {tiles.origin(whole + divided), divided * of_tile, of_tile};
        }
    }
    // The tile that has a step.
    __device__ __forceinline__ int tile_of(int step) const {
        if constexpr (CAUSAL) {
            const int head = step / of_head(), rest = step - head * of_head();
            // In front of a tile are at least as many steps as its number squared times QUERIES / (2 KEYS).
            const int most = static_cast<int>(sqrtf(2.0f * KEYS / QUERIES * static_cast<float>(rest)));
            int number = min(most, tiles.of_head - 1);
            while (in_front_of(number) > rest) --number;
            return head * tiles.of_head + number;
        } else {
            return step / (tiles.last_step(0) + 1);
        }
    }

private:
    __device__ __forceinline__ int of_head() const {
        return in_front_of(tiles.of_head - 1) + tiles.last_step((tiles.of_head - 1) * QUERIES) + 1;
    }
    // Steps of a head's first causal tiles, so many of them.
    static __device__ __forceinline__ int in_front_of(int number) {
        int steps = 0;
#pragma unroll
        for (int first = 1; first <= PERIOD; ++first) {
            const int apart = (number + PERIOD - first) / PERIOD;  // those a period apart
            steps +=
                apart * (apart - 1) / 2 * (PERIOD * QUERIES / KEYS) + apart * ((first * QUERIES + KEYS - 1) / KEYS);
        }
        return steps;
    }
};

// A chunk of the divided tiles. A piece's place in memory is the sum of the chunk's number and the tile's, of which one or
// both are higher in the next piece.
template <int QUERIES, int KEYS, bool CAUSAL_>
struct DividedTiles : HeadByHead {
    static constexpr bool CAUSAL = CAUSAL_, WINDOWED = false, DIVIDES = true;
    static constexpr int THREADS = 1;

    int seq;
    int heads;
    int whole;
    int step = 0;  // of the next piece, over all divided tiles
    int end = 0;

    __device__ __forceinline__ DividedTiles(int seq, int heads, const Division& division)
        : seq(seq), heads(heads), whole(division.whole) {
        if (division.chunks <= static_cast<int>(blockIdx.x)) return;
        const int count = DividedSteps<QUERIES, KEYS, CAUSAL>(seq, heads, whole).count();
        step = division.first_step(blockIdx.x, count);
        end = division.first_step(blockIdx.x + 1, count);
    }
    __device__ __forceinline__ Piece take() {
        if (step >= end) return {-1};
        // Made for each piece, because the copying thread has few registers.
        const DividedSteps<QUERIES, KEYS, CAUSAL> steps(made_anew(seq), heads, whole);
        const int divided = steps.tile_of(step);
        const auto tile = steps.of(divided);
        const int first = step - tile.before, last = min(first + end - step, tile.count) - 1;
        step += last + 1 - first;
        const int place = static_cast<int>(blockIdx.x) + divided;
        return {tile.origin.head, tile.origin.first_query, first, last, seq, place};
    }
    __device__ __forceinline__ void go_on(int) {}
};

// A warp puts together a row of a divided tile.
template <int DIM, int QUERIES, int KEYS, bool CAUSAL>
__device__ __forceinline__ void combine(
    const float* __restrict__ means, const float* __restrict__ logarithms, SCALAR* __restrict__ o,
    float* __restrict__ lse, int seq, int heads, const Division& division
) {
    wait_for_previous();
    const DividedSteps<QUERIES, KEYS, CAUSAL> steps(seq, heads, division.whole);
    const int number = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    const int divided = number / QUERIES, row = number % QUERIES;
    if (division.whole + divided >= steps.tiles.count) return;
    const auto tile = steps.of(divided);
    const int query = tile.origin.first_query + row;
    if (query >= seq) return;
    const int first = division.chunk_of(tile.before, steps.count());
    const int last = division.chunk_of(tile.before + tile.count - 1, steps.count());
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
    const long long index = static_cast<long long>(tile.origin.head) * seq + query;
#pragma unroll
    for (int i = 0; i < DIM / WARP; ++i) from_float(sum[i] * factor, o[index * DIM + i * WARP + lane]);
    if (lane == 0) lse[index] = most + log2f(total) * LN_2;
}
