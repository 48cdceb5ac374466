// Tiles of logits from rows of w that begin anywhere, without a copy of w.
//
// Mapping: rows whose numbers leave the same residue by a power of two begin at the same place amid 16 bytes. So w is a matrix of
//   so many times longer rows, which TMA takes, and a tile's columns are a box of rows with one residue, at some place in long
//   rows. TMA copies from multiples of 16 bytes: boxes of w begin a little in front of its rows, and x is copied once for each
//   place that a row may have in 16 bytes, with zeros in front and behind; what boxes of w have of rows in front and behind is
//   cleared, as it may be no number. The last long row is cut where w ends, for residues that are in it; for others it is left
//   out: two maps.
// Idea: a loss does not ask for the order of its classes.
#pragma once

#include "linear_cross_entropy/statistics.cuh"
#include "shared/wgmma_tiles.cuh"

// Of w: with the last long row and without; the logarithm of the residues' number.
struct LongRows {
    const CUtensorMap &with_last, &without;
    int shift;
};

constexpr int WORD = 8;  // elements of 16 bytes

// Rows of so many elements begin at multiples of 2^places_of_rows in words; number of the copy of x that begins like these.
__device__ __forceinline__ int places_of_rows(int hidden) { return __ffs(hidden | WORD) - 1; }
__device__ __forceinline__ int copy_of(int in_word, int hidden) { return in_word >> places_of_rows(hidden); }

// A thread makes a word of a copy of x, whose rows have `units` words, and begin behind as many zeros as its place tells.
extern "C" __global__ void copies_of_rows(
    const unsigned char* __restrict__ x, uint4* __restrict__ to, long long rows, long long hidden, long long units
) {
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned row_of_copy = index / static_cast<unsigned>(units), unit = index % static_cast<unsigned>(units);
    const unsigned copy = row_of_copy / static_cast<unsigned>(rows), row = row_of_copy % static_cast<unsigned>(rows);
    const int places = places_of_rows(static_cast<int>(hidden)), count = WORD >> places;
    wait_for_previous();
    let_next_start();
    if (copy >= count) return;
    const int column = static_cast<int>(unit) * WORD - static_cast<int>(copy << places);
    const unsigned char* const end = x + rows * hidden * 2;
    const unsigned char* const from = x + (row * hidden + column) * 2;
    const unsigned past = reinterpret_cast<unsigned long long>(from) % 16;
    unsigned word[4];
    bytes_amid(word_near(from - past, x, end), word_near(from - past + 16, x, end), past, word);
#pragma unroll
    for (int i = 0; i < WORD; ++i) {
        if (column + i < 0 || column + i >= hidden) word[i / 2] &= i % 2 ? 0xffffu : 0xffff0000u;
    }
    to[index] = make_uint4(word[0], word[1], word[2], word[3]);
}

template <int BLOCK_M, int BLOCK_N>
struct TilesOfResidues {
    unsigned rows, groups;  // of x, and of each residue's rows of w
    int shift, hidden, in_last, x_rows;

    struct Position {
        int row, in_x;              // in_x: in the copies of x
        int skipped, begin, steps;  // `skipped` elements lie between `begin`, in long rows, and the rows
        int first;                  // step
        Columns columns;
        unsigned piece;
        bool in_last;

        // Place along a row of what is copied in turn number `turn`.
        __device__ __forceinline__ int along(int turn) const {
            const int step = turn + first;
            return (step < steps ? step : step - steps) * STEP_K;
        }
    };
    __device__ __forceinline__ TilesOfResidues(const Rest& rest, const LongRows& w)
        : rows((static_cast<unsigned>(rest.rows) + BLOCK_M - 1) / BLOCK_M), shift(w.shift),
          hidden(static_cast<int>(rest.hidden)), in_last(static_cast<int>(rest.vocab & ((1 << w.shift) - 1))),
          x_rows(static_cast<int>(rest.rows)) {
        const unsigned longest = (static_cast<unsigned>(rest.vocab) + (1u << shift) - 1) >> shift;
        groups = (longest + BLOCK_N - 1) / BLOCK_N;
    }
    __device__ __forceinline__ unsigned pieces() const { return groups << shift; }
    __device__ __forceinline__ unsigned count() const { return rows * pieces(); }
    __device__ __forceinline__ Position at(unsigned tile) const {
        const unsigned piece = tile / rows;
        const int residue = static_cast<int>(piece & ((1u << shift) - 1)), place = residue * hidden;
        const int skipped = place % WORD;
        const Columns columns = {static_cast<int>(piece >> shift) * BLOCK_N, residue, shift};
        const int row = static_cast<int>(tile % rows) * BLOCK_M;
        const int steps = (skipped + hidden + STEP_K - 1) / STEP_K;
        // Blocks begin at different steps, or all would want the same lines of x at once.
        const int first = static_cast<int>(static_cast<unsigned long long>(piece) * steps / pieces());
        return {row,
                copy_of(skipped, hidden) * x_rows + row,
                skipped,
                place - skipped,
                steps,
                first,
                columns,
                piece,
                residue < in_last};
    }
};

