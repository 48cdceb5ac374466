// GELU as a first extension has it: one element a thread, blocks of 1024, and double without meaning to.
//
// Formula: y = 0.5 x (1 + tanh(0.79788456 (x + 0.044715 x^3))); 9n FLOP, 2ns bytes.
// Mapping: thread i of the grid owns element i.
// Lesson: 0.5, 1.0 and the other constants without an `f` are double, and drag tanh and every product with
//   them. The result is right, far below the roof: double units bind it, not memory.
// Idea: the GELU exercise of Stanford CS336.
#include "shared/common.cuh"

extern "C" __global__ void gelu(const SCALAR* x, SCALAR* y, long long n) {
    const long long i = thread_of_grid();
    if (i >= n) return;
    const float v = to_float(x[i]);
    from_float(0.5 * v * (1.0 + tanh(0.79788456 * (v + 0.044715 * v * v * v))), y[i]);
}
