// Gradients of a linear layer's cross-entropy, a thread an element of each of the three products.
//
// Formula: d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])); dx = d w, dw = d^T x; 6 rows vocab hidden
//   FLOP.
// Mapping: of some columns of the vocabulary at a time a thread makes an element of d, in float32, and walks along
//   hidden for it. Then a thread adds up an element of dx over these columns, to what the columns before left, and one
//   of dw over all rows. Neighbouring threads read neighbours of w and x in the last two.
// Lesson: d is never whole in memory, but each of its elements is made by a thread alone, which loads two elements for
//   a product, and dx comes back from memory for every part of the vocabulary.
// Idea: the formula as it is written.
#include "shared/common.cuh"

constexpr long long IGNORED = -100;  // torch's ignore_index

extern "C" __global__ void make_weights(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const long long* __restrict__ labels,
    const float* __restrict__ lse, const SCALAR* __restrict__ dloss, float* __restrict__ d, long long rows,
    long long columns, long long hidden, long long first
) {
    const long long index = thread_of_grid();
    if (index >= rows * columns) return;
    const long long row = index / columns, column = first + index % columns;
    float logit = 0.0f;
    for (long long i = 0; i < hidden; ++i) logit += to_float(x[row * hidden + i]) * to_float(w[column * hidden + i]);
    const float weight = expf(logit - lse[row]) - (labels[row] == column ? 1.0f : 0.0f);
    d[index] = labels[row] == IGNORED ? 0.0f : weight * to_float(dloss[row]);
}

extern "C" __global__ void add_to_dx(
    const float* __restrict__ d, const SCALAR* __restrict__ w, float* __restrict__ sums, SCALAR* __restrict__ dx,
    long long rows, long long columns, long long hidden, long long first
) {
    const long long index = thread_of_grid();
    if (index >= rows * hidden) return;
    const long long row = index / hidden, i = index % hidden;
    float sum = first == 0 ? 0.0f : sums[index];
    for (long long column = 0; column < columns; ++column) {
        sum += d[row * columns + column] * to_float(w[(first + column) * hidden + i]);
    }
    sums[index] = sum;
    from_float(sum, dx[index]);
}

extern "C" __global__ void make_dw(
    const float* __restrict__ d, const SCALAR* __restrict__ x, SCALAR* __restrict__ dw, long long rows,
    long long columns, long long hidden, long long first
) {
    const long long index = thread_of_grid();
    if (index >= columns * hidden) return;
    const long long column = index / hidden, i = index % hidden;
    float sum = 0.0f;
    for (long long row = 0; row < rows; ++row) sum += d[row * columns + column] * to_float(x[row * hidden + i]);
    from_float(sum, dw[(first + column) * hidden + i]);
}
