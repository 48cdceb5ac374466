// Pieces of float32 matrices whose rows begin anywhere, into shared memory by words of 16 bytes as they lie.
//
// Idea: rows 4 apart begin alike. So all elements of a lane of mma.sync, which takes rows 8 apart and every fourth of k, lie
//   by one number of places behind where they would be if every row began on a word, and nothing has to be shifted. One word
//   more a row has the elements of its end.
#pragma once

#include "shared/ampere.cuh"

constexpr int SLICE_K = 32;  // of k, of a warp in a step
constexpr int FOUR = 4;      // elements of a word

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

    // Starts to copy the word that begins at element `at`, element by element where some are not the matrix's.
    __device__ __forceinline__ void copy(float* to, long long at) const {
        const unsigned address = shared_address(to);
        if (at >= lead && at + FOUR <= end) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + at) : "memory");
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
template <int ROWS, int STEP, int THREADS>
struct RowsAlongK {
    static constexpr int PITCH = STEP + FOUR;  // the 8 rows x 4 of k that a warp reads lie in different banks
    static constexpr int FLOATS = ROWS * PITCH;
    static constexpr int WORDS = STEP / FOUR;
    static constexpr int PASS = THREADS / WORDS;
    static constexpr int FILLS = (ROWS + PASS - 1) / PASS;
    static_assert(PASS % 4 == 0 && ROWS <= THREADS);
    Words words;
    long long at, pass, extra;
    int row, word, inside;  // of rows
    bool has_extra;

    __device__ __forceinline__ RowsAlongK(const float* matrix, long long rows, long long k, long long row0, int first)
        : words(matrix, rows * k) {
        const int thread = threadIdx.x;
        row = thread / WORDS, word = thread % WORDS * FOUR;
        inside = static_cast<int>(min(rows - row0, static_cast<long long>(ROWS)));
        at = begin_of(row0 + row, k) / FOUR * FOUR + word + first;
        pass = k * PASS;
        const long long own = begin_of(row0 + thread, k);
        has_extra = thread < inside && own % FOUR != 0;
        extra = own / FOUR * FOUR + STEP + first;
    }
    __device__ __forceinline__ long long begin_of(long long of, long long k) const { return of * k + words.lead; }

    // `done` of k are behind this step, `left` are not.
    __device__ __forceinline__ void fill(float* to, int done, int left) const {
#pragma unroll
        for (int i = 0; i < FILLS; ++i) {
            if (row + i * PASS < inside && word < left + 3) {
                words.copy(to + (row + i * PASS) * PITCH + word, at + i * pass + done);
            }
        }
        if (has_extra && STEP < left + 3) words.copy(to + threadIdx.x * PITCH + STEP, extra + done);
    }

    // Where a lane finds row `of` + lane / 4 (+ 8 i) at lane % 4 of k.
    __device__ __forceinline__ int place(int of, long long row0, long long k, int lane) const {
        return (of + lane / 4) * PITCH + lane % 4 + static_cast<int>(begin_of(row0 + lane / 4, k) % FOUR);
    }
    static constexpr int NEXT_ROW = PITCH, NEXT_K = 1;
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
    bool inside, has_extra;

    __device__ __forceinline__ RowsAlongN(const float* matrix, long long n, long long k, long long column0, int first)
        : words(matrix, n * k), n(n) {
        const int thread = threadIdx.x;
        row = thread / WORDS, word = thread % WORDS * FOUR;
        at = ((first + row) * n + column0 + words.lead) / FOUR * FOUR + word;
        pass = n * PASS;
        inside = column0 + word < n + 3;
        const long long own = (first + thread) * n + column0 + words.lead;
        has_extra = thread < STEP && own % FOUR != 0 && column0 + COLUMNS < n + 3;
        extra = own / FOUR * FOUR + COLUMNS;
    }

    __device__ __forceinline__ void fill(float* to, int done, int left) const {
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

    // Where a lane finds column `of` + lane / 4 (+ 8 i) at lane % 4 of k.
    __device__ __forceinline__ int place(int of, long long column0, long long, int lane) const {
        const long long begin = lane % 4 * n + column0 + words.lead;
        return lane % 4 * PITCH + of + lane / 4 + static_cast<int>(begin % FOUR);
    }
    static constexpr int NEXT_ROW = 1, NEXT_K = PITCH;
};
