// The outer product written as one run of memory, whatever the length of its rows.
//
// Where rows begin on no 16 bytes, a thread that has its columns of each row can write only element by element, and a
// warp's accesses begin and end within sectors of 32 bytes, each of which is then written twice. Here a thread writes whole
// packs, which begin in one row and may end in the next, and looks up what they are made of: the weights are in L1.
#pragma once

#include "shared/common.cuh"

constexpr int FLAT_THREADS = 256;  // as in cuda_phases.py

// Row and column of element `at`. `reciprocal` is 2^64 / cols rounded up, which is right while `at` times `cols` is below
// 2^64; of one column it would not fit.
struct Place {
    long long row;
    int col;

    __device__ __forceinline__ Place(long long at, long long cols, long long reciprocal) {
        row = cols == 1 ? at
                        : static_cast<long long>(__umul64hi(
                              static_cast<unsigned long long>(at), static_cast<unsigned long long>(reciprocal)
                          ));
        col = static_cast<int>(at - row * cols);
    }
};

// The first `count` elements from a place on.
__device__ __forceinline__ Pack outer_pack(const SCALAR* dy, const SCALAR* w, Place place, int cols, long long count) {
    float values[PACK];
    if (cols >= PACK) {
        const int own = cols - place.col;  // elements of the row where the pack begins
        const float gradient = to_float(dy[place.row]);
        const float next = own < PACK && own < count ? to_float(dy[place.row + 1]) : 0.0f;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            values[i] = (i < own ? gradient : next) * to_float(w[place.col + (i < own ? i : i - cols)]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            values[i] = i < count ? to_float(dy[place.row]) * to_float(w[place.col]) : 0.0f;
            if (++place.col == cols) {
                place.col = 0;
                ++place.row;
            }
        }
    }
    return to_pack(values);
}

// PACKS a thread.
template <int PACKS>
__device__ __forceinline__ void write_flat(
    const SCALAR* dy, const SCALAR* w, SCALAR* dx, long long block, long long rows, long long cols, long long reciprocal
) {
    constexpr int APART = FLAT_THREADS * PACK;
    const int width = static_cast<int>(cols), skip = APART / width, rest = APART % width;
    const long long first = block * (PACKS * APART) + threadIdx.x * PACK;
    Place place(first, cols, reciprocal);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const long long at = first + p * APART, count = rows * cols - at;
        if (count > 0) store_part(dx + at, outer_pack(dy, w, place, width, count), count);
        place.row += skip;
        place.col += rest;
        if (place.col >= width) {
            place.col -= width;
            ++place.row;
        }
    }
}
