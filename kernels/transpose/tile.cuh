// Transpose of a tile in shared memory, for any size and alignment.
#pragma once

#include "shared/common.cuh"

constexpr int TILE = 32;      // as in the launchers
constexpr int TILE_ROWS = 8;  // rows of a tile under way at once, 32 threads each

// Column c of a tile is SIDE + 1 elements from one row to the next, hence in another bank of shared memory:
// without the one more, a warp that reads a column would find all of it in one bank. By TILE * TILE_ROWS threads.
template <int SIDE>
__device__ __forceinline__ void transpose_tile(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    constexpr int LINES = TILE * TILE_ROWS / SIDE;  // under way at once
    __shared__ SCALAR tile[SIDE][SIDE + 1];
    const unsigned across = static_cast<unsigned>((cols + SIDE - 1) / SIDE);
    const long long top = static_cast<long long>(blockIdx.x / across) * SIDE;
    const long long left = static_cast<long long>(blockIdx.x % across) * SIDE;
    const int lane = threadIdx.x % SIDE;
    const int line = threadIdx.x / SIDE;
    SCALAR values[SIDE / LINES];  // all under way at once
#pragma unroll
    for (int i = 0; i < SIDE / LINES; ++i) {
        const int row = line + i * LINES;
        if (top + row < rows && left + lane < cols) values[i] = x[(top + row) * cols + left + lane];
    }
#pragma unroll
    for (int i = 0; i < SIDE / LINES; ++i) tile[line + i * LINES][lane] = values[i];
    __syncthreads();
#pragma unroll
    for (int i = line; i < SIDE; i += LINES) {
        if (left + i < cols && top + lane < rows) y[(left + i) * rows + top + lane] = tile[lane][i];
    }
}
