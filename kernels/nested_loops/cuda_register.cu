// Nested loops in CUDA C++: the loops inside the kernel, y in a register all the while.
//
// Formula: y = y / 2 + x steps[i, j] for all i, j; 3 outer inner n FLOP, (2n + outer inner)s bytes.
// Mapping: thread i of the grid owns element i. All threads read the steps, which stay in L1.
// Idea: what the loops' author could have written.
#include "shared/common.cuh"

extern "C" __global__ void nested_loops(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ steps, SCALAR* __restrict__ y, long long n, long long turns
) {
    const long long i = thread_of_grid();
    if (i >= n) return;
    const float v = to_float(x[i]);
    float result = 0.0f;
    for (int turn = 0; turn < static_cast<int>(turns); ++turn) {
        result = fmaf(0.5f, result, v * to_float(steps[turn]));
    }
    from_float(result, y[i]);
}
