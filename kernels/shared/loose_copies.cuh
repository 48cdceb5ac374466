// Pieces of float32 matrices whose rows begin anywhere, into shared memory by words of 16 bytes as they lie.
//
// Idea: rows 4 apart begin alike. So all elements of a lane of mma.sync, which takes rows 8 apart and every fourth of k, lie
//   by one number of places behind where they would be if every row began on a word, and nothing has to be shifted. One word
//   more a row has the elements of its end.
#pragma once

#include "shared/ampere.cuh"

constexpr int SLICE_K = 32;  // of k, of a warp in a step
constexpr int FOUR = 4;      // elements of a word
constexpr int BEHIND = 8;    // elements behind a step's in the matrix: so all of its words are the matrix's

// A matrix in words of 16 bytes: the first `lead` elements of its first word are not its own.
struct Words {
    const float* from;  // a whole word
    int lead;
    long long end;

    __device__ __forceinline__ Words(const float* matrix, long long count)
        : lead(static_cast<int>(reinterpret_cast<unsigned long long>(matrix) / sizeof(float) % FOUR)) {
        from = matrix - lead;
        end = lead + count;
    }

    // Starts to copy the word that begins at element `at`, all of which are the matrix's.
    __device__ __forceinline__ void copy_whole(float* to, long long at) const {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from + at) : "memory");
    }

    // The same, element by element where some are not the matrix's.
    __device__ __forceinline__ void copy(float* to, long long at) const {
        const unsigned address = shared_address(to);
        if (at >= lead && at + FOUR <= end) {
            copy_whole(to, at);
            return;
        }
#pragma unroll
        for (int i = 0; i < FOUR; ++i) {
            const bool inside = at + i >= lead && at + i < end;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address + i * 4),
                         "l"(from + (inside ? at + i : lead)), "r"(inside ? 4 : 0)
                         : "memory");
        }
    }
};

// Of a matrix whose rows lie along k: ROWS of them from row0 on, STEP of k at once.
//
// Rows 4 apart lie next to each other, in four groups: the 8 that a warp reads at once begin alike then, and their words in
// different banks, whatever k is.
template <int ROWS, int STEP, int THREADS>
struct RowsAlongK {
    static constexpr int GROUP = ROWS / 4;
    static constexpr int PITCH = STEP + FOUR;  // the 8 rows x 4 of k that a warp reads lie in different banks
    static constexpr int FLOATS = ROWS * PITCH;
    static constexpr int WORDS = STEP / FOUR;
    static constexpr int PASS = THREADS / WORDS;
    static constexpr int FILLS = (ROWS + PASS - 1) / PASS;
    static_assert(PASS % 4 == 0 && ROWS <= THREADS && ROWS % 16 == 0);
    Words words;
    long long at, pass, extra;
    int row, word, inside;  // of rows
    int behind;             // elements of the rows behind these
    bool has_extra;

    __device__ __forceinline__ RowsAlongK(const float* matrix, long long rows, long long k, long long row0, int first)
        : words(matrix, rows * k) {
        const int thread = threadIdx.x;
        row = thread / WORDS, word = thread % WORDS * FOUR;
        inside = static_cast<int>(min(rows - row0, static_cast<long long>(ROWS)));
        behind = static_cast<int>(min((rows - row0 - inside) * k, static_cast<long long>(STEP + BEHIND)));
        at = begin_of(row0 + row, k) / FOUR * FOUR + word + first;
        pass = k * PASS;
        const long long own = begin_of(row0 + thread, k);
        has_extra = thread < inside && own % FOUR != 0;
        extra = own / FOUR * FOUR + STEP + first;
    }
    __device__ __forceinline__ long long begin_of(long long of, long long k) const { return of * k + words.lead; }
    // Among the rows in shared memory.
    static __device__ __forceinline__ int slot_of(int row) { return row % 4 * GROUP + row / 4; }

    // `done` of k are behind this step, `left` are not.
    __device__ __forceinline__ void fill(float* to, int done, int left) const {
        const int slot = slot_of(row);
        if (left + behind >= STEP + BEHIND) {
            const bool wanted = word < left + 3;
#pragma unroll
            for (int i = 0; i < FILLS; ++i) {
                if (wanted && row + i * PASS < inside)
                    words.copy_whole(to + (slot + i * (PASS / 4)) * PITCH + word, at + i * pass + done);
            }
            if (has_extra && STEP < left + 3)
                words.copy_whole(to + slot_of(static_cast<int>(threadIdx.x)) * PITCH + STEP, extra + done);
            return;
        }
#pragma unroll
        for (int i = 0; i < FILLS; ++i) {
            if (row + i * PASS < inside && word < left + 3) {
                words.copy(to + (slot + i * (PASS / 4)) * PITCH + word, at + i * pass + done);
            }
        }
        if (has_extra && STEP < left + 3) {
            words.copy(to + slot_of(static_cast<int>(threadIdx.x)) * PITCH + STEP, extra + done);
        }
    }

