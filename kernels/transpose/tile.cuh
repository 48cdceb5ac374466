// Transpose of a tile in shared memory, for any size and alignment.
#pragma once

#include "shared/common.cuh"

constexpr int TILE = 32;      // as in the launchers
constexpr int TILE_ROWS = 8;  // rows of a tile under way at once, 32 threads each

// Column c of a tile is TILE + 1 elements from one row to the next, hence in another bank of shared memory:
// without the one more, a warp that reads a column would find all of it in one bank.
__device__ __forceinline__ void transpose_tile(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    __shared__ SCALAR tile[TILE][TILE + 1];
    const unsigned across = static_cast<unsigned>((cols + TILE - 1) / TILE);
    const long long top = static_cast<long long>(blockIdx.x / across) * TILE;
    const long long left = static_cast<long long>(blockIdx.x % across) * TILE;
    const int lane = threadIdx.x % TILE;
    const int line = threadIdx.x / TILE;
#pragma unroll
    for (int i = line; i < TILE; i += TILE_ROWS) {
        if (top + i < rows && left + lane < cols) tile[i][lane] = x[(top + i) * cols + left + lane];
    }
    __syncthreads();
#pragma unroll
    for (int i = line; i < TILE; i += TILE_ROWS) {
        if (left + i < cols && top + lane < rows) y[(left + i) * rows + top + lane] = tile[lane][i];
    }
}
