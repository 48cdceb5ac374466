// Layer norm in three passes over the row.
//
// Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5) w[c] + b[c], m_r and v_r the row's mean and variance. 8
//   rows cols FLOP, (2 rows cols + 2 cols) s compulsory bytes; this version moves twice that.
// Mapping: a block of 256 threads owns a row; one pass finds the mean, one the variance, one writes the results.
// Lesson: each pass reads the row again, 2 or 4 bytes an access, and the reductions stop the block nine times each.
// Idea: the formula as it is written, with the shared-memory tree of Harris, "Optimizing Parallel Reduction in
//   CUDA".
#include "shared/common.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py
constexpr float EPSILON = 1e-5f;

__device__ float sum_over_block(float value) {
    __shared__ float tree[THREADS];
    tree[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
        __syncthreads();
    }
    const float sum = tree[0];
    __syncthreads();
    return sum;
}

extern "C" __global__ void layer_norm(const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* y, long long cols) {
    x += blockIdx.x * cols;
    y += blockIdx.x * cols;

    float sum = 0.0f;
    for (long long col = threadIdx.x; col < cols; col += THREADS) sum += to_float(x[col]);
    const float mean = sum_over_block(sum) / cols;

    float squares = 0.0f;
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        const float difference = to_float(x[col]) - mean;
        squares += difference * difference;
    }
    const float deviation = sqrtf(sum_over_block(squares) / cols + EPSILON);

    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        from_float((to_float(x[col]) - mean) / deviation * to_float(w[col]) + to_float(b[col]), y[col]);
    }
}
