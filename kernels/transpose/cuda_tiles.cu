// Transpose by tiles in shared memory, so that reads and writes are both adjacent.
//
// Formula: y[c, r] = x[r, c]; no FLOP, 2 rows cols s bytes.
// Mapping: a block owns a tile of 32 x 32 elements; a warp reads 32 adjacent elements of x, four times, and
//   after a barrier writes 32 adjacent elements of y.
// Idea: cuda_naive's writes made adjacent, too: Harris, "An Efficient Matrix Transpose in CUDA C/C++": the tile, and
//   the column more that spreads it over the banks.
#include "transpose/tile.cuh"

extern "C" __global__ void __launch_bounds__(TILE* TILE_ROWS) transpose(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    transpose_tile<TILE>(x, y, rows, cols);
}
