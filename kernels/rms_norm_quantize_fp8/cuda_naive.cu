// RMS norm and its rows in FP8, in three passes over the row.
//
// Formula: y[r, c] = x[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the row's squares; codes e4m3(448 y[r, c] / l_r),
//   l_r = max_c |y[r, c]|, and scale l_r / 448. 6 rows cols FLOP, rows (cols (s + 1) + 4) + cols s compulsory bytes; this
//   version reads x and w three times.
// Mapping: a block of 256 threads owns a row; one pass sums squares, one finds the largest result, one writes codes.
// Lesson: each pass waits for the one before it, loads 2 bytes where it could load 16, and divides every element.
// Idea: the formula as it is written.
#include <cuda_fp8.h>

#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py
constexpr float EPSILON = 1e-6f;
constexpr float LARGEST_CODE = 448.0f;

extern "C" __global__ void rms_norm_quantize(
    const SCALAR* x, const SCALAR* w, unsigned char* q, float* scale, long long cols
) {
    __shared__ unsigned largest;
    x += blockIdx.x * cols;
    q += blockIdx.x * cols;
    if (threadIdx.x == 0) largest = 0;
    float squares = 0.0f;
    for (long long col = threadIdx.x; col < cols; col += THREADS) squares += to_float(x[col]) * to_float(x[col]);
    const float rstd = 1.0f / sqrtf(block_sum(squares) / cols + EPSILON);

    // Magnitudes compare as the integers of their bits; NaN is the largest.
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        atomicMax(&largest, __float_as_uint(fabsf(to_float(x[col]) * rstd * to_float(w[col]))));
    }
    __syncthreads();

    const float divisor = largest == 0 ? 1.0f : __uint_as_float(largest) / LARGEST_CODE;
    if (threadIdx.x == 0) scale[blockIdx.x] = divisor;
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        const float y = to_float(x[col]) * rstd * to_float(w[col]);
        q[col] = __nv_cvt_float_to_fp8(y / divisor, __NV_SATFINITE, __NV_E4M3);
    }
}
