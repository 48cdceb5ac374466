// How often each of 256 keys occurs, with counts in shared memory for each block.
//
// Formula: count[b] = the number of i with key[i] = b. n FLOP, 4n bytes.
// Mapping: as many blocks of 256 threads as run at once go along the keys, a key a thread at a time, and add to 256
//   counts of their own. At the end thread b of a block adds its count b to that of the others.
// Lesson: what blocks share is touched once a block and not once a key. In shared memory lanes of one key are counted
//   together (ATOMS.POPC.INC), but those of different keys in one of the 32 banks go one after the other, and a thread
//   has 4 bytes under way.
// Idea: cuda_naive's additions where they are near, and few of them far: private histograms, as in the CUDA samples.
#include "shared/common.cuh"

constexpr int BINS = 256;  // and threads of a block, as in cuda_shared.py

extern "C" __global__ void __launch_bounds__(BINS) histogram(
    const int* __restrict__ key, unsigned long long* __restrict__ count, long long n
) {
    __shared__ unsigned counts[BINS];
    counts[threadIdx.x] = 0;
    __syncthreads();

    const long long step = static_cast<long long>(gridDim.x) * BINS;
    for (long long i = thread_of_grid(); i < n; i += step) {
        if (static_cast<unsigned>(key[i]) < BINS) atomicAdd(&counts[key[i]], 1u);
    }
    __syncthreads();

    // No block has counted more than 2^32: a grid has many blocks where keys are many.
    const unsigned mine = counts[threadIdx.x];
    if (mine) atomicAdd(&count[threadIdx.x], static_cast<unsigned long long>(mine));
}
