// z = x + y, 16 bytes an access.
//
// Formula: z[i] = x[i] + y[i]; n FLOP, 3ns bytes.
// Mapping: thread t of the grid owns pack t (see map_run).
// Idea: cuda_naive with wider accesses: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"; PyTorch's
//   vectorized elementwise kernels.
#include "shared/common.cuh"
#include "shared/overlap.cuh"

#ifndef THREADS  // a parameter that cuda_packed.py declares
#define THREADS 256
#endif

extern "C" __global__ void __launch_bounds__(THREADS) vector_add(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ y, SCALAR* __restrict__ z, long long n
) {
    start_early();
    const auto of = [](float x, float y) { return x + y; };
    map_run(thread_of_grid(), of, z, n, x, y);
}
