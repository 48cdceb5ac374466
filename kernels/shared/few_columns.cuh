// Rows of a few columns, PACK of them a thread: together they are COLS whole words of 16 bytes, wherever each begins.
//
// A thread a row has a few bytes under way, and needs more waves of blocks than there are bytes for.
#pragma once

#include "shared/shifted.cuh"

// Of a tensor that begins on 16 bytes.
template <int COLS>
struct FewColumns {
    long long first;  // row
    int rows;         // PACK of them, fewer at the end, none beyond
    Bits words[COLS];

    __device__ __forceinline__ FewColumns(const SCALAR* x, long long all_rows) : first(thread_of_grid() * PACK) {
        const long long left = all_rows - first;
        rows = left >= PACK ? PACK : left > 0 ? static_cast<int>(left) : 0;
        x += first * COLS;
        if (rows == PACK) {
#pragma unroll
            for (int i = 0; i < COLS; ++i) words[i] = __ldg(reinterpret_cast<const Bits*>(x) + i);
        } else {
#pragma unroll
            for (int i = 0; i < COLS; ++i) words[i] = load_elements(x + i * PACK, rows * COLS - i * PACK);
        }
    }
    __device__ __forceinline__ float at(int row, int col) const {
        const int number = row * COLS + col;
        return to_float(reinterpret_cast<const Pack&>(words[number / PACK]).element[number % PACK]);
    }
};
