// Blocks that have a tile of a long row each, and add the totals of those before it.
#pragma once

#include "cumsum/tile.cuh"
#include "shared/overlap.cuh"

// Where all blocks run AT_ONCE, and start in their order, none waits for one that cannot start: they need no counter, and
// read x before the words that they wait on have been zeroed. The kernel in front, which zeroes them, lets this one start
// only when x is there.
template <int LONG_PACKS, int THREADS, bool AT_ONCE>
__device__ __forceinline__ void lookback(
    const SCALAR* x, SCALAR* y, unsigned long long* words, long long rows, long long cols, long long tiles
) {
    constexpr int GROUP = THREADS;  // tiles, as in cuda_lookback.py
    unsigned long long* const counter = words;
    unsigned long long* sums = words + 1;              // of each tile
    unsigned long long* starts = sums + rows * tiles;  // sum before each group of a row
    const long long groups = (tiles + GROUP - 1) / GROUP;

    long long number = blockIdx.x;
    let_next_start();
    if constexpr (!AT_ONCE) {
        // Blocks are numbered as they start, so that a block never waits for one that has not started.
        __shared__ long long drawn;
        wait_for_previous();
        if (threadIdx.x == 0) drawn = static_cast<long long>(atomicAdd(counter, 1ull));
        __syncthreads();
        number = drawn;
    }
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
    if (AT_ONCE) wait_for_previous();
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
