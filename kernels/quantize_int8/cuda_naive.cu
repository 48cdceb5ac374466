// Rows to int8 in two passes over the row.
//
// Formula: q[r, c] = round(x[r, c] / scale[r]), scale[r] = max_c |x[r, c]| / 127. 3 rows cols FLOP,
//   rows (cols (s + 1) + 4) compulsory bytes; this version reads x twice.
// Mapping: a block of 256 threads owns a row; one pass finds the largest magnitude, one writes the codes.
// Lesson: a warp stores 32 bytes in an access where it could store 256, and every element takes a division, some
//   ten instructions, and a conversion to an integer, which runs at a quarter of the rate.
// Idea: the formula as it is written.
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py

extern "C" __global__ void quantize(const SCALAR* x, signed char* q, float* scale, long long cols) {
    __shared__ unsigned largest;
    x += blockIdx.x * cols;
    q += blockIdx.x * cols;
    if (threadIdx.x == 0) largest = 0;
    __syncthreads();
    // Magnitudes compare as the integers of their bits; NaN is the largest.
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        atomicMax(&largest, __float_as_uint(fabsf(to_float(x[col]))));
    }
    __syncthreads();

    const float divisor = largest == 0 ? 127.0f : __uint_as_float(largest);
    if (threadIdx.x == 0) scale[blockIdx.x] = divisor / 127.0f;
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        q[col] = static_cast<signed char>(rintf(to_float(x[col]) * 127.0f / divisor));
    }
}
