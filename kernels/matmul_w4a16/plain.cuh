// Rows times 4-bit weights for every size and alignment: a warp for each element of y.
#pragma once

#include "shared/common.cuh"

__device__ __forceinline__ void multiply_plainly(
    const SCALAR* x, const unsigned char* packed, const SCALAR* scales, SCALAR* y, long long m, long long n,
    long long groups, long long half
) {
    const long long output = thread_of_grid() / WARP;
    if (output >= m * n) return;
    x += output / n * groups * half * 2;
    packed += output % n * groups * half;
    scales += output % n * groups;

    float sum = 0.0f;
    for (long long at = threadIdx.x % WARP; at < groups * half; at += WARP) {
        const long long group = at / half;
        const float low = to_float(x[at + group * half]) * static_cast<float>(packed[at] % 16 - 8);
        const float high = to_float(x[at + group * half + half]) * static_cast<float>(packed[at] / 16 - 8);
        sum += (low + high) * to_float(scales[group]);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) from_float(sum, y[output]);
}
