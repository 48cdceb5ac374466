// Sum of rows, a block a row.
//
// Formula: y[r] = sum_c x[r, c]; rows cols FLOP, rows cols s + 4 rows bytes.
// Mapping: a block of 256 threads owns a row; each thread adds every 256th element, 2 or 4 bytes an access,
//   and a tree in shared memory adds the threads' sums.
// Lesson: one row is one block, and one of a hundred multiprocessors works. Every addition waits for the one
//   before, and for its load: a single access is under way a thread.
// Idea: Harris, "Optimizing Parallel Reduction in CUDA", kernel 3.
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py

extern "C" __global__ void row_sum(const SCALAR* x, float* y, long long cols) {
    __shared__ float tree[THREADS];
    x += blockIdx.x * cols;
    float sum = 0.0f;
#pragma unroll 1
    for (long long col = threadIdx.x; col < cols; col += THREADS) sum += to_float(x[col]);
    tree[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = tree[0];
}
