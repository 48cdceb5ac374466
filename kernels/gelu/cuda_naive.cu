// GELU as the formula is written, in double without meaning to.
//
// Formula: y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); 9n FLOP, 2ns bytes.
// Mapping: thread i of the grid owns element i.
// Lesson: constants without an `f` are double, and drag tanh and every product with them. A GPU has
//   2 to 64 times fewer double units than float ones, so a stream of bytes becomes bound by them.
// Idea: the textbook extension source.
#include "shared/common.cuh"

extern "C" __global__ void gelu(const SCALAR* x, SCALAR* y, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = to_float(x[i]);
    from_float(0.5 * v * (1.0 + tanh(sqrt(2.0 / 3.14159265358979323846) * (v + 0.044715 * v * v * v))), y[i]);
}
