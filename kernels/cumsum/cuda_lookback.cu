// Running sums of rows in one pass; where rows are few and long, their tiles are spread over blocks that look back.
//
// Formula: y[r, c] = sum_{i <= c} x[r, i]; rows cols FLOP, 2 rows cols s bytes.
// Mapping: a row group owns a tile of a row: some lanes or a warp for short rows, else a block of 256 threads. A warp has
//   neighbouring packs of 16 bytes and adds them up, and the block adds its warps; a second walk along the packs, which
//   stay as they were loaded, scans each of them and by shuffles those of a warp, and gives the results. A block goes
//   from tile to tile of its row with the sum so far, the next tile already under way. In long rows a block has one
//   tile, publishes its total, and adds the totals before it. Meanwhile it keeps its tile in shared memory, which has
//   room for more tiles than registers: they wait for some microseconds, and by Little's law 20 MB must be under way.
//   It starts while the words that it waits on are still being zeroed. Where short rows begin on no 16 bytes and are
//   many, a thread has one, in shared memory.
// Idea: rows that cuda_naive gives to one thread are shared by many, whose sums meet in a scan: Merrill and Garland,
//   "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016. Theirs adds whatever has become known by
//   then, and float sums differ from call to call. Here a tile looks back to the start of its group of GROUP tiles and
//   no further, one tile a thread, and the sum before a group is handed on by the group before it: one order of
//   addition, and a chain of one wait in GROUP tiles.
#include "shared/common.cuh"
#include "shared/overlap.cuh"
#include "shared/shifted.cuh"
#include "shared/slab.cuh"

constexpr int THREADS = 256;        // as in cuda_lookback.py
constexpr int WIDE_THREADS = 1024;  // as in cuda_lookback.py
constexpr int GROUP = THREADS;      // tiles, as in cuda_lookback.py
// Blocks of long rows in a multiprocessor: elsewhere five spill, and smaller tiles need fewer.
template <int PACKS>
constexpr int LONG_BLOCKS = __CUDA_ARCH__ == 900 && PACKS == 8 ? 5 : 4;

// A row cut into packs of 16 aligned bytes. The first and the last one may lie only partly in it.
struct Grid {
    const SCALAR *from, *end;  // of all rows
    long long length;
    int skew;  // elements of the first pack that lie before the row

    __device__ __forceinline__ Grid(const SCALAR* all, long long row, long long rows, long long cols)
        : from(all), end(all + rows * cols), length(cols) {
        skew = static_cast<int>(bytes_past(all + row * cols) / sizeof(SCALAR));
    }
    __device__ __forceinline__ long long packs() const { return (length + skew + PACK - 1) / PACK; }
    __device__ __forceinline__ long long at(long long pack) const { return pack * PACK - skew; }
    __device__ __forceinline__ bool has(long long at) const { return at >= 0 && at < length; }
    __device__ __forceinline__ bool is_inside(long long at) const { return at >= 0 && at + PACK <= length; }

    // Zeros where the row is not.
    __device__ __forceinline__ Bits load(const SCALAR* x, long long at) const {
        if (is_inside(at)) return __ldg(reinterpret_cast<const Bits*>(x + at));
        Bits bits = {};
        if (at + PACK <= 0 || at >= length) return bits;
        bits = load_near(x + at, from, end);
        Pack& pack = reinterpret_cast<Pack&>(bits);
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (!has(at + i)) from_float(0.0f, pack.element[i]);
        }
        return bits;
    }

    __device__ __forceinline__ void store(SCALAR* y, long long at, const Pack& pack) const {
        if (is_inside(at) && is_aligned(y + at)) {
            store_pack(y + at, pack);
        } else {
#pragma unroll
            for (int i = 0; i < PACK; ++i) {
                if (has(at + i)) y[at + i] = pack.element[i];
            }
        }
    }
};

// Sum of the lanes up to this one, of LANES neighbours.
template <int LANES = WARP>
__device__ __forceinline__ float warp_running_sum(float value) {
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int offset = 1; offset < LANES; offset *= 2) {
        const float before = __shfl_up_sync(WHOLE_WARP, value, offset, LANES);
        if (lane >= offset) value += before;
    }
    return value;
}

__device__ __forceinline__ float sum_of(const Bits& bits) {
    float values[PACK];
    unpack(bits, values);
    float sum = values[0];
#pragma unroll
    for (int i = 1; i < PACK; ++i) sum += values[i];
    return sum;
}

