// Running sums of few rows of some hundred kilobytes, a cluster of blocks a row, on Hopper and later.
//
// Blocks that look back need words in memory, which another kernel has to zero for each call, and read them there. The
// blocks of a cluster send their sums to one another's shared memory instead. A block has its part of the row in registers.
#pragma once

#include "cumsum/tile.cuh"
#include "shared/cluster_exchange.cuh"
#include "shared/overlap.cuh"

#ifdef HAS_CLUSTERS
// A warp's packs, all under way at once where they are all in the row.
template <int PACKS>
__device__ __forceinline__ void load_of_warp(Bits (&packs)[PACKS], const SCALAR* x, const Grid& grid, long long first) {
    using Tiles = Tile<PACKS, WARP>;
    if (grid.is_inside(first) && grid.is_inside(first + (PACKS - 1) * Tiles::STEP)) {
#pragma unroll
        for (int p = 0; p < PACKS; ++p) packs[p] = __ldg(reinterpret_cast<const Bits*>(x + first) + p * WARP);
    } else {
        Tiles::load(packs, x, grid, first);
    }
}

template <int PACKS>
__device__ __forceinline__ void cumsum_by_cluster(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    __shared__ float of_warps[WARP];
    __shared__ float of_blocks[WARP];
    using Tiles = Tile<PACKS, WARP>;
    tell_cluster();
    start_early();
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const int blocks = blocks_of_cluster(), rank = static_cast<int>(rank_in_cluster());
    const long long row = blockIdx.x / static_cast<unsigned>(blocks);
    const Grid grid(x, row, rows, cols);
    x += row * cols;
    y += row * cols;
    const long long first = grid.at((rank * warps + warp) * (WARP * PACKS) + lane);
    Bits packs[PACKS];
    load_of_warp<PACKS>(packs, x, grid, first);
    const float mine = Tiles::sum(packs);
    if (lane == 0) of_warps[warp] = mine;
    __syncthreads();
    const float up_to = warp_running_sum(lane < warps ? of_warps[lane] : 0.0f);
    float before = __shfl_sync(WHOLE_WARP, up_to, warp ? warp - 1 : 0);
    const float total = __shfl_sync(WHOLE_WARP, up_to, WARP - 1);
    wait_for_cluster();
    if (threadIdx.x == 0) arrive_and_expect(exchanged(), blocks * sizeof(float));
    if (threadIdx.x < blocks) send_at_rank(of_blocks + rank, threadIdx.x, total, exchanged());
    wait_for(exchanged(), 0);
    before = warp_sum(lane < rank ? of_blocks[lane] : 0.0f) + (warp ? before : 0.0f);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) Tiles::store(y, grid, first + p * Tiles::STEP, packs[p], before);
}
#else
template <int PACKS>
__device__ __forceinline__ void cumsum_by_cluster(const SCALAR*, SCALAR*, long long, long long) {}
#endif
