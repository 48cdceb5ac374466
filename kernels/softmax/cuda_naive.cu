// Softmax in three passes over the row.
//
// Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum. 5 rows cols FLOP,
//   2 rows cols s compulsory bytes; this version moves twice that.
// Mapping: a block of 256 threads owns a row; one pass finds the maximum, one the sum, one writes the results.
// Lesson: each pass reads the row again, 2 or 4 bytes an access, and the reductions stop the block nine times each.
// Idea: the formula as it is written, with the shared-memory tree of Harris, "Optimizing Parallel Reduction in CUDA".
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py

__device__ float reduce(float value, bool maximum) {
    __shared__ float tree[THREADS];
    tree[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float other = tree[threadIdx.x + half];
            tree[threadIdx.x] = maximum ? fmaxf(tree[threadIdx.x], other) : tree[threadIdx.x] + other;
        }
        __syncthreads();
    }
    const float result = tree[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void softmax(const SCALAR* x, SCALAR* y, long long cols) {
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;

    float highest = NEGATIVE_INFINITY;
    for (long long col = threadIdx.x; col < cols; col += THREADS) highest = fmaxf(highest, to_float(x[col]));
    highest = reduce(highest, true);

    float total = 0.0f;
    for (long long col = threadIdx.x; col < cols; col += THREADS) total += expf(to_float(x[col]) - highest);
    total = reduce(total, false);

    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        from_float(expf(to_float(x[col]) - highest) / total, y[col]);
    }
}
