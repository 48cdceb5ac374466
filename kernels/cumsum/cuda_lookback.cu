// Running sums of rows in one pass; where rows are few and long, their tiles are spread over blocks that look back.
//
// Formula: y[r, c] = sum_{i <= c} x[r, i]; rows cols FLOP, 2 rows cols s bytes.
// Mapping: a row group owns a tile of a row: some lanes or a warp for short rows, else a block of 256 threads. A warp has
//   neighbouring packs of 16 bytes and adds them up, and the block adds its warps; a second walk along the packs, which
//   stay as they were loaded, scans each of them and by shuffles those of a warp, and gives the results. A block goes
//   from tile to tile of its row with the sum so far, the next tile already under way. In long rows a block has one
//   tile, publishes its total, and adds the totals before it. Meanwhile it keeps its tile in shared memory, which has
//   room for more tiles than registers: they wait for some microseconds, and by Little's law 20 MB must be under way.
//   It reads them while the words that it waits on are still being zeroed, if all blocks run at once. On Hopper so many
//   long rows that each multiprocessor has several tiles come through rings (ring.cuh), and few rows of some hundred
//   kilobytes or more have clusters (cluster.cuh). Where short rows begin on no 16 bytes and are many, a thread has one,
//   in shared memory; of some hundred rows or columns some warps have one, element by element (columns.cuh), and of some
//   thousand columns a block of just enough warps holds one (held.cuh).
// Idea: rows that cuda_naive gives to one thread are shared by many, whose sums meet in a scan: Merrill and Garland,
//   "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016. Theirs adds whatever has become known by
//   then, and float sums differ from call to call. Here a tile looks back to the start of its group of GROUP tiles and
//   no further, one tile a thread, and the sum before a group is handed on by the group before it: one order of
//   addition, and a chain of one wait in GROUP tiles.
#include "cumsum/cluster.cuh"
#include "cumsum/columns.cuh"
#include "cumsum/held.cuh"
#include "cumsum/lookback.cuh"
#include "cumsum/ring.cuh"
#include "cumsum/tile.cuh"
#include "shared/overlap.cuh"
#include "shared/slab.cuh"

constexpr int THREADS = 256;        // as in cuda_lookback.py
constexpr int WIDE_THREADS = 1024;  // as in cuda_lookback.py
// Of a block of a cluster, at most, as there; two blocks in a multiprocessor let all of some clusters run at once.
constexpr int CLUSTER_THREADS = 512, CLUSTER_BLOCKS = 2;
// Blocks of long rows in a multiprocessor: elsewhere five spill, and smaller tiles need fewer.
template <int PACKS>
constexpr int LONG_BLOCKS = __CUDA_ARCH__ == 900 && PACKS == 8 ? 5 : 4;
// The same where all run at once: elsewhere the launcher counts on one alone, and four spill.
template <int PACKS>
constexpr int RESIDENT_BLOCKS = __CUDA_ARCH__ == 900 ? LONG_BLOCKS<PACKS> : 1;
constexpr int LARGE_THREADS = 512, LARGE_BLOCKS = __CUDA_ARCH__ == 900 ? 3 : 1;  // as in cuda_lookback.py

// By a block, tile by tile.
template <int PACKS, int TILE_THREADS>
__device__ __forceinline__ void cumsum_row(const SCALAR* x, SCALAR* y, long long row, long long rows, long long cols) {
    const Grid grid(x, row, rows, cols);
    x += row * cols;
    y += row * cols;
    Tile<PACKS, TILE_THREADS> tile;
    const long long tiles = tile.count(grid);
    float carried = 0.0f;
    Bits packs[PACKS];
    tile.load(packs, x, grid, tile.first_at(grid, 0));
    for (long long t = 0; t < tiles; ++t) {
        Bits next[PACKS];
        if (t + 1 < tiles) tile.load(next, x, grid, tile.first_at(grid, t + 1));
        const Sums sums = over_warps<TILE_THREADS / WARP>(tile.sum(packs), t % 2);
        float before = carried + sums.before;
        carried += sums.total;
        const long long first = tile.first_at(grid, t);
#pragma unroll
        for (int p = 0; p < PACKS; ++p) tile.store(y, grid, first + p * tile.STEP, packs[p], before);
#pragma unroll
        for (int p = 0; p < PACKS; ++p) packs[p] = next[p];
    }
}

