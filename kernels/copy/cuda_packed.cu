// Copy, 16 bytes a thread.
//
// Formula: y[i] = x[i]; no FLOP, 2ns bytes.
// Mapping: thread t of the grid owns pack t, or two packs where all of them are then under way at once. Elements pass
//   through as they are: bits of NaN too.
// Idea: cuda_naive with wider accesses: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"; one access
//   a thread as in vector_add/cuda_packed.
#include "shared/common.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py

// Each thread EACH packs, a block's width apart and all under way at once.
template <int EACH>
__device__ __forceinline__ void copy_packs(const SCALAR* x, SCALAR* y, long long n) {
    const long long first = (static_cast<long long>(blockIdx.x) * THREADS * EACH + threadIdx.x) * PACK;
    x += first;
    y += first;
    n -= first;
    constexpr int STEP = THREADS * PACK;
    Pack packs[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        if (n > e * STEP) packs[e] = load_part(x + e * STEP, n - e * STEP);
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        if (n > e * STEP) store_part(y + e * STEP, packs[e], n - e * STEP);
    }
}

#define COPY_KERNEL(EACH)                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) copy_##EACH(                    \
        const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long n) {              \
        start_early();                                                                    \
        copy_packs<EACH>(x, y, n);                                                        \
    }

COPY_KERNEL(1)
COPY_KERNEL(2)
