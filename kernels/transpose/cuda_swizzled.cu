// Transpose with 16 bytes an access on every side, where cuda_tiles has 2 or 4: tiles in shared memory, squares in
// registers.
//
// Formula: y[c, r] = x[r, c]; no FLOP, 2 rows cols s bytes.
// Mapping: a block owns a tile of 64 x 64 or 128 x 128 elements, 256 bytes a row. A thread brings PACK packs
//   of x to shared memory, all under way at once; after a barrier it takes a square of PACK x PACK elements
//   from there, renames its registers (two 16-bit elements are joined by one byte permutation), and stores
//   the square's columns as packs of y. Either way 16 lanes move 256 adjacent bytes. Rows that do not begin on 16
//   bytes come and go by whole words too (skewed.cuh), where such tiles are many; else by single elements. A matrix of few rows or columns has tiles as long as it is
//   thin, of which one side is a run; of very few and short ones each thread moves elements, and a line is copied.
// Idea: a vector load gives a thread elements of one row, a vector store wants elements of one column: a
//   square a thread serves both. Squares straight from x, in pieces of 64 bytes, are slower.
//   The packs of a row lie in shared memory in an order of their own, so that lanes which read one below the
//   other find them in different banks.
#include "transpose/skewed.cuh"
#include "transpose/thin.cuh"
#include "transpose/tile.cuh"

constexpr int SQUARES = 16;                       // on a side of the tile, as in cuda_swizzled.py
constexpr int SIDE = SQUARES * PACK;              // elements
constexpr int FEW_THREADS = 256, FEW_PACKS = 10;  // of a block that has all of few rows, and of a thread, at most

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

// Larger ones: longer runs on both sides, of which less lies on a line of the cache that is another tile's too.
extern "C" __global__ void __launch_bounds__(TILE* TILE_ROWS) transpose_large_tiles(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    transpose_tile<2 * TILE>(x, y, rows, cols);
}

#define SKEWED_KERNEL(NAME, DOWN, ACROSS, SHIFTED, BLOCKS)                                       \
    extern "C" __global__ void __launch_bounds__(DOWN* ACROSS, BLOCKS) transpose_##NAME(         \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {  \
        transpose_skewed<DOWN, ACROSS, SHIFTED>(x, y, rows, cols);                               \
    }

constexpr int SKEWED_BLOCKS = 7;  // of a multiprocessor: more would spill

SKEWED_KERNEL(skewed, 16, 8, false, SKEWED_BLOCKS)
SKEWED_KERNEL(shifted_16, 16, 16, true, 4)
SKEWED_KERNEL(shifted_32, 32, 8, true, 4)

extern "C" __global__ void __launch_bounds__(FEW_THREADS, 4) transpose_skewed_few(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols, long long across
) {
    transpose_skewed_few<FEW_THREADS, FEW_PACKS>(x, y, rows, cols, static_cast<int>(across));
}

extern "C" __global__ void __launch_bounds__(SKEWED_THREADS) transpose_skewed_small(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    transpose_skewed_by_elements<4>(x, y, rows, cols);
}

#define THIN_KERNEL(NAME)                                                                       \
    extern "C" __global__ void __launch_bounds__(THIN_THREADS) transpose_##NAME(                \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols,   \
        long long bits) {                                                                       \
        extern __shared__ __align__(16) Bits thin_packs[];                                      \
        transpose_##NAME(x, y, thin_packs, rows, cols, static_cast<int>(bits));                 \
    }

THIN_KERNEL(few_rows)
THIN_KERNEL(few_cols)

extern "C" __global__ void __launch_bounds__(THIN_THREADS) transpose_direct_rows(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    transpose_direct_rows(x, y, static_cast<unsigned>(rows), static_cast<unsigned>(cols));
}

extern "C" __global__ void __launch_bounds__(THIN_THREADS) transpose_direct_cols(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    transpose_direct_cols(x, y, static_cast<unsigned>(rows), static_cast<unsigned>(cols));
}

extern "C" __global__ void __launch_bounds__(THIN_THREADS) transpose_line(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    copy_line(x, y, rows * cols);
}
