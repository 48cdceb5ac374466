// Stores of a tile of C in 16 bits whose rows begin anywhere: by words of 4 bytes out of sums, or of 16 bytes.
#pragma once

#include "shared/common.cuh"

// Pairs of neighbours of a tile of C that are stored at once: words of 4 bytes, whatever row of C begins where.
template <int ROWS, int COLUMNS>
struct LoosePairs {
    static constexpr int OF_ROW = COLUMNS / 2 + 1, COUNT = ROWS * OF_ROW;
    SCALAR* c;
    long long n;
    int rows, columns;  // that are there

    __device__ __forceinline__ LoosePairs(SCALAR* c, long long m, long long n, long long row0, long long column0)
        : c(c + row0 * n + column0), n(n) {
        rows = static_cast<int>(min(m - row0, static_cast<long long>(ROWS)));
        columns = static_cast<int>(min(n - column0, static_cast<long long>(COLUMNS)));
    }

    // `element(row, column)` gives what is stored.
    template <class Element>
    __device__ __forceinline__ void store(int index, const Element& element) const {
        const int row = index / OF_ROW;
        if (row >= rows) return;
        SCALAR* const of_row = c + row * n;
        const int amid = static_cast<int>(reinterpret_cast<unsigned long long>(of_row) / sizeof(SCALAR) % 2);
        const int column = index % OF_ROW * 2 - amid;
        const bool has_first = column >= 0 && column < columns, has_second = column + 1 < columns;
        if (has_first && has_second) {
            from_floats(element(row, column), element(row, column + 1), of_row + column);
        } else if (has_first) {
            from_float(element(row, column), of_row[column]);
        } else if (has_second) {
            from_float(element(row, column + 1), of_row[column + 1]);
        }
    }
};

// A tile by words of 16 bytes: in shared memory each row begins as far behind such a word as it does in memory. Of the words at
// both ends of a row other tiles have a part: their elements are stored one by one.
template <int ROWS, int COLUMNS, int THREADS>
struct LooseWords {
    static constexpr int PITCH =
        COLUMNS + 8;  // elements: the 8 rows x 4 pairs that a warp writes lie in different banks
    static constexpr int WORDS = COLUMNS / 8 + 1, BYTES = ROWS * PITCH * 2;
    SCALAR* c;
    long long n;
    int rows, columns;  // that are there
    bool by_pairs;      // whether all rows begin on words of 4 bytes
    unsigned short* shared;

    __device__ __forceinline__
    LooseWords(SCALAR* c, long long m, long long n, long long row0, long long column0, void* shared)
        : c(c + row0 * n + column0), n(n), shared(static_cast<unsigned short*>(shared)) {
        rows = static_cast<int>(min(m - row0, static_cast<long long>(ROWS)));
        columns = static_cast<int>(min(n - column0, static_cast<long long>(COLUMNS)));
        by_pairs = n % 2 == 0 && reinterpret_cast<unsigned long long>(c) % 4 == 0;
    }
    // By how many elements a row begins behind a word.
    __device__ __forceinline__ int past(int row) const {
        const unsigned at = static_cast<unsigned>(reinterpret_cast<unsigned long long>(c) / sizeof(SCALAR));
        return (at + static_cast<unsigned>(row) * static_cast<unsigned>(n)) % 8;
    }

    // Two neighbours, the first in an even column.
    __device__ __forceinline__ void put(int row, int column, float first, float second) const {
        unsigned pair;
        from_floats(first, second, reinterpret_cast<SCALAR*>(&pair));
        unsigned short* const to = shared + row * PITCH + past(row) + column;
        if (by_pairs) {
            *reinterpret_cast<unsigned*>(to) = pair;
        } else {
            to[0] = static_cast<unsigned short>(pair), to[1] = static_cast<unsigned short>(pair >> 16);
        }
    }

    // What all threads have put there, once they have met: whole words, and then those at both ends of rows.
    __device__ __forceinline__ void store() const {
        auto* const out = reinterpret_cast<unsigned short*>(c);
        constexpr int WHOLE = COLUMNS / 8;
#pragma unroll 4
        for (int i = threadIdx.x; i < rows * WHOLE; i += THREADS) {
            const int row = i / WHOLE, begin = past(row), at = i % WHOLE * 8 + (begin > 0 ? 8 : 0);
            if (at + 8 > begin + columns) continue;
            *reinterpret_cast<uint4*>(out + (row * n + (at - begin))) =
                *reinterpret_cast<const uint4*>(shared + row * PITCH + at);
        }
        for (int i = threadIdx.x; i < 2 * ROWS; i += THREADS) {
            const int row = i % ROWS, begin = past(row), end = begin + columns;
            if (row >= rows) continue;
            const unsigned short* const from = shared + row * PITCH;
            unsigned short* const to = out + (row * n - begin);
            if (i < ROWS && begin > 0) store_part(to, from, begin, min(end, 8));
            if (i >= ROWS && end % 8 > 0 && (end > 8 || begin == 0)) store_part(to, from, end / 8 * 8, end);
        }
    }

private:
    // Elements `at` to `end` of a word, by as few accesses as they take.
    static __device__ __forceinline__ void store_part(unsigned short* to, const unsigned short* from, int at, int end) {
        if (at % 2 && at < end) to[at] = from[at], ++at;
        if (at % 4 && at + 2 <= end) at += copy<unsigned>(to + at, from + at);
        if (at + 4 <= end) at += copy<unsigned long long>(to + at, from + at);
        if (at + 2 <= end) at += copy<unsigned>(to + at, from + at);
        if (at < end) to[at] = from[at];
    }
    template <class Word>
    static __device__ __forceinline__ int copy(unsigned short* to, const unsigned short* from) {
        *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
        return sizeof(Word) / 2;
    }
};
