// Softmax of long rows by clusters of blocks: one read and one write of memory where one block cannot hold a
// row.
//
// Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum, exp(t) = 2^(t log2
//   e). 5 rows cols FLOP, 2 rows cols s bytes.
// Mapping: a cluster of 2, 4 or 8 blocks owns a row, each block a run of it, each thread 8 packs of 16 bytes in
//   registers, or 16 in rows of more than 512 KB. A warp writes its maximum and sum into the shared memory of
//   every block of the cluster; behind one barrier of the cluster each warp has all of them. Up to 1 MB a row;
//   several blocks share a multiprocessor up to 256 KB, so that one loads while another computes.
// Idea: reductions through distributed shared memory as in QuACK (Dao-AILab).
#include "softmax/statistics.cuh"

constexpr int MOST_THREADS = 512;  // as in cuda_cluster.py

// Every block of the cluster has started; memory written before is seen after.
__device__ __forceinline__ void arrive_at_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;"); }
__device__ __forceinline__ void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Writes to the same shared variable of block number `rank` of the cluster.
__device__ __forceinline__ void store_at_rank(Statistics* variable, int rank, const Statistics& value) {
    const unsigned mine = shared_address(variable);
    unsigned theirs;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(mine), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};"
                 :: "r"(theirs), "f"(value.highest), "f"(value.total) : "memory");
}

// Every thread of the cluster gets the statistics of all of it.
template <int BLOCKS>
__device__ __forceinline__ Statistics over_cluster(Statistics mine, int rank) {
    __shared__ Statistics partial[BLOCKS * MOST_THREADS / WARP];
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    mine = over_lanes<WARP>(mine);
    wait_for_cluster();  // for the arrival at the kernel's start
    if (lane < BLOCKS) store_at_rank(&partial[rank * warps + threadIdx.x / WARP], lane, mine);
    arrive_at_cluster();
    wait_for_cluster();
    Statistics all = of_nothing();
    for (int i = lane; i < BLOCKS * warps; i += WARP) all = together(all, partial[i]);
    return over_lanes<WARP>(all);
}

template <int BLOCKS, int PACKS, bool PACKED>
__device__ __forceinline__ void softmax_row(const SCALAR* x, SCALAR* y, long long cols) {
    const int rank = blockIdx.x % BLOCKS;
    const long long run = static_cast<long long>(blockDim.x) * PACK * PACKS;
    const long long start = rank * run, left = cols - start;
    const Share<PACKED> share = {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x),
                                 static_cast<int>(left < run ? left : run)};
    x += blockIdx.x / BLOCKS * cols + start;
    y += blockIdx.x / BLOCKS * cols + start;
    Bits packs[PACKS];
    share.load(x, packs, NEGATIVE_INFINITIES);
    const Statistics all = over_cluster<BLOCKS>(statistics_of(packs), rank);
    keep_packed(packs);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) store_powers(share, p, packs[p], all, y);
}

#define KERNEL(NAME, BLOCKS, PACKS, PACKED)                                                                  \
    extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(MOST_THREADS)                \
        NAME(const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long cols) {                         \
        arrive_at_cluster();                                                                                 \
        softmax_row<BLOCKS, PACKS, PACKED>(x, y, cols);                                                      \
    }

KERNEL(softmax_packed_2, 2, 8, true)
KERNEL(softmax_packed_4, 4, 8, true)
KERNEL(softmax_packed_8, 8, 8, true)
KERNEL(softmax_packed_8_long, 8, 16, true)
KERNEL(softmax_elements_8, 8, 4, false)
