// Copy, 16 bytes a thread.
//
// Formula: y[i] = x[i]; no FLOP, 2ns bytes.
// Mapping: thread t of the grid owns pack t. Elements pass through as they are: bits of NaN too.
// Idea: cuda_naive with wider accesses: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"; one access
//   a thread as in vector_add/cuda_packed.
#include "shared/common.cuh"
#include "shared/overlap.cuh"

constexpr int THREADS = 256;  // as in cuda_packed.py

extern "C" __global__ void __launch_bounds__(THREADS) copy(
    const SCALAR* __restrict__ x, SCALAR* __restrict__ y, long long n
) {
    start_early();
    const long long first = thread_of_grid() * PACK;
    const long long left = n - first;
    if (left > 0) store_part(y + first, load_part(x + first, left), left);
}
