// Rows times 4-bit weights, a warp for each element of y.
//
// Formula: y[i, j] = sum over l of x[i, l] (q[j, l] - 8) scale[j, l / group]; 2 m n k FLOP,
//   n k / 2 + n k s / group + (m k + m n) s compulsory bytes; this version reads the weights m times.
// Mapping: the lanes of a warp walk along row j of the weights, a byte each, and add up by shuffles.
// Lesson: a weight of half a byte leaves an H200 under four issue slots at the rate of its memory. Here it takes a
//   load of x, half a load of weights, a mask, two conversions and two products: the arithmetic is the limit.
// Idea: the dot product of every textbook.
#include "matmul_w4a16/plain.cuh"

extern "C" __global__ void __launch_bounds__(256) multiply(
    const SCALAR* x, const unsigned char* packed, const SCALAR* scales, SCALAR* y, long long m, long long n,
    long long groups, long long half
) {
    multiply_plainly(x, packed, scales, y, m, n, groups, half);
}
