// Rows of C that TMA cannot store as boxes, of a tile across: part of wgmma_stores.cuh.
//
// Mapping: the warpgroups of a block put some rows of their tile beside each other in shared memory, each row as far behind a
//   word of 16 bytes as it begins in C. A thread then stores one whole word of these rows. Of the words at both ends of a row
//   other tiles have a part: what is this tile's are as many elements as a word has, or none, where a tile is full, and
//   threads store these one by one. Rows 8 apart begin alike, so that a thread finds its places once.
// Idea: threads that shift each word are busy for longer than products of a short k, and a copy of a row by the copy engine
//   takes that engine longer than threads take to store it.
#pragma once

#include "shared/wgmma_products.cuh"

// An element of C out of its sum. Where a pair costs more than its halves, an overload gives it.
template <class Finish>
__device__ __forceinline__ float finish_one(const Finish& finish, float sum, int column) {
    const float2 pair = finish(make_float2(sum, sum), column & ~1);
    return column % 2 ? pair.y : pair.x;
}

// A block's buffers for some rows each, of CONSUMERS warpgroups with 64 columns each, in BYTES of shared memory.
template <int CONSUMERS, int BYTES>
struct LooseRows {
    static constexpr int PER_WORD = 16 / sizeof(SCALAR), COLUMNS = CONSUMERS * 64, WORDS = COLUMNS / PER_WORD;
    static constexpr int PITCH = COLUMNS * sizeof(SCALAR) + 16;  // what a warp writes at once lies in different banks
    static constexpr int ROWS = 32 / sizeof(SCALAR);             // of a buffer
    static constexpr int BUFFERS = 2;                            // one is filled while the other is stored
    static constexpr int OTHERS = CONSUMERS * WARPGROUP - ROWS * PER_WORD;  // threads that store no ends
    static_assert(
        BUFFERS * ROWS * PITCH <= BYTES && ROWS * WORDS == CONSUMERS * WARPGROUP && OTHERS >= 0 && ROWS % 8 == 0
    );
    unsigned char* buffers;
    const SCALAR* c;  // where the tile begins
    unsigned n;
    int rows, columns;      // that are there
    unsigned upper, lower;  // bytes from a buffer to the thread's elements of rows 2 q and 2 q + 1
    // The thread's word of a buffer's rows: in which row, if it is a whole one, and where, in a buffer and in C.
    int word_row;
    unsigned word_at;
    SCALAR* word_to;
    // Of a word's elements for each row the last threads store one each that is no part of a whole word of the row's.
    int end_row, end, ends;

    __device__ __forceinline__ LooseRows(unsigned char* buffers, const Loose& loose, int row0, int column0)
        : LooseRows(
              buffers, loose.c + (row0 * static_cast<unsigned long long>(loose.n) + column0), loose.n,
              static_cast<int>(loose.m) - row0, static_cast<int>(loose.n) - column0
          ) {}
    // A tile that begins at `c`, whose rows are `n` elements apart; so many `rows` and columns are left of C.
    __device__ __forceinline__
    LooseRows(unsigned char* buffers, const SCALAR* c, unsigned n, int rows, int columns_left)
        : buffers(buffers), c(c), n(n), rows(rows), columns(min(columns_left, COLUMNS)) {
        const int lane = threadIdx.x % WARP, row = lane % 4 * 2, column = threadIdx.x / WARP * 16 + lane / 4;
        upper = place_of(row, column), lower = place_of(row + 1, column);
        const int own = threadIdx.x / WORDS, at = before_word(own) + static_cast<int>(threadIdx.x % WORDS) * PER_WORD;
        word_row = at + PER_WORD <= columns ? own : rows;
        word_at = place_of(own, at), word_to = const_cast<SCALAR*>(c) + (own * static_cast<unsigned long long>(n) + at);
        const int thread = static_cast<int>(threadIdx.x) - OTHERS;
        end_row = thread < 0 ? rows : thread / PER_WORD, end = thread & (PER_WORD - 1);
        ends = ends_of(end_row);
    }

