// Running sums of a row that a warp holds, where a lane's packs lie side by side.
//
// Packs a warp apart take a scan over the lanes each, whether or not many lanes have one, and instructions are then most
// of the time.
#pragma once

#include "cumsum/tile.cuh"

// A row that a warp holds, each lane PACKS neighbouring packs of it: one scan over the lanes is for all of them.
template <int PACKS>
__device__ __forceinline__ void cumsum_of_neighbours(
    const SCALAR* x, SCALAR* y, long long row, long long rows, long long cols
) {
    const Grid grid(x, row, rows, cols);
    x += row * cols;
    y += row * cols;
    const int lane = threadIdx.x % WARP;
    const long long first = grid.at(lane * PACKS);
    Bits packs[PACKS] = {};  // behind the row with whatever is there, as nothing comes after it
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (first + p * PACK < cols) packs[p] = load_near(x + first + p * PACK, grid.from, grid.end);
    }
    float values[PACKS][PACK], sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        unpack(packs[p], values[p]);
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[p][i] = sum += p || first + i >= 0 ? values[p][i] : 0.0f;
    }
    const float before = __shfl_up_sync(WHOLE_WARP, warp_running_sum(sum), 1);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[p][i] += lane ? before : 0.0f;
        grid.store(y, first + p * PACK, to_pack(values[p]));
    }
}
