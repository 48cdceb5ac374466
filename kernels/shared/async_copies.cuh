// 16 bytes at a time from global into shared memory, without registers: cp.async, where there is one.
#pragma once

#include "shared/rows.cuh"

// Starts to copy 16 bytes at an aligned address; the whole block waits below. KEEPS a line in L1 where other blocks of
// the multiprocessor read the rest of it.
template <bool KEEPS>
__device__ __forceinline__ void start_copy(Bits* to, const SCALAR* from) {
#if __CUDA_ARCH__ >= 800
    if constexpr (KEEPS) {
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    } else {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    }
#else
    *to = __ldg(reinterpret_cast<const Bits*>(from));
#endif
}

__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncthreads();
}