    // Rows FIRST and on, of sums as fill_box_across has them.
    template <int FIRST, int COUNT, class Finish>
    __device__ __forceinline__ void fill(const float (&sum)[COUNT], int column0, const Finish& finish) const {
        unsigned char* const buffer = buffer_of(FIRST);
        const int column = column0 + threadIdx.x / WARP * 16 + threadIdx.x % WARP / 4;
#pragma unroll
        for (int i = 0; i < min(ROWS, COUNT * 2 - FIRST); i += 8) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned char* const to = buffer + (j % 2 ? lower : upper) + i * PITCH + j / 2 * 8 * sizeof(SCALAR);
                const float element = finish_one(finish, sum[(FIRST + i) / 2 + j], column + j / 2 * 8);
                from_float(element, *reinterpret_cast<SCALAR*>(to));
            }
        }
    }

    // The same rows to C: each thread stores a word, and the last ones the ends of rows.
    template <int FIRST, int COUNT>
    __device__ __forceinline__ void store() const {
        const unsigned char* const buffer = buffer_of(FIRST);
        constexpr int HERE = COUNT < ROWS ? COUNT : ROWS;
        const unsigned long long on = FIRST * static_cast<unsigned long long>(n);
        if (word_row < HERE && FIRST + word_row < rows) {
            *reinterpret_cast<uint4*>(word_to + on) = *reinterpret_cast<const uint4*>(buffer + word_at);
        }
        if (end_row >= HERE || FIRST + end_row >= rows) return;
#pragma unroll 1
        for (int i = end; i < ends; i += PER_WORD) {
            const int column = i < before_word(end_row) ? i : columns - ends + i;
            const_cast<SCALAR*>(c)[on + end_row * static_cast<unsigned long long>(n) + column] =
                *reinterpret_cast<const SCALAR*>(buffer + place_of(end_row, column));
        }
    }

    static __device__ __forceinline__ void meet() {
        asm volatile("bar.sync %0, %1;" ::"n"(CONSUMERS + 1), "n"(CONSUMERS * WARPGROUP) : "memory");
    }

private:
    // By how many elements a row begins behind a word, and how many it has before its first one: rows 8 apart alike.
    __device__ __forceinline__ int past(int row) const {
        const unsigned at = static_cast<unsigned>(reinterpret_cast<unsigned long long>(c) / sizeof(SCALAR));
        return static_cast<int>((at + row * n) % PER_WORD);
    }
    __device__ __forceinline__ int before_word(int row) const { return -past(row) & (PER_WORD - 1); }
    __device__ __forceinline__ int ends_of(int row) const {
        const int head = min(before_word(row), columns);
        return head + (columns - head) % PER_WORD;
    }
    __device__ __forceinline__ unsigned place_of(int row, int column) const {
        return row * PITCH + (past(row) + column) * sizeof(SCALAR);
    }
    __device__ __forceinline__ unsigned char* buffer_of(int first) const {
        return buffers + first / ROWS % BUFFERS * (ROWS * PITCH);
    }
};

// A block's tile, whose first column is `column0`, by all that multiply: none of them comes here alone.
template <int FIRST = 0, int COUNT, class Rows, class Finish>
__device__ __forceinline__ void store_rows_across(
    const float (&sum)[COUNT], const Rows& rows, int column0, const Finish& finish
) {
    // All threads meet between the stores of a buffer's rows and its next ones, those of the next tile too.
    if constexpr (FIRST == 0) rows.meet();
    rows.template fill<FIRST>(sum, column0, finish);
    rows.meet();
    rows.template store<FIRST, COUNT * 2 - FIRST>();
    if constexpr (FIRST + Rows::ROWS < COUNT * 2) {
        store_rows_across<FIRST + Rows::ROWS>(sum, rows, column0, finish);
    }
}
