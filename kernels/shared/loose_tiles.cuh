// Tiles of C whose rows begin anywhere, by mma.sync from shared memory: what short_sums.cuh and long_sums.cuh share.
//
// A warp takes WARP_ROWS x WARP_COLUMNS of a block's tile. Sums go back by way of shared memory, where each row of C begins as
// far behind a word of 16 bytes as it does in memory, so that what is stored are whole words. Tiles beside each other overlap
// by a word: of a row each stores the words that it has all elements of. Where one tile has all columns, its rows are one run.
#pragma once

#include "shared/finish.cuh"
#include "shared/loose_words.cuh"

// How a block of WARPS_BELOW x WARPS_BESIDE warps computes ROWS x COLUMNS of C.
template <int ROWS, int COLUMNS, int WARPS_BELOW, int WARPS_BESIDE>
struct LooseTile {
    static constexpr int THREADS = WARPS_BELOW * WARPS_BESIDE * WARP;
    static constexpr int WARP_ROWS = ROWS / WARPS_BELOW, WARP_COLUMNS = COLUMNS / WARPS_BESIDE;
    static constexpr int WORDS = COLUMNS / 8;         // of a row of B or C
    static constexpr int PITCH_B = (WORDS + 1) * 16;  // bytes: 8 rows fall in different banks
    static constexpr int PITCH_C = COLUMNS + 8;       // elements, with room for a row that begins late in a word
    using Sums = float[WARP_ROWS / 16][WARP_COLUMNS / 8][4];

    long long m, n, row0, column0;
    int rows, columns;  // that are there
    bool is_left, is_right;

    // Number `row` of those below each other, `column` of `count` beside each other.
    __device__ __forceinline__ LooseTile(long long m, long long n, long long row, int column, int count)
        : m(m), n(n), row0(row * ROWS), column0(static_cast<long long>(column) * (COLUMNS - (n % 8 ? 8 : 0))) {
        rows = static_cast<int>(min(m - row0, static_cast<long long>(ROWS)));
        columns = static_cast<int>(min(n - column0, static_cast<long long>(COLUMNS)));
        is_left = column == 0, is_right = column == count - 1;
    }
    static __device__ __forceinline__ int warp_row() { return threadIdx.x / WARP / WARPS_BESIDE * WARP_ROWS; }
    static __device__ __forceinline__ int warp_column() { return threadIdx.x / WARP % WARPS_BESIDE * WARP_COLUMNS; }

    // sum += A B over so many times 16 of k: of A rows of `pitch_a` bytes, of B rows along n.
    static __device__ __forceinline__ void multiply(
        Sums& sum, const unsigned char* of_a, int pitch_a, const unsigned char* of_b, int slices
    ) {
        const int lane = threadIdx.x % WARP;
        for (int slice = 0; slice < slices; ++slice) {
            unsigned slice_b[WARP_COLUMNS / 16][4];
#pragma unroll
            for (int j = 0; j < WARP_COLUMNS / 16; ++j) {
                const int unit = warp_column() / 8 + j * 2 + lane / 16;
                load_transposed(slice_b[j], of_b + (slice * 16 + lane % 16) * PITCH_B + unit * 16);
            }
#pragma unroll
            for (int i = 0; i < WARP_ROWS / 16; ++i) {
                unsigned slice_a[4];
                const int row = warp_row() + i * 16 + lane % 16;
                load_matrices(slice_a, of_a + row * pitch_a + (slice * 2 + lane / 16) * 16);
#pragma unroll
                for (int j = 0; j < WARP_COLUMNS / 8; ++j) {
                    const unsigned (&four)[4] = slice_b[j / 2];
                    multiply_add(sum[i][j], slice_a, four[j % 2 * 2], four[j % 2 * 2 + 1]);
                }
            }
        }
    }

    // What the thread's columns need of a finish, before the products.
    template <class Finish>
    __device__ __forceinline__ decltype(auto) of_columns(const Finish& finish) const {
        const int first = static_cast<int>(column0) + warp_column() + threadIdx.x % 4 * 2;
        return for_columns<WARP_COLUMNS / 8>(finish, first);
    }

    // C's rows of the tile, by way of ROWS x PITCH_C elements of shared memory, which nobody reads any more. The finish is
    // what `of_columns` has given.
    template <class Finish>
    __device__ __forceinline__ void store(
        const Sums& sum, unsigned char* shared, SCALAR* c, const Finish& finish
    ) const {
        auto* const of_c = reinterpret_cast<unsigned short*>(shared);
        SCALAR* const first_c = c + row0 * n + column0;
        fill(sum, of_c, first_c, finish);
        __syncthreads();
        if (is_run()) store_run(of_c, first_c);
        else store_rows(of_c, first_c);
    }

private:
    // All columns are here: rows are next to each other.
    __device__ __forceinline__ bool is_run() const { return is_left && is_right; }

