// Rows of C that TMA cannot store as boxes, of a tile across: part of wgmma_stores.cuh.
//
// Mapping: the warpgroups of a block put some rows of their tile beside each other in shared memory, each row as far behind a
//   word of 16 bytes as it begins in C. All whole words of a row are then one bulk copy, which needs no map of C. Of the words
//   at both ends of a row other tiles have a part: what is this tile's are as many elements as a word has, or none, where a
//   tile is full, and threads store these one by one. Rows 8 apart begin alike, so that a thread finds its places once.
// Idea: threads that shift and store each word are busy for longer than products of a short k; the copy engine stores while
//   the next rows are put there and the next tile is multiplied.
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
    static constexpr int PER_WORD = 16 / sizeof(SCALAR), COLUMNS = CONSUMERS * 64;
    static constexpr int PITCH = COLUMNS * sizeof(SCALAR) + 16;  // what a warp writes at once lies in different banks
    static constexpr int ROWS = 32 / sizeof(SCALAR);             // of a buffer
    static constexpr int BUFFERS = BYTES / (ROWS * PITCH) < 4 ? BYTES / (ROWS * PITCH) : 4;
    static constexpr int WARPS = CONSUMERS * WARPGROUP / WARP, TURNS = (ROWS + WARPS - 1) / WARPS;
    static constexpr int OTHERS = CONSUMERS * WARPGROUP - ROWS * PER_WORD;  // threads that store no ends
    static_assert(BUFFERS > 1 && OTHERS >= 0 && ROWS % 8 == 0);
    unsigned char* buffers;
    const SCALAR* c;  // where the tile begins
    unsigned n;
    int rows, columns;      // that are there
    unsigned upper, lower;  // bytes from a buffer to the thread's elements of rows 2 q and 2 q + 1
    // Of the warp's rows of a buffer: the first whole word, in a buffer and in C, and bytes of all.
    int warp;
    unsigned words_at[TURNS], bytes[TURNS];
    SCALAR* words_to[TURNS];
    // Of a word's elements for each row the last threads store one each that is no part of a whole word of the row's.
    int end_row, end, ends;

    __device__ __forceinline__ LooseRows(unsigned char* buffers, const Loose& loose, int row0, int column0)
        : buffers(buffers), c(loose.c + (row0 * static_cast<unsigned long long>(loose.n) + column0)), n(loose.n) {
        rows = static_cast<int>(loose.m) - row0, columns = min(static_cast<int>(loose.n) - column0, COLUMNS);
        const int lane = threadIdx.x % WARP, row = lane % 4 * 2, column = threadIdx.x / WARP * 16 + lane / 4;
        upper = place_of(row, column), lower = place_of(row + 1, column);
        // The shuffle shows the compiler that the value is the same for a warp.
        warp = __shfl_sync(WHOLE_WARP, threadIdx.x / WARP, 0);
#pragma unroll
        for (int i = 0; i < TURNS; ++i) {
            const int own = warp + i * WARPS, before = before_word(own);
            words_at[i] = place_of(own, before), bytes[i] = max(columns - before, 0) / PER_WORD * 16;
            words_to[i] = const_cast<SCALAR*>(c) + (own * static_cast<unsigned long long>(n) + before);
        }
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

    // The same rows to C: each warp starts the copies of some, and the last threads store their ends.
    template <int FIRST, int COUNT>
    __device__ __forceinline__ void store() const {
        const unsigned char* const buffer = buffer_of(FIRST);
        constexpr int HERE = COUNT < ROWS ? COUNT : ROWS;
        const unsigned long long on = FIRST * static_cast<unsigned long long>(n);
        if (threadIdx.x % WARP == 0) {
#pragma unroll
            for (int i = 0; i < TURNS; ++i) {
                const int row = i * WARPS + warp;
                if (row < HERE && FIRST + row < rows && bytes[i]) {
                    start_bytes(words_to[i] + on, buffer + words_at[i], bytes[i]);
                }
            }
            commit_stores();
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
    // A buffer is filled again when its rows have been copied.
    if constexpr (FIRST == 0) {
        if (threadIdx.x % WARP == 0) wait_for_reads<0>();
        rows.meet();
    }
    rows.template fill<FIRST>(sum, column0, finish);
    publish_writes();
    if (threadIdx.x % WARP == 0) wait_for_reads<Rows::BUFFERS - 2>();
    rows.meet();
    rows.template store<FIRST, COUNT * 2 - FIRST>();
    if constexpr (FIRST + Rows::ROWS < COUNT * 2) {
        store_rows_across<FIRST + Rows::ROWS>(sum, rows, column0, finish);
    }
}