// A tile of TILE_THREADS threads, a warp or a block, PACKS packs each: those of a warp lie one behind the other.
template <int PACKS, int TILE_THREADS>
struct Tile {
    static constexpr int STEP = WARP * PACK;  // elements from one pack of a thread to its next

    static __device__ __forceinline__ long long count(const Grid& grid) {
        return (grid.packs() + TILE_THREADS * PACKS - 1) / (TILE_THREADS * PACKS);
    }

    // The position of this thread's first pack.
    static __device__ __forceinline__ long long first_at(const Grid& grid, long long tile) {
        const int warp = TILE_THREADS > WARP ? threadIdx.x / WARP : 0;
        return grid.at(tile * (TILE_THREADS * PACKS) + warp * (WARP * PACKS) + threadIdx.x % WARP);
    }

    static __device__ __forceinline__ void load(
        Bits (&packs)[PACKS], const SCALAR* x, const Grid& grid, long long first
    ) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) packs[p] = grid.load(x, first + p * STEP);
    }

    // Sum of the warp's packs.
    static __device__ __forceinline__ float sum(const Bits (&packs)[PACKS]) {
        float total = 0.0f;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) total += sum_of(packs[p]);
        return warp_sum(total);
    }

    // Writes one pack of each thread of a warp, after which `before`, what comes before them, includes them.
    static __device__ __forceinline__ void store(
        SCALAR* y, const Grid& grid, long long at, const Bits& pack, float& before
    ) {
        float values[PACK];
        unpack(pack, values);
#pragma unroll
        for (int i = 1; i < PACK; ++i) values[i] += values[i - 1];
        const float up_to = warp_running_sum(values[PACK - 1]);
        const float neighbours = __shfl_up_sync(WHOLE_WARP, up_to, 1);
        const float base = threadIdx.x % WARP ? before + neighbours : before;
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] += base;
        grid.store(y, at, to_pack(values));
        before += __shfl_sync(WHOLE_WARP, up_to, WARP - 1);
    }
};

struct Sums {
    float before;  // of the warps before this one
    float total;   // of all
};