    // By how many elements a row begins behind a word of 16 bytes.
    __device__ __forceinline__ int past_of(const SCALAR* first_c, int row) const {
        const unsigned past = static_cast<unsigned>(reinterpret_cast<unsigned long long>(first_c) / sizeof(SCALAR)) % 8;
        return is_run() ? past : (past + row * static_cast<unsigned>(n % 8)) % 8;
    }

    template <class Finish>
    __device__ __forceinline__ void fill(
        const Sums& sum, unsigned short* of_c, const SCALAR* first_c, const Finish& finish
    ) const {
        const int lane = threadIdx.x % WARP, pitch = is_run() ? static_cast<int>(n) : PITCH_C;
        const bool by_pairs = n % 2 == 0;
#pragma unroll
        for (int i = 0; i < WARP_ROWS / 8; ++i) {
            const int row = warp_row() + i * 8 + lane / 4;
            unsigned short* const to = of_c + row * pitch + past_of(first_c, row);
#pragma unroll
            for (int j = 0; j < WARP_COLUMNS / 8; ++j) {
                const float (&four)[4] = sum[i / 2][j];
                const int column = warp_column() + j * 8 + lane % 4 * 2;
                const float2 sums = make_float2(four[i % 2 * 2], four[i % 2 * 2 + 1]);
                const float2 two = finish_pair(finish, sums, static_cast<int>(column0) + column, j);
                unsigned pair;
                from_floats(two.x, two.y, reinterpret_cast<SCALAR*>(&pair));
                if (is_run() && column >= columns) continue;
                if (by_pairs) {
                    *reinterpret_cast<unsigned*>(to + column) = pair;
                } else {
                    to[column] = static_cast<unsigned short>(pair);
                    if (!is_run() || column + 1 < columns) to[column + 1] = static_cast<unsigned short>(pair >> 16);
                }
            }
        }
    }

    __device__ __forceinline__ void store_run(const unsigned short* of_c, SCALAR* first_c) const {
        const int past = past_of(first_c, 0), until = past + rows * static_cast<int>(n), whole = until / 8;
        auto* const out = reinterpret_cast<unsigned short*>(first_c) - past;
        for (int word = threadIdx.x + (past > 0); word < whole; word += THREADS)
            reinterpret_cast<uint4*>(out)[word] = reinterpret_cast<const uint4*>(of_c)[word];
        // Of the words at both ends others have a part.
        const int edge = static_cast<int>(threadIdx.x), at = edge < 8 ? edge : whole * 8 + edge - 8;
        const bool is_first = edge < 8 && past > 0, is_last = edge >= 8 && edge < 16 && (whole > 0 || past == 0);
        if ((is_first || is_last) && at >= past && at < until) out[at] = of_c[at];
    }

    __device__ __forceinline__ void store_rows(const unsigned short* of_c, SCALAR* first_c) const {
        auto* const out = reinterpret_cast<unsigned short*>(first_c);
        const int word = threadIdx.x % WORDS * 8;
        // Of a row in shared memory: from which element to which the block stores it.
        const auto begin_of = [&](int row) { return is_left || n % 8 == 0 ? past_of(first_c, row) : 8; };
        const auto end_of = [&](int row) { return is_right ? past_of(first_c, row) + columns : COLUMNS; };
#pragma unroll 4
        for (int row = threadIdx.x / WORDS; row < rows; row += THREADS / WORDS) {
            if (word >= begin_of(row) && word + 8 <= end_of(row)) {
                *reinterpret_cast<uint4*>(out + row * n + word - past_of(first_c, row)) =
                    *reinterpret_cast<const uint4*>(of_c + row * PITCH_C + word);
            }
        }
        // Words that a row shares with the next one.
        for (int edge = threadIdx.x; edge < 2 * ROWS; edge += THREADS) {
            const int row = edge % ROWS;
            const bool at_begin = edge < ROWS;
            if (row >= rows || !(at_begin ? is_left : is_right)) continue;
            const int begin = begin_of(row), end = end_of(row), past = past_of(first_c, row);
            if (at_begin && begin % 8 == 0) continue;
            const int at = at_begin ? begin / 8 * 8 : max(min(end / 8 * 8, COLUMNS), (begin + 7) / 8 * 8);
            const int until = at_begin ? min((begin + 7) / 8 * 8, end) : end;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                if (at + i >= begin && at + i < until) out[row * n + at + i - past] = of_c[row * PITCH_C + at + i];
            }
        }
    }
};

// Of 8 elements those in the last word of a matrix, which is not there as a whole.
__device__ __forceinline__ void load_last(unsigned (&words)[4], const Element* from, int count, const Element* end) {
    const Element* const last_word = end - reinterpret_cast<unsigned long long>(end) / sizeof(Element) % 8;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        if (i < count && from + i >= last_word) words[i / 2] |= static_cast<unsigned>(__ldg(from + i)) << i % 2 * 16;
    }
}
