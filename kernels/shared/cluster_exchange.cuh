// A value of each block of a cluster, combined: for rows that the blocks of a cluster have a piece of each.
//
// Before Hopper there are no clusters: what uses them is left out there, and launchers do not ask for it.
#pragma once

#include "shared/hopper.cuh"

#if __CUDA_ARCH__ >= 900
#define HAS_CLUSTERS

// On which what the other blocks send counts.
__device__ __forceinline__ Barrier* exchanged() {
    __shared__ Barrier barrier;
    return &barrier;
}

// First thing in a kernel: by the time of the exchange all blocks will have started, which sending to them needs.
__device__ __forceinline__ void tell_cluster() {
    if (threadIdx.x == 0) {
        init_barrier(exchanged(), 1);
        publish_barriers();
    }
    __syncwarp();  // a warp arrives as one
    arrive_at_cluster();
}

// Combines what all threads of a block have alike with the same of the other blocks, in the order of their ranks. Once in
// a kernel, after tell_cluster.
template <int CLUSTER, class Combine>
__device__ __forceinline__ unsigned over_cluster(unsigned mine, Combine combine) {
    __shared__ unsigned of_block[CLUSTER];
    wait_for_cluster();
    if (threadIdx.x == 0) arrive_and_expect(exchanged(), sizeof(of_block));
    if (threadIdx.x < CLUSTER) send_at_rank(of_block + rank_in_cluster(), threadIdx.x, mine, exchanged());
    wait_for(exchanged(), 0);
    unsigned total = of_block[0];
#pragma unroll
    for (int block = 1; block < CLUSTER; ++block) total = combine(total, of_block[block]);
    return total;
}
#endif
