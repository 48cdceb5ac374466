// z = x + y, 16 bytes an access.
//
// Formula: z[i] = x[i] + y[i]; n FLOP, 3ns bytes.
// Mapping: a block owns THREADS * UNROLL packs of 16 bytes; a thread takes every THREADS-th of them,
//   so that a warp reads 512 adjacent bytes, and has 2 * UNROLL loads under way before the first add. One pack
//   a thread is the fastest on an H200: enough threads are under way, and more registers would cost some.
// Idea: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"; PyTorch's vectorized
//   elementwise kernels. The cut into packs and edges keeps 16-byte accesses at any n and alignment.
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py
constexpr int UNROLL = 1;

__device__ __forceinline__ Pack add(const Pack& x, const Pack& y) {
    float left[PACK], right[PACK];
    unpack(x, left);
    unpack(y, right);
#pragma unroll
    for (int i = 0; i < PACK; ++i) left[i] += right[i];
    return to_pack(left);
}

__device__ __forceinline__ void add_one(const SCALAR* x, const SCALAR* y, SCALAR* z, long long at) {
    from_float(to_float(x[at]) + to_float(y[at]), z[at]);
}

extern "C" __global__ void __launch_bounds__(THREADS)
vector_add(const SCALAR* __restrict__ x, const SCALAR* __restrict__ y, SCALAR* __restrict__ z, long long n) {
    const Cut cut(x, n);
    const long long tile = static_cast<long long>(blockIdx.x) * THREADS * UNROLL + threadIdx.x;
    if (blockIdx.x == 0 && threadIdx.x < cut.edges) add_one(x, y, z, cut.edge_at(threadIdx.x));

    if (!is_aligned(y + cut.head) || !is_aligned(z + cut.head)) {  // the three disagree: no packs
        for (int u = 0; u < UNROLL; ++u) {
            const long long pack = tile + u * THREADS;
            for (int i = 0; pack < cut.packs && i < PACK; ++i) add_one(x, y, z, cut.pack_at(pack) + i);
        }
        return;
    }

    Pack left[UNROLL], right[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long pack = tile + u * THREADS;
        if (pack < cut.packs) {
            left[u] = load_kept_pack(x + cut.pack_at(pack));
            right[u] = load_kept_pack(y + cut.pack_at(pack));
        }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const long long pack = tile + u * THREADS;
        if (pack < cut.packs) store_pack(z + cut.pack_at(pack), add(left[u], right[u]));
    }
}
