// Rows of some hundred columns, element by element: a warp has ROWS of them, EACH elements a lane of each. Nothing is to be
// aligned, and all loads are under way at once. columns.py chooses.
#pragma once

#include "shared/common.cuh"

// A warp's rows from `row` on, each EACH elements of a lane; zeros beyond the columns, and beyond the last row.
template <int EACH, int ROWS>
__device__ __forceinline__ void load_columns(
    float (&values)[ROWS][EACH], const SCALAR* x, long long row, long long rows, long long cols
) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const SCALAR* const from = x + (row + r) * cols + lane;
        const int length = row + r < rows ? static_cast<int>(cols) - lane : 0;
#pragma unroll
        for (int e = 0; e < EACH; ++e) values[r][e] = e * WARP < length ? to_float(from[e * WARP]) : 0.0f;
    }
}