    // Where a lane finds the row in slot `of` + 8 i + lane / 4 at lane % 4 of k.
    template <int COUNT>
    __device__ __forceinline__ void find(int (&places)[COUNT], int of, long long row0, long long k, int lane) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int slot = of + i * 8 + lane / 4;
            places[i] = slot * PITCH + lane % 4 + static_cast<int>(begin_of(row0 + slot / GROUP, k) % FOUR);
        }
    }
    static constexpr int NEXT_K = 1;

    // Of sums in shared memory, with the columns in slots: those beside each other lie in different banks.
    static constexpr int BETWEEN = GROUP % 32 == 8 || GROUP < 8 ? 0 : 8, SUMS = ROWS + 4 * BETWEEN;
    static __device__ __forceinline__ int sum_of_slot(int slot) { return slot + slot / GROUP * BETWEEN; }
    static __device__ __forceinline__ int sum_of(int column) { return sum_of_slot(slot_of(column)); }
    static constexpr int NEXT_SUMS = WARP / 4;  // from a column to the one a warp further
};

// Of a k x n matrix: COLUMNS of them from column0 on, STEP rows at once.
template <int COLUMNS, int STEP, int THREADS>
struct RowsAlongN {
    static constexpr int PITCH = COLUMNS + 8;  // the 4 rows x 8 columns that a warp reads lie in different banks
    static constexpr int FLOATS = STEP * PITCH;
    static constexpr int WORDS = COLUMNS / FOUR;
    static constexpr int PASS = THREADS / WORDS;
    static constexpr int FILLS = (STEP + PASS - 1) / PASS;
    static_assert(PASS % 4 == 0 && STEP <= THREADS);
    Words words;
    long long at, pass, extra, n;
    int row, word;
    int behind;  // elements of a row behind these
    bool inside, has_extra;

    __device__ __forceinline__ RowsAlongN(const float* matrix, long long n, long long k, long long column0, int first)
        : words(matrix, n * k), n(n) {
        const int thread = threadIdx.x;
        row = thread / WORDS, word = thread % WORDS * FOUR;
        at = ((first + row) * n + column0 + words.lead) / FOUR * FOUR + word;
        pass = n * PASS;
        inside = column0 + word < n + 3;
        behind = column0 + COLUMNS + BEHIND <= n ? STEP + BEHIND : 0;
        const long long own = (first + thread) * n + column0 + words.lead;
        has_extra = thread < STEP && own % FOUR != 0 && column0 + COLUMNS < n + 3;
        extra = own / FOUR * FOUR + COLUMNS;
    }

    __device__ __forceinline__ void fill(float* to, int done, int left) const {
        if (left + behind >= STEP + BEHIND) {
            const int until = min(left, STEP);
#pragma unroll
            for (int i = 0; i < FILLS; ++i) {
                if (inside && row + i * PASS < until)
                    words.copy_whole(to + (row + i * PASS) * PITCH + word, at + i * pass + done * n);
            }
            if (has_extra && static_cast<int>(threadIdx.x) < left)
                words.copy_whole(to + threadIdx.x * PITCH + COLUMNS, extra + done * n);
            return;
        }
#pragma unroll
        for (int i = 0; i < FILLS; ++i) {
            if (inside && row + i * PASS < min(left, STEP)) {
                words.copy(to + (row + i * PASS) * PITCH + word, at + i * pass + done * n);
            }
        }
        if (has_extra && static_cast<int>(threadIdx.x) < left) {
            words.copy(to + threadIdx.x * PITCH + COLUMNS, extra + done * n);
        }
    }

    // Where a lane finds column `of` + 8 i + lane / 4 at lane % 4 of k.
    template <int COUNT>
    __device__ __forceinline__ void find(int (&places)[COUNT], int of, long long column0, long long, int lane) const {
        const long long begin = lane % 4 * n + column0 + words.lead;
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            places[i] = lane % 4 * PITCH + of + i * 8 + lane / 4 + static_cast<int>(begin % FOUR);
    }
    static constexpr int NEXT_K = PITCH;

    static constexpr int SUMS = COLUMNS;
    static __device__ __forceinline__ int sum_of_slot(int column) { return column; }
    static __device__ __forceinline__ int sum_of(int column) { return column; }
    static constexpr int NEXT_SUMS = WARP;
};
