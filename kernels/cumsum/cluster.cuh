// Running sums of few rows of some hundred kilobytes and more, a cluster of blocks a row or some, on Hopper and later.
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

// Sum of this block's share of all that lies in the row before its cluster's part: a thread reads as many packs as threads
// of the parts before have.
template <int PACKS>
__device__ __forceinline__ float sum_before_part(const SCALAR* x, const Grid& grid, int parts, int blocks, int rank) {
    constexpr int AHEAD = 8;
    const int threads = blocks * blockDim.x, own = rank * blockDim.x + threadIdx.x, count = parts * PACKS;
    float sum = 0.0f;
    for (int begun = 0; begun < count; begun += AHEAD) {
        Bits packs[AHEAD] = {};
#pragma unroll
        for (int p = 0; p < AHEAD; ++p) {
            const int pack = own + (begun + p) * threads;
            if (begun + p < count && pack > 0) packs[p] = __ldg(reinterpret_cast<const Bits*>(x + grid.at(pack)));
        }
#pragma unroll
        for (int p = 0; p < AHEAD; ++p) sum += sum_of(packs[p]);
    }
    if (count > 0 && own == 0) sum += sum_of(grid.load(x, grid.at(0)));  // which may lie only partly in the row
    return sum;
}

// Of the row's `parts` this cluster has one, and adds up all that lies before by itself: to hear of it from other clusters
// would take longer than to read a hundred kilobytes a block.
template <int PACKS>
__device__ __forceinline__ void cumsum_by_cluster(
    const SCALAR* x, SCALAR* y, long long rows, long long cols, long long parts
) {
    __shared__ float2 of_warps[WARP];
    __shared__ float of_blocks[WARP];
    using Tiles = Tile<PACKS, WARP>;
    tell_cluster();
    start_early();
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const int blocks = blocks_of_cluster(), rank = static_cast<int>(rank_in_cluster());
    const unsigned cluster = blockIdx.x / static_cast<unsigned>(blocks), all_parts = static_cast<unsigned>(parts);
    const int part = static_cast<int>(cluster % all_parts);
    const long long row = cluster / all_parts;
    const Grid grid(x, row, rows, cols);
    x += row * cols;
    y += row * cols;
    const long long first = grid.at(((part * blocks + rank) * warps + warp) * (WARP * PACKS) + lane);
    Bits packs[PACKS];
    load_of_warp<PACKS>(packs, x, grid, first);
    const float earlier = warp_sum(sum_before_part<PACKS>(x, grid, part, blocks, rank));
    const float mine = Tiles::sum(packs);
    if (lane == 0) of_warps[warp] = {mine, earlier};
    __syncthreads();
    const float2 of_warp = lane < warps ? of_warps[lane] : float2{0.0f, 0.0f};
    const float up_to = warp_running_sum(of_warp.x);
    float before = __shfl_sync(WHOLE_WARP, up_to, warp ? warp - 1 : 0);
    const float total = __shfl_sync(WHOLE_WARP, up_to, WARP - 1), all_earlier = warp_sum(of_warp.y);
    wait_for_cluster();
    if (threadIdx.x == 0) arrive_and_expect(exchanged(), blocks * sizeof(float));
    if (threadIdx.x < blocks) {  // to each block what lies before it
        const float to_add = rank < static_cast<int>(threadIdx.x) ? all_earlier + total : all_earlier;
        send_at_rank(of_blocks + rank, threadIdx.x, to_add, exchanged());
    }
    wait_for(exchanged(), 0);
    before = warp_sum(lane < blocks ? of_blocks[lane] : 0.0f) + (warp ? before : 0.0f);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) Tiles::store(y, grid, first + p * Tiles::STEP, packs[p], before);
}
#else
template <int PACKS>
__device__ __forceinline__ void cumsum_by_cluster(const SCALAR*, SCALAR*, long long, long long, long long) {}
#endif
