// A linear layer's cross-entropy and its gradients, a thread an element of each of the three products.
//
// Formula: loss[r] = lse[r] - x[r] . w[label[r]], lse[r] = log(sum_c exp(x[r] . w[c]));
//   d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])); dx = d w, dw = d^T x; 6 rows vocab hidden FLOP.
// Mapping: for some rows at a time a thread makes a logit, in float32, and walks along hidden for it. A block a row finds
//   the row's loss, and makes d where the logits lie. Then a thread makes an element of dx, and another adds these rows
//   to an element of dw, to what the rows before left. Neighbouring threads read neighbours of w and x in the last two.
// Lesson: no logit is made twice, but each element of a product is made by a thread alone, which loads two elements for
//   a product.
// Idea: the formula as it is written, with the parts of linear_cross_entropy/cuda_naive and
//   linear_cross_entropy_backward/cuda_naive.
#include "linear_cross_entropy/join.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py

extern "C" __global__ void make_logits(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, float* __restrict__ logits, long long rows,
    long long vocab, long long hidden
) {
    const long long index = thread_of_grid();
    if (index >= rows * vocab) return;
    const long long row = index / vocab, column = index % vocab;
    float logit = 0.0f;
    for (long long i = 0; i < hidden; ++i) logit += to_float(x[row * hidden + i]) * to_float(w[column * hidden + i]);
    logits[index] = logit;
}

extern "C" __global__ void __launch_bounds__(THREADS) make_weights(
    float* __restrict__ d, const long long* __restrict__ labels, const SCALAR* __restrict__ dloss,
    SCALAR* __restrict__ loss, long long vocab
) {
    __shared__ Statistics parts[THREADS];
    const long long row = blockIdx.x, label = labels[row];
    d += row * vocab;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (long long column = threadIdx.x; column < vocab; column += THREADS) {
        mine = joined(mine, {d[column] * LOG2_E, 1.0f});
    }
    parts[threadIdx.x] = mine;
    __syncthreads();
    mine = parts[0];
    for (int other = 1; other < THREADS; ++other) mine = joined(mine, parts[other]);
    if (threadIdx.x == 0) {
        const bool is_column = label >= 0 && label < vocab;
        from_float(loss_of(mine, is_column ? d[label] * LOG2_E : 0.0f, label, vocab), loss[row]);
    }
    __syncthreads();
    const float lse = mine.highest + log2f(mine.total), scale = to_float(dloss[row]);
    for (long long column = threadIdx.x; column < vocab; column += THREADS) {
        const float weight = exp2f(d[column] * LOG2_E - lse) - (label == column ? 1.0f : 0.0f);
        d[column] = label == IGNORED ? 0.0f : weight * scale;
    }
}

extern "C" __global__ void make_dx(
    const float* __restrict__ d, const SCALAR* __restrict__ w, SCALAR* __restrict__ dx, long long rows, long long vocab,
    long long hidden
) {
    const long long index = thread_of_grid();
    if (index >= rows * hidden) return;
    const long long row = index / hidden, i = index % hidden;
    float sum = 0.0f;
    for (long long column = 0; column < vocab; ++column)
        sum += d[row * vocab + column] * to_float(w[column * hidden + i]);
    from_float(sum, dx[index]);
}

extern "C" __global__ void add_to_dw(
    const float* __restrict__ d, const SCALAR* __restrict__ x, float* __restrict__ sums, SCALAR* __restrict__ dw,
    long long rows, long long vocab, long long hidden, long long first
) {
    const long long index = thread_of_grid();
    if (index >= vocab * hidden) return;
    const long long column = index / hidden, i = index % hidden;
    float sum = first == 0 ? 0.0f : sums[index];
    for (long long row = 0; row < rows; ++row) sum += d[row * vocab + column] * to_float(x[row * hidden + i]);
    sums[index] = sum;
    from_float(sum, dw[index]);
}
