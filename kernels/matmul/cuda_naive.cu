// C = A B, one thread an element of C.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP. Each product loads two elements for one FMA,
//   m n k (1 + 1/32) element reads in all against the compulsory m k + k n; the caches serve most.
// Mapping: thread i of the grid computes C[i / n][i % n]. The threads of a warp hold neighbouring columns, so they read
//   one element of A together and 32 neighbours of a row of B.
// Lesson: the FMA units wait for loads, two for each FMA, though a row of A serves n elements of C and a column of B m.
// Idea: the textbook's first version, kept to show what tiling buys.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void matmul_naive(
    const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n,
    long long k
) {
    const long long element = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (element >= m * n) return;
    const SCALAR* row = a + element / n * k;
    const SCALAR* column = b + element % n;

    float sum = 0.0f;
    for (long long l = 0; l < k; ++l) {
        sum += static_cast<float>(row[l]) * static_cast<float>(column[l * n]);
    }
    c[element] = static_cast<SCALAR>(sum);
}
