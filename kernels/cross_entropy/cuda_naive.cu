// Cross-entropy in two passes over the row.
//
// Formula: loss[r] = log(sum_c exp(x[r, c] - m_r)) + m_r - x[r, label[r]], m_r the row's maximum. 4 rows
//   cols FLOP, rows cols s compulsory bytes; this version reads twice that.
// Mapping: a block of 256 threads owns a row; one pass finds the maximum and one the sum, 2 or 4 bytes an
//   access, and trees in shared memory reduce over the block.
// Lesson: nothing is stored, so that the second read of the row is half of the bytes, and each tree stops the block.
// Idea: the formula as it is written, with the shared-memory tree of Harris, "Optimizing Parallel Reduction
// in CUDA".
#include "cross_entropy/labels.cuh"

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

extern "C" __global__ void cross_entropy(const SCALAR* x, const long long* labels, SCALAR* loss, long long cols) {
    x += blockIdx.x * cols;

    float highest = NEGATIVE_INFINITY;
    for (long long col = threadIdx.x; col < cols; col += THREADS) highest = fmaxf(highest, to_float(x[col]));
    highest = reduce(highest, true);

    float total = 0.0f;
    for (long long col = threadIdx.x; col < cols; col += THREADS) total += expf(to_float(x[col]) - highest);
    total = reduce(total, false);

    if (threadIdx.x == 0) {
        const long long label = labels[blockIdx.x];
        const float result = logf(total) + (highest - load_at(x, label, cols));
        from_float(label == IGNORED ? 0.0f : result, loss[blockIdx.x]);
    }
}