// A short row by some lanes of a warp, with a pack each.
template <int LANES>
__device__ __forceinline__ void cumsum_by_lanes(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    const long long row = thread_of_grid() / LANES, start = row < rows ? row : 0;
    const Grid grid(x, start, rows, cols);
    const long long at = row < rows ? grid.at(threadIdx.x % LANES) : cols;
    float values[PACK];
    unpack(grid.load(x + start * cols, at), values);
#pragma unroll
    for (int i = 1; i < PACK; ++i) values[i] += values[i - 1];
    const float before = __shfl_up_sync(WHOLE_WARP, warp_running_sum<LANES>(values[PACK - 1]), 1, LANES);
#pragma unroll
    for (int i = 0; i < PACK; ++i) values[i] += threadIdx.x % LANES ? before : 0.0f;
    if (row < rows) grid.store(y + start * cols, at, to_pack(values));
}

#define LANES_KERNEL(LANES)                                                                     \
    extern "C" __global__ void __launch_bounds__(128) cumsum_lanes_##LANES(                     \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                          \
        cumsum_by_lanes<LANES>(x, y, rows, cols);                                               \
    }

LANES_KERNEL(4)
LANES_KERNEL(8)
LANES_KERNEL(16)

// A row that a warp holds: no tile comes after it, for which registers would be kept.
template <int PACKS>
__device__ __forceinline__ void cumsum_whole_row(
    const SCALAR* x, SCALAR* y, long long row, long long rows, long long cols
) {
    const Grid grid(x, row, rows, cols);
    x += row * cols;
    y += row * cols;
    Tile<PACKS, WARP> tile;
    const long long first = grid.at(threadIdx.x % WARP);
    Bits packs[PACKS];
    tile.load(packs, x, grid, first);
    float before = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) tile.store(y, grid, first + p * tile.STEP, packs[p], before);
}

#define WARP_KERNEL(PACKS)                                                                     \
    extern "C" __global__ void __launch_bounds__(128) cumsum_warp_##PACKS(                     \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                          \
        const long long row = thread_of_grid() / WARP;                                          \
        if (row < rows) cumsum_whole_row<PACKS>(x, y, row, rows, cols);                         \
    }

WARP_KERNEL(1)
WARP_KERNEL(2)
WARP_KERNEL(4)

#define BLOCK_KERNEL(PACKS)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS) cumsum_block_##PACKS(              \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols \
    ) {                                                                                      \
        start_early();                                                                       \
        cumsum_row<PACKS, THREADS>(x, y, blockIdx.x, rows, cols);                            \
    }

BLOCK_KERNEL(1)
BLOCK_KERNEL(2)
BLOCK_KERNEL(4)

// Of few rows: as many threads as a block may have, with 64 registers each. Blackwell's code needs more of them for four
// packs in 16 bits, and goes over a row twice as often with two.
#if __CUDA_ARCH__ >= 1000
constexpr int MOST_WIDE_PACKS = sizeof(SCALAR) == 2 ? 2 : 4;
#else
constexpr int MOST_WIDE_PACKS = 4;
#endif
#define WIDE_KERNEL(PACKS)                                                                       \
    extern "C" __global__ void __launch_bounds__(WIDE_THREADS) cumsum_wide_##PACKS(              \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {  \
        start_early();                                                                           \
        cumsum_row<(PACKS < MOST_WIDE_PACKS ? PACKS : MOST_WIDE_PACKS), WIDE_THREADS>(           \
            x, y, blockIdx.x, rows, cols);                                                       \
    }

WIDE_KERNEL(2)
WIDE_KERNEL(4)

// Of not too many rows: columns.cuh.
#define COLUMNS_KERNEL(WARPS, EACH)                                                             \
    extern "C" __global__ void __launch_bounds__(WARPS * WARP) cumsum_columns_##WARPS##_##EACH( \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                          \
        cumsum_by_columns<WARPS, EACH>(x, y, rows, cols);                                       \
    }

COLUMNS_KERNEL(2, 4)
COLUMNS_KERNEL(4, 4)
COLUMNS_KERNEL(8, 4)
COLUMNS_KERNEL(8, 8)

// Rows that a block holds: held.cuh.
#define HELD_KERNEL(PACKS)                                                                      \
    extern "C" __global__ void __launch_bounds__(MOST_HELD_WARPS * WARP) cumsum_held_##PACKS(   \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                          \
        cumsum_of_held<PACKS>(x, y, rows, cols);                                                \
    }

