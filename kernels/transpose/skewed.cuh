// Transpose of a tile whose rows begin anywhere: 16 bytes an access on both sides.
//
// A row of the tile comes as the aligned packs that it lies in, the first and the last partly in it, and keeps in shared
// memory how far it lies past 16 bytes. A thread takes the elements of an aligned pack of y from there, one by one. The
// first pack of a row of y begins in the tile before: what the tile has of it and of the last one is a pack together,
// which one thread stores element by element.
#pragma once

#include "shared/shifted.cuh"

constexpr int SKEWED_THREADS = 256;  // as in cuda_swizzled.py

// A tile of PACKS packs on a side.
template <int PACKS>
struct SkewedTile {
    static constexpr int LENGTH = PACKS * PACK, SLOTS = PACKS + 1;

    // Packs of rows below one another lie in different banks: a column is read in the rows of several packs at once.
    static __device__ __forceinline__ int place(int row, int slot) {
        const int turned = slot + row / PACK;
        return row * SLOTS + (turned < SLOTS ? turned : turned - SLOTS);
    }
};

template <int PACKS>
__device__ __forceinline__ void transpose_skewed(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    using Tile = SkewedTile<PACKS>;
    constexpr int LENGTH = Tile::LENGTH, SLOTS = Tile::SLOTS;
    constexpr int LOADS = (LENGTH * SLOTS + SKEWED_THREADS - 1) / SKEWED_THREADS;
    __shared__ Bits tile[LENGTH * SLOTS];
    const unsigned across = static_cast<unsigned>((cols + LENGTH - 1) / LENGTH);
    const long long top = static_cast<long long>(blockIdx.x / across) * LENGTH;
    const long long left = static_cast<long long>(blockIdx.x % across) * LENGTH;
    const int height = static_cast<int>(min(rows - top, static_cast<long long>(LENGTH)));
    const int width = static_cast<int>(min(cols - left, static_cast<long long>(LENGTH)));
    const SCALAR *const corner = x + top * cols + left, *const end = x + rows * cols;

    Bits packs[LOADS];  // all under way at once
#pragma unroll
    for (int l = 0; l < LOADS; ++l) {
        const int index = threadIdx.x + l * SKEWED_THREADS, row = index / SLOTS;
        const SCALAR* const start = corner + row * cols;
        const int at = index % SLOTS * PACK - static_cast<int>(bytes_past(start) / sizeof(SCALAR));
        packs[l] = {};
        if (row < height && at < width) packs[l] = load_near(start + at, x, end);
    }
#pragma unroll
    for (int l = 0; l < LOADS; ++l) {
        const int index = threadIdx.x + l * SKEWED_THREADS;
        if (index < LENGTH * SLOTS) tile[Tile::place(index / SLOTS, index % SLOTS)] = packs[l];
    }
    __syncthreads();

    const SCALAR* const elements = reinterpret_cast<const SCALAR*>(tile);
    const unsigned past_of_corner = bytes_past(corner) / sizeof(SCALAR), step = static_cast<unsigned>(cols);
#pragma unroll
    for (int l = 0; l < (LENGTH * PACKS + SKEWED_THREADS - 1) / SKEWED_THREADS; ++l) {
        const int item = threadIdx.x + l * SKEWED_THREADS, col = item / PACKS;  // adjacent lanes along a row of y
        if (col >= width) break;
        SCALAR* const to = y + (left + col) * rows + top;
        const int first = item % PACKS * PACK - static_cast<int>(bytes_past(to) / sizeof(SCALAR));
        Pack pack;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            const int row = first + i < 0 ? first + i + LENGTH : first + i;
            const int at = col + static_cast<int>((past_of_corner + row * step) % PACK);
            pack.element[i] = elements[Tile::place(row, at / PACK) * PACK + at % PACK];
        }
        if (first >= 0 && first + PACK <= height) {
            store_whole_pack(to + first, pack);
            continue;
        }
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            const int row = first + i < 0 ? first + i + LENGTH : first + i;
            if (row < height) to[row] = pack.element[i];
        }
    }
}
