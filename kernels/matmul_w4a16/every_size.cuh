// The kernels that take every size: what cuda_mma_async.cu is, and what cuda_tma.cu leaves to them.
#pragma once

#include "matmul_w4a16/plain.cuh"
#include "matmul_w4a16/stages.cuh"
#include "matmul_w4a16/undivided.cuh"

// As in stages.py.
KERNELS(16, 8, 8, 3, 3)
KERNELS(32, 16, 8, 2, 2)
KERNELS(48, 32, 4, 2, 2)
UNDIVIDED(128, 16, 3)
UNDIVIDED(128, 32, 3)
UNDIVIDED(256, 16, 3)
UNDIVIDED(256, 32, 2)

// Groups that are no power of two from 32 on, and tensors that are not aligned.
extern "C" __global__ void __launch_bounds__(256) multiply_any(
    const SCALAR* __restrict__ x, const unsigned char* __restrict__ packed, const SCALAR* __restrict__ scales,
    SCALAR* __restrict__ y, long long m, long long n, long long groups, long long half
) {
    multiply_plainly(x, packed, scales, y, m, n, groups, half);
}
