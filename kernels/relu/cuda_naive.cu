// ReLU as a first kernel has it: one element a thread.
//
// Formula: y = max(x, 0), and NaN where x is NaN, as in PyTorch; n FLOP, 2ns bytes.
// Mapping: thread i of the grid owns element i.
// Lesson: fmaxf(x, 0) would turn NaN into 0 and hide it; a comparison keeps it.
// Idea: any CUDA course's first kernel.
#include "shared/common.cuh"

extern "C" __global__ void relu(const SCALAR* x, SCALAR* y, long long n) {
    const long long i = thread_of_grid();
    if (i >= n) return;
    const float v = to_float(x[i]);
    from_float(v < 0.0f ? 0.0f : v, y[i]);
}
