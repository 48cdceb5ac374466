// Transpose with 16 bytes an access on every side, where cuda_tiles has 2 or 4: tiles in shared memory, squares in
// registers.
//
// Formula: y[c, r] = x[r, c]; no FLOP, 2 rows cols s bytes.
// Mapping: a block owns a tile of 64 x 64 or 128 x 128 elements, 256 bytes a row. A thread brings PACK packs
//   of x to shared memory, all under way at once; after a barrier it takes a square of PACK x PACK elements
//   from there, renames its registers (two 16-bit elements are joined by one byte permutation), and stores
//   the square's columns as packs of y. Either way 16 lanes move 256 adjacent bytes. Where rows are no
//   multiples of 16 bytes, tiles of single elements do it. A matrix of few rows or columns has tiles as long as it is
//   thin, of which one side is a run.
// Idea: a vector load gives a thread elements of one row, a vector store wants elements of one column: a
//   square a thread serves both. Squares straight from x, in pieces of 64 bytes, are slower.
//   The packs of a row lie in shared memory in an order of their own, so that lanes which read one below the
//   other find them in different banks.
#include "transpose/thin.cuh"
#include "transpose/tile.cuh"

constexpr int SQUARES = 16;           // on a side of the tile, as in cuda_swizzled.py
constexpr int SIDE = SQUARES * PACK;  // elements

// Position, in its row of the tile, of the pack in column `column` and line `line` of squares.
__device__ __forceinline__ int swizzled(int line, int column) { return column ^ line; }

extern "C" __global__ void __launch_bounds__(SQUARES* SQUARES) transpose_squares(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    __shared__ Pack tile[SIDE][SQUARES];
    const unsigned across = static_cast<unsigned>((cols + SIDE - 1) / SIDE);
    const long long top = static_cast<long long>(blockIdx.x / across) * SIDE;
    const long long left = static_cast<long long>(blockIdx.x % across) * SIDE;
    const int inner = threadIdx.x % SQUARES;  // adjacent lanes: first along the rows of x, then those of y
    const int outer = threadIdx.x / SQUARES;

    // rows and cols are multiples of PACK, so a pack or a square is inside or outside as a whole.
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
        const int row = i * SQUARES + outer;
        if (top + row < rows && left + inner * PACK < cols) {
            tile[row][swizzled(row / PACK, inner)] = load_pack_evict_last(x + (top + row) * cols + left + inner * PACK);
        }
    }
    __syncthreads();
    if (top + inner * PACK >= rows || left + outer * PACK >= cols) return;
    Pack square[PACK];
#pragma unroll
    for (int i = 0; i < PACK; ++i) square[i] = tile[inner * PACK + i][swizzled(inner, outer)];
#pragma unroll
    for (int j = 0; j < PACK; ++j) {
        Pack turned;
#pragma unroll
        for (int i = 0; i < PACK; ++i) turned.element[i] = square[i].element[j];
        store_whole_pack(y + (left + outer * PACK + j) * rows + top + inner * PACK, turned);
    }
}

// Small matrices whose rows do not begin on 16 bytes.
extern "C" __global__ void __launch_bounds__(TILE* TILE_ROWS) transpose_tiles(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    transpose_tile<TILE>(x, y, rows, cols);
}

// Large ones: longer runs on both sides, of which less lies on a line of the cache that is another tile's too.
extern "C" __global__ void __launch_bounds__(TILE* TILE_ROWS) transpose_large_tiles(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    transpose_tile<2 * TILE>(x, y, rows, cols);
}

__device__ __forceinline__ SCALAR* thin_tile() {
    __shared__ SCALAR tile[THIN_ELEMENTS + 2 * (MOST_FEW + WARP)];
    return tile;
}

extern "C" __global__ void __launch_bounds__(THIN_THREADS) transpose_few_rows(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols, long long bits
) {
    transpose_few_rows(x, y, thin_tile(), rows, cols, static_cast<int>(bits));
}

extern "C" __global__ void __launch_bounds__(THIN_THREADS) transpose_few_cols(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols, long long bits
) {
    transpose_few_cols(x, y, thin_tile(), rows, cols, static_cast<int>(bits));
}
