// Rows of a few columns, PACK of them a thread: together they are COLS whole words of 16 bytes, wherever each begins.
//
// A thread a row has a few bytes under way, and needs more waves of blocks than there are bytes for. Where COLS is odd the
// words of a warp come side by side and change lanes in shared memory, where an odd number of them apart lies in different
// banks: each in its own lane, one access of a warp would be for as many lines as it has lanes.
#pragma once

#include "shared/shifted.cuh"

constexpr int FEW_COLUMNS_THREADS = 128;  // as in few_columns.py

// Of a tensor that begins on 16 bytes. By whole warps.
template <int COLS>
struct FewColumns {
    long long first;  // row
    int rows;         // PACK of them, fewer at the end, none beyond
    Bits words[COLS];

    __device__ __forceinline__ FewColumns(const SCALAR* x, long long all_rows) : first(thread_of_grid() * PACK) {
        const long long left = all_rows - first;
        rows = left >= PACK ? PACK : left > 0 ? static_cast<int>(left) : 0;
        constexpr bool SIDE_BY_SIDE = COLS > 1 && COLS % 2;
        x += first * COLS;
        if (SIDE_BY_SIDE ? !__all_sync(WHOLE_WARP, rows == PACK) : rows < PACK) {
#pragma unroll
            for (int i = 0; i < COLS; ++i) words[i] = load_elements(x + i * PACK, rows * COLS - i * PACK);
        } else if constexpr (SIDE_BY_SIDE) {
            load_side_by_side(x);
        } else {
#pragma unroll
            for (int i = 0; i < COLS; ++i) words[i] = __ldg(reinterpret_cast<const Bits*>(x) + i);
        }
    }
    // `x` is where this lane's words begin.
    __device__ __forceinline__ void load_side_by_side(const SCALAR* x) {
        __shared__ Bits of_warps[FEW_COLUMNS_THREADS / WARP][COLS * WARP];
        const int lane = threadIdx.x % WARP;
        Bits* const of_warp = of_warps[threadIdx.x / WARP];
        const Bits* const from = reinterpret_cast<const Bits*>(x) - lane * (COLS - 1);
#pragma unroll
        for (int i = 0; i < COLS; ++i) words[i] = __ldg(from + i * WARP);
#pragma unroll
        for (int i = 0; i < COLS; ++i) of_warp[lane + i * WARP] = words[i];
        __syncwarp();
#pragma unroll
        for (int i = 0; i < COLS; ++i) words[i] = of_warp[lane * COLS + i];
    }
    __device__ __forceinline__ float at(int row, int col) const {
        const int number = row * COLS + col;
        return to_float(reinterpret_cast<const Pack&>(words[number / PACK]).element[number % PACK]);
    }
};
