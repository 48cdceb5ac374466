// Tiles dealt to a persistent grid, and what two blocks do that compute one tile together.
//
// A grid of 132 blocks needs two rounds for 140 tiles, and is idle for most of the second. So each of the last tiles may
// be computed by both blocks of a cluster, each over a half of k: warpgroup 0 of block 1 sends its sums to that of
// block 0, which stores these rows; warpgroup 1 of block 0 to that of block 1. They meet in the cluster's shared memory.
// Not by four blocks: on an H100 of 132 multiprocessors not all would be in clusters of four.
#pragma once

#include "shared/hopper.cuh"

// A warpgroup's sums to the same one of block `block`, those of each thread to the same thread.
template <int COUNT>
__device__ __forceinline__ void send_sums(
    const float (&sum)[COUNT], unsigned block, const unsigned char* received, const Barrier* all_received
) {
    const unsigned to = address_in(block, received) + threadIdx.x % WARPGROUP * 16;
    const unsigned barrier = address_in(block, all_received);
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) send_to(to + i / 4 * WARPGROUP * 16, &sum[i], barrier);
}

template <int COUNT>
__device__ __forceinline__ void add_sums(float (&sum)[COUNT], const unsigned char* received) {
    const unsigned char* const from = received + threadIdx.x % WARPGROUP * 16;
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(from + i / 4 * WARPGROUP * 16);
        sum[i] += four.x, sum[i + 1] += four.y, sum[i + 2] += four.z, sum[i + 3] += four.w;
    }
}

// The tiles of a block: one by one those that blocks compute alone, and at last one that its cluster shares (PARTS = 2),
// where the rest beyond whole rounds of the grid is so small that no cluster has two.
template <int CLUSTER, int PARTS>
struct Turns {
    unsigned alone, count, shared;

    __device__ __forceinline__ Turns(unsigned tiles) {
        const unsigned units = gridDim.x / CLUSTER;
        const unsigned rest = tiles % units;
        const unsigned alone_in_all = PARTS == 1 || rest * PARTS > units ? tiles : tiles - rest;
        const unsigned unit = blockIdx.x / CLUSTER;
        alone = (alone_in_all + units - 1 - unit) / units;
        shared = alone_in_all + blockIdx.x / PARTS;
        count = alone + (PARTS > 1 && shared < tiles);
    }

    __device__ __forceinline__ bool is_shared(unsigned turn) const { return PARTS > 1 && turn == alone; }
    __device__ __forceinline__ unsigned tile(unsigned turn) const {
        return is_shared(turn) ? shared : blockIdx.x / CLUSTER + turn * (gridDim.x / CLUSTER);
    }
};
