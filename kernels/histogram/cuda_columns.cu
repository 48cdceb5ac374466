// How often each of 256 keys occurs, with a column of counts in shared memory for each lane.
//
// Formula: count[b] = the number of i with key[i] = b. n FLOP, 4n bytes.
// Mapping: as many blocks of 512 threads as run at once go along the keys; a thread has UNROLL packs of 4 keys under
//   way. A block has 256 x 32 counts: lane l adds to column l, which lies in bank l. So the lanes of a warp never meet,
//   neither at an address nor in a bank, whatever the keys are. At the end a warp adds up each row, and the block adds
//   its sums to those of the others.
// Idea: in cuda_shared lanes meet wherever their keys are of one bank. So each lane of a warp has counts of its own:
//   histograms replicated by lane and interleaved by bank: Gomez-Luna et al., "An optimized approach to histogram
//   computation on GPU", Machine Vision and Applications 24 (2013).
#include "shared/common.cuh"

constexpr int THREADS = 512;  // as in cuda_columns.py
constexpr int BINS = 256;
constexpr int UNROLL = 4;
constexpr int KEYS = 4;  // of a pack of 16 bytes

// Beside the bins nothing is counted, and nothing written.
__device__ __forceinline__ void count_key(unsigned (&counts)[BINS][WARP], int key) {
    if (static_cast<unsigned>(key) < BINS) atomicAdd(&counts[key][threadIdx.x % WARP], 1u);
}

__device__ __forceinline__ void count_pack(unsigned (&counts)[BINS][WARP], const int4& keys) {
    count_key(counts, keys.x);
    count_key(counts, keys.y);
    count_key(counts, keys.z);
    count_key(counts, keys.w);
}

extern "C" __global__ void __launch_bounds__(THREADS) histogram(
    const int* __restrict__ key, unsigned long long* __restrict__ count, long long n
) {
    __shared__ unsigned counts[BINS][WARP];
    for (int i = threadIdx.x; i < BINS * WARP; i += THREADS) counts[i / WARP][i % WARP] = 0;
    __syncthreads();

    const int past = static_cast<int>(reinterpret_cast<unsigned long long>(key) / sizeof(int) % KEYS);
    const long long head = min(static_cast<long long>((KEYS - past) % KEYS), n);
    const long long packs = (n - head) / KEYS, thread = thread_of_grid();
    const long long step = static_cast<long long>(gridDim.x) * THREADS;
    const int4* whole = reinterpret_cast<const int4*>(key + head);
    long long pack = thread;
    for (; pack + (UNROLL - 1) * step < packs; pack += UNROLL * step) {
        int4 keys[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) keys[u] = __ldg(whole + pack + u * step);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) count_pack(counts, keys[u]);
    }
    for (; pack < packs; pack += step) count_pack(counts, __ldg(whole + pack));
    // The few keys beside the packs.
    const long long edges = n - packs * KEYS;
    if (thread < edges) count_key(counts, key[thread < head ? thread : thread + packs * KEYS]);
    __syncthreads();

    // No thread has counted more than 2^32: a grid has many blocks where keys are many.
    for (int bin = threadIdx.x / WARP; bin < BINS; bin += THREADS / WARP) {
        unsigned sum = counts[bin][threadIdx.x % WARP];
#pragma unroll
        for (int offset = WARP / 2; offset; offset /= 2) sum += __shfl_xor_sync(WHOLE_WARP, sum, offset);
        if (threadIdx.x % WARP == 0 && sum) atomicAdd(&count[bin], static_cast<unsigned long long>(sum));
    }
}