HELD_KERNEL(2)
HELD_KERNEL(3)
HELD_KERNEL(4)

// ---- Long rows ---------------------------------------------------------------------------------

// A thread a row, by way of shared memory: many short rows that begin on no 16 bytes, or leave many lanes without a pack.
template <int WIDTH>
__device__ __forceinline__ void cumsum_of_slab(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols);
    slab.load(x);
    if (static_cast<int>(threadIdx.x) < slab.rows) {
        Access<WIDTH>* const row = reinterpret_cast<Access<WIDTH>*>(slab.row(threadIdx.x));
        // Accesses that are read before sums are written among them.
        constexpr int AHEAD = WIDTH * sizeof(SCALAR) < sizeof(Bits) ? 4 : 2;
        const int count = slab.cols / WIDTH;
        float sum = 0.0f;
        for (int first = 0; first < count; first += AHEAD) {
            Access<WIDTH> access[AHEAD];
#pragma unroll
            for (int i = 0; i < AHEAD; ++i) {
                if (first + i < count) access[i] = row[first + i];
            }
#pragma unroll
            for (int i = 0; i < AHEAD; ++i) {
#pragma unroll
                for (int j = 0; j < WIDTH; ++j) from_float(sum += to_float(access[i].element[j]), access[i].element[j]);
                if (first + i < count) row[first + i] = access[i];
            }
        }
    }
    slab.store(y);
}

#define SLAB_KERNEL(WIDTH)                                                                      \
    extern "C" __global__ void __launch_bounds__(256) cumsum_slab_##WIDTH##_1(                    \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                          \
        cumsum_of_slab<WIDTH>(x, y, rows, cols);                                                \
    }

SLAB_KERNEL(1)
SLAB_KERNEL(2)
SLAB_KERNEL(4)

// Words of all tiles, of the groups' starts, and the counter that numbers blocks.
extern "C" __global__ void cumsum_forget(unsigned long long* words, long long count) {
    wait_for_previous();  // and only then may the next start, which reads x before it waits
    let_next_start();
    if (thread_of_grid() < count) words[thread_of_grid()] = 0;
}

#define LOOKBACK_KERNEL(PACKS)                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, LONG_BLOCKS<PACKS>) cumsum_lookback_##PACKS(    \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, unsigned long long* words, long long rows,  \
        long long cols, long long tiles) {                                                                \
        lookback<PACKS, THREADS, false>(x, y, words, rows, cols, tiles);                                           \
    }

LOOKBACK_KERNEL(8)  // of fewer packs all run at once

#define RESIDENT_KERNEL(PACKS)                                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS<PACKS>) cumsum_resident_##PACKS(    \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, unsigned long long* words, long long rows,      \
        long long cols, long long tiles) {                                                                    \
        lookback<PACKS, THREADS, true>(x, y, words, rows, cols, tiles);                                       \
    }

RESIDENT_KERNEL(1)
RESIDENT_KERNEL(2)
RESIDENT_KERNEL(4)
RESIDENT_KERNEL(5)
RESIDENT_KERNEL(6)
RESIDENT_KERNEL(7)
RESIDENT_KERNEL(8)

#define RESIDENT_LARGE_KERNEL(PACKS)                                                                                \
    extern "C" __global__ void __launch_bounds__(LARGE_THREADS, LARGE_BLOCKS) cumsum_resident_large_##PACKS(        \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, unsigned long long* words, long long rows,            \
        long long cols, long long tiles) {                                                                          \
        lookback<PACKS, LARGE_THREADS, true>(x, y, words, rows, cols, tiles);                                       \
    }

RESIDENT_LARGE_KERNEL(2)

extern "C" __global__ void __launch_bounds__(RING_THREADS) cumsum_ring(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, unsigned long long* words, long long rows, long long cols,
    long long tiles
) {
    cumsum_by_ring(x, y, words, rows, cols, tiles);
}

#define CLUSTER_KERNEL(PACKS)                                                                                  \
    extern "C" __global__ void __launch_bounds__(CLUSTER_THREADS, CLUSTER_BLOCKS) cumsum_cluster_##PACKS(      \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols, long long parts) \
    {                                                                                                          \
        cumsum_by_cluster<PACKS>(x, y, rows, cols, parts);                                                     \
    }

CLUSTER_KERNEL(1)
CLUSTER_KERNEL(2)
CLUSTER_KERNEL(4)
