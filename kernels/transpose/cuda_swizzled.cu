// Transpose with 16 bytes an access on every side, where cuda_tiles has 2 or 4: tiles in shared memory, squares in
// registers.
//
// Formula: y[c, r] = x[r, c]; no FLOP, 2 rows cols s bytes.
// Mapping: a block owns a tile of 64 x 64 or 128 x 128 elements, 256 bytes a row. A thread brings PACK packs
//   of x to shared memory, all under way at once; after a barrier it takes a square of PACK x PACK elements
//   from there, renames its registers (two 16-bit elements are joined by one byte permutation), and stores
//   the square's columns as packs of y. Either way 16 lanes move 256 adjacent bytes. Rows that do not begin on 16
//   bytes come and go by whole packs too (pitched.cuh). Of few rows a block has whole columns, of few columns whole
//   rows, so that one side is a run. Small matrices go by single elements, and a line is copied.
// Idea: a vector load gives a thread elements of one row, a vector store wants elements of one column: a
//   square a thread serves both. Squares straight from x, in pieces of 64 bytes, are slower.
//   The packs of a row lie in shared memory in an order of their own, so that lanes which read one below the
//   other find them in different banks.
#include "transpose/pitched.cuh"
#include "transpose/thin.cuh"
#include "transpose/tile.cuh"
#include "shared/overlap.cuh"

constexpr int SQUARES = 16;           // on a side of the tile, as in cuda_swizzled.py
constexpr int SIDE = SQUARES * PACK;  // elements
constexpr int PITCHED_THREADS = 512;  // at most, as there

// Position, in its row of the tile, of the pack in column `column` and line `line` of squares.
__device__ __forceinline__ int swizzled(int line, int column) { return column ^ line; }

extern "C" __global__ void __launch_bounds__(SQUARES* SQUARES) transpose_squares(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    start_early();
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

#define PITCHED_KERNEL(NAME, TRANSPOSE)                                                                              \
    extern "C" __global__ void __launch_bounds__(PITCHED_THREADS) transpose_##NAME(                                  \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols, long long height,      \
        long long width, long long pitch, long long is_wide, long long shorter, long long shorter_multiplier,        \
        long long shorter_shift, long long slots, long long slots_multiplier, long long slots_shift,                 \
        long long along, long long along_multiplier, long long along_shift, long long beside) {                      \
        start_early();                                                                                               \
        const Layout layout = {                                                                                      \
            static_cast<int>(height), static_cast<int>(width), static_cast<int>(pitch), is_wide != 0,                \
            Division(shorter, shorter_multiplier, shorter_shift), Division(slots, slots_multiplier, slots_shift),    \
            Division(along, along_multiplier, along_shift), static_cast<int>(beside)};                               \
        TRANSPOSE(x, y, rows, cols, layout);                                                                         \
    }

PITCHED_KERNEL(pitched, transpose_pitched<Part::TILE>)
PITCHED_KERNEL(whole_rows, transpose_pitched<Part::ROWS>)
PITCHED_KERNEL(whole_columns, transpose_columns<true>)
PITCHED_KERNEL(short_columns, transpose_columns<false>)

// Small matrices.
extern "C" __global__ void __launch_bounds__(TILE* TILE_ROWS) transpose_tiles(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    start_early();
    transpose_tile<TILE>(x, y, rows, cols);
}

#define DIRECT_KERNEL(END, FEW)                                                                     \
    extern "C" __global__ void __launch_bounds__(LINE_THREADS) transpose_direct_##END##_##FEW(    \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {     \
        start_early();                                                                              \
        transpose_direct_##END<FEW>(x, y, static_cast<unsigned>(rows), static_cast<unsigned>(cols)); \
    }
#define DIRECT_KERNELS(FEW) DIRECT_KERNEL(rows, FEW) DIRECT_KERNEL(cols, FEW)

DIRECT_KERNELS(2)
DIRECT_KERNELS(3)
DIRECT_KERNELS(4)
DIRECT_KERNELS(5)
DIRECT_KERNELS(6)
DIRECT_KERNELS(7)
DIRECT_KERNELS(8)
DIRECT_KERNELS(9)
DIRECT_KERNELS(10)
DIRECT_KERNELS(11)
DIRECT_KERNELS(12)
DIRECT_KERNELS(13)
DIRECT_KERNELS(14)
DIRECT_KERNELS(15)
DIRECT_KERNELS(16)

extern "C" __global__ void __launch_bounds__(COPY_THREADS) transpose_line(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols
) {
    start_early();
    copy_line(x, y, rows * cols);
}