// `slot` alternates from call to call, which spares a barrier. By a block of WARPS warps.
template <int WARPS>
__device__ __forceinline__ Sums over_warps(float warp_total, int slot) {
    __shared__ float totals[2][WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (lane == 0) totals[slot][warp] = warp_total;
    __syncthreads();
    const float up_to = warp_running_sum(lane < WARPS ? totals[slot][lane] : 0.0f);
    const float before = __shfl_sync(WHOLE_WARP, up_to, warp ? warp - 1 : 0);
    return {warp ? before : 0.0f, __shfl_sync(WHOLE_WARP, up_to, WARPS - 1)};
}

template <int PACKS, int TILE_THREADS>
__device__ __forceinline__ void cumsum_row(const SCALAR* x, SCALAR* y, long long row, long long rows, long long cols) {
    constexpr bool WHOLE_BLOCK = TILE_THREADS > WARP;
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
        float before = carried;
        if constexpr (WHOLE_BLOCK) {
            const Sums sums = over_warps<TILE_THREADS / WARP>(tile.sum(packs), t % 2);
            before += sums.before;
            carried += sums.total;
        }
        const long long first = tile.first_at(grid, t);
#pragma unroll
        for (int p = 0; p < PACKS; ++p) tile.store(y, grid, first + p * tile.STEP, packs[p], before);
        if constexpr (!WHOLE_BLOCK) carried = before;
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

#define WARP_KERNEL(PACKS)                                                                                \
    extern "C" __global__ void __launch_bounds__(128) cumsum_warp_##PACKS(                                \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) {           \
        start_early();                                                                                    \
        const long long row = thread_of_grid() / WARP;                                                    \
        if (row < rows) cumsum_row<PACKS, WARP>(x, y, row, rows, cols); \
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

// ---- Long rows ---------------------------------------------------------------------------------

// A sum and whether it is known yet, in the one word that is written and read at once. Zero: not known.
__device__ __forceinline__ void make_known(unsigned long long* word, float sum) {
    *reinterpret_cast<volatile unsigned long long*>(word) = 1ull << 32 | __float_as_uint(sum);
}

__device__ __forceinline__ float wait_for(const unsigned long long* word) {
    unsigned long long bits;
    do bits = *reinterpret_cast<const volatile unsigned long long*>(word);
    while (!(bits >> 32));
    return __uint_as_float(static_cast<unsigned>(bits));
}

// A thread a row, by way of shared memory: many short rows that begin on no 16 bytes.
template <int WIDTH>
__device__ __forceinline__ void cumsum_of_slab(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols);
    slab.load(x);
    if (static_cast<int>(threadIdx.x) < slab.rows) {
        Access<WIDTH>* const row = reinterpret_cast<Access<WIDTH>*>(slab.row(threadIdx.x));
        constexpr int AHEAD = 4;  // accesses that are read before sums are written among them
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
    extern "C" __global__ void __launch_bounds__(256) cumsum_slab_##WIDTH(                      \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long rows, long long cols) { \
        start_early();                                                                          \
        cumsum_of_slab<WIDTH>(x, y, rows, cols);                                                \
    }

SLAB_KERNEL(1)
SLAB_KERNEL(2)
SLAB_KERNEL(4)

// Words of all tiles, of the groups' starts, and the counter that numbers blocks.
extern "C" __global__ void cumsum_forget(unsigned long long* words, long long count) {
    start_early();
    if (thread_of_grid() < count) words[thread_of_grid()] = 0;
}

template <int LONG_PACKS>
__device__ __forceinline__ void lookback(
    const SCALAR* x, SCALAR* y, unsigned long long* words, long long rows, long long cols, long long tiles
) {
    unsigned long long* const counter = words;
    unsigned long long* sums = words + 1;              // of each tile
    unsigned long long* starts = sums + rows * tiles;  // sum before each group of a row
    const long long groups = (tiles + GROUP - 1) / GROUP;

    // Blocks are numbered as they start, so that a block never waits for one that has not started.
    __shared__ long long number;
    start_early();
    if (threadIdx.x == 0) number = static_cast<long long>(atomicAdd(counter, 1ull));
    __syncthreads();
    const long long row = number / tiles, t = number % tiles, group = t / GROUP;
    const Grid grid(x, row, rows, cols);
    x += row * cols;
    y += row * cols;
    sums += row * tiles;
    starts += row * groups;

    Tile<LONG_PACKS, THREADS> tile;
    const long long first = tile.first_at(grid, t);
    __shared__ Bits kept[LONG_PACKS][THREADS];
    float mine = 0.0f;
    if (grid.is_inside(first) && grid.is_inside(first + (LONG_PACKS - 1) * tile.STEP)) {  // all are under way
#pragma unroll
        for (int p = 0; p < LONG_PACKS; ++p) {
            const Bits pack = __ldg(reinterpret_cast<const Bits*>(x + first) + p * WARP);
            kept[p][threadIdx.x] = pack;
            mine += sum_of(pack);
        }
    } else {
        // At either end of the row: whole packs under way at once too, then the one that lies only partly in it.
        int partial = -1;
#pragma unroll
        for (int p = 0; p < LONG_PACKS; ++p) {
            const long long at = first + p * tile.STEP;
            Bits pack = {};
            if (grid.is_inside(at)) pack = __ldg(reinterpret_cast<const Bits*>(x + at));
            else if (at < cols && at + PACK > 0) partial = p;
            kept[p][threadIdx.x] = pack;
            mine += sum_of(pack);
        }
        if (partial >= 0) {
            const Bits pack = grid.load(x, first + partial * tile.STEP);
            kept[partial][threadIdx.x] = pack;
            mine += sum_of(pack);
        }
    }
    const Sums in_tile = over_warps<THREADS / WARP>(warp_sum(mine), 0);
    if (threadIdx.x == 0) make_known(sums + t, in_tile.total);

    // Each thread waits for one of the tiles before this one in the group; the last thread, which has none, waits for
    // the sum before the group.
    float sum = 0.0f;
    if (threadIdx.x == GROUP - 1) {
        if (group) sum = wait_for(starts + group);
    } else if (group * GROUP + threadIdx.x < t) {
        sum = wait_for(sums + group * GROUP + threadIdx.x);
    }
    float before = block_sum(sum);
    if (threadIdx.x == 0 && t % GROUP == GROUP - 1) make_known(starts + group + 1, before + in_tile.total);
    before += in_tile.before;
#pragma unroll 2
    for (int p = 0; p < LONG_PACKS; ++p) tile.store(y, grid, first + p * tile.STEP, kept[p][threadIdx.x], before);
}

#define LOOKBACK_KERNEL(PACKS)                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, LONG_BLOCKS<PACKS>) cumsum_lookback_##PACKS(    \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, unsigned long long* words, long long rows,  \
        long long cols, long long tiles) {                                                                \
        lookback<PACKS>(x, y, words, rows, cols, tiles);                                                  \
    }

LOOKBACK_KERNEL(1)
LOOKBACK_KERNEL(2)
LOOKBACK_KERNEL(4)
LOOKBACK_KERNEL(8)