// Clears what a step of w has that is not of its ROWS, by words.
template <class Position, int THREADS, int ROWS>
struct Clearing {
    const Position& at;
    int hidden;
    __device__ __forceinline__ void operator()(int turn, unsigned char* w) const {
        constexpr int WORDS = STEP_K / WORD;
        const int along = at.along(turn), from = max(at.skipped - along, 0),
                  to = min(at.skipped + hidden - along, STEP_K);
        if (from == 0 && to == STEP_K) return;
#pragma unroll 2
        for (int i = threadIdx.x; i < ROWS * WORDS; i += THREADS) {
            const int row = i / WORDS, index = i % WORDS, column = index * WORD;
            if (column >= from && column + WORD <= to) continue;
            uint4* const word = reinterpret_cast<uint4*>(w + row * ROW) + (index ^ row % 8);
            *word = masked(*word, from - column, to - column);
        }
        publish_writes();
        asm volatile("bar.sync 8, %0;" ::"n"(THREADS) : "memory");  // all that multiply
    }
    // Its elements number `from` to `to`.
    static __device__ __forceinline__ uint4 masked(const uint4& word, int from, int to) {
        unsigned pairs[] = {word.x, word.y, word.z, word.w};
#pragma unroll
        for (int i = 0; i < WORD; ++i) {
            if (i < from || i >= to) pairs[i / 2] &= i % 2 ? 0xffffu : 0xffff0000u;
        }
        return make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
};

template <int CONSUMERS, int BLOCK_N, int STAGES>
__device__ __forceinline__ void statistics_of_residues(const CUtensorMap& x, const LongRows& w, const Rest& rest) {
    extern __shared__ __align__(1024) unsigned char stages[];
    Ring<CONSUMERS, BLOCK_N, STAGES> ring(stages, 0);
    const TilesOfResidues<CONSUMERS * 64, BLOCK_N> tiles(rest, w);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    let_next_start();
    wait_for_previous();
    for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
        const auto at = tiles.at(tile);
        if (warpgroup == CONSUMERS) {
            if (threadIdx.x % WARPGROUP) break;
            const CUtensorMap& of_w = at.in_last ? w.with_last : w.without;
            for (int step = 0; step < at.steps; ++step) {
                const int along = at.along(step);
                ring.fill_from(x, of_w, along, at.in_x, at.begin + along, at.columns.first);
            }
        } else {
            float logits[BLOCK_N / 2] = {};
            const Clearing<decltype(at), CONSUMERS * WARPGROUP, BLOCK_N> clearing{at, tiles.hidden};
            ring.add_products(logits, at.steps, warpgroup, clearing);
            leave_statistics(logits, 0, at.row + warpgroup * 64, at.columns, rest, at.piece, tiles.pieces());
        }
    }
}

// The blocks of a cluster share a tile along hidden; of its columns each has a part, which is a piece by itself.
template <int CONSUMERS, int STAGES, int PARTS>
__device__ __forceinline__ void parts_of_residues(const CUtensorMap& x, const LongRows& w, const Rest& rest) {
    constexpr int SLICE = 32 / PARTS;
    const TilesOfResidues<CONSUMERS * 64, 64> tiles(rest, w);
    const auto at = tiles.at(blockIdx.x / PARTS);
    const CUtensorMap& of_w = at.in_last ? w.with_last : w.without;
    const auto fill = [&](Ring<CONSUMERS, 64, STAGES>& ring, int step) {
        const int along = at.along(step);
        ring.fill_from(x, of_w, along, at.in_x, at.begin + along, at.columns.first);
    };
    const auto finish = [&](float (&own)[SLICE], int part, int warpgroup) {
        const unsigned piece = at.piece * PARTS + part, count = tiles.pieces() * PARTS;
        leave_statistics(own, part * SLICE, at.row + warpgroup * 64, at.columns, rest, piece, count);
    };
    const Clearing<decltype(at), CONSUMERS * WARPGROUP, 64> clearing{at, tiles.hidden};
    by_parts<STAGES, PARTS, CONSUMERS>(at.steps, fill, clearing, finish);
}

#define OF_RESIDUES(NAME, CONSUMERS, CLUSTER, ...)                                                                \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap with_last,                \
             const __grid_constant__ CUtensorMap without, const long long* __restrict__ labels,                   \
             Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows, long long vocab,      \
             long long hidden, long long shift) {                                                                 \
        const Rest rest{labels, pieces, at_label, rows, vocab, hidden};                                           \
        const LongRows w{with_last, without, static_cast<int>(shift)};                                            \
        __VA_ARGS__;                                                                                              \
    }
#define TILES_OF_RESIDUES(NAME, CONSUMERS, BLOCK_N, STAGES)                                                       \
    OF_RESIDUES(NAME, CONSUMERS, 1, statistics_of_residues<CONSUMERS, BLOCK_N, STAGES>(x, w, rest))
#define PARTS_OF_RESIDUES(NAME, CONSUMERS, STAGES, PARTS)                                                         \
    OF_RESIDUES(NAME, CONSUMERS, PARTS, parts_of_residues<CONSUMERS, STAGES, PARTS>(x, w, rest))
TILES_OF_RESIDUES(residues_64x64, 1, 64, 8)
TILES_OF_RESIDUES(residues_64x128, 1, 128, 8)
TILES_OF_RESIDUES(residues_128x128, 2, 128, 6)
PARTS_OF_RESIDUES(residues_64x64_by_2, 1, 8, 2)
PARTS_OF_RESIDUES(residues_64x64_by_4, 1, 8, 4)
