// Rows of w that begin anywhere, as TMA takes them without a copy of w: for losses (residues.cuh) and for gradients
// (linear_cross_entropy_backward/residues.cuh).
//
// Mapping: rows whose numbers leave the same residue by a power of two begin at the same place amid 16 bytes. So w is a matrix of
//   so many times longer rows, which TMA takes, and a tile's columns are a box of rows with one residue, at some place in long
//   rows. TMA copies from multiples of 16 bytes: boxes of w begin a little in front of its rows, and x is copied once for each
//   place that a row may have in 16 bytes, with zeros in front and behind; what boxes of w have of rows in front and behind is
//   cleared, as it may be no number. The last long row is cut where w ends, for residues that are in it; for others it is left
//   out: two maps.
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
