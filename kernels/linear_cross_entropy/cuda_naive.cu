// A linear layer's cross-entropy, a block a row.
//
// Formula: loss[r] = log(sum_c exp(x[r] . w[c])) - x[r] . w[label[r]]; 2 rows vocab hidden FLOP.
// Mapping: the warps of a block take columns in turn, the lanes of a warp elements of the two rows, which they add up by
//   shuffles. A warp keeps a maximum and a sum; they meet at the end of the row.
// Lesson: no logit lies in memory, but each block reads all of w: as many bytes as products.
// Idea: the definition, with the sums of Milakov and Gimelshein, arXiv:1805.02867.
#include "linear_cross_entropy/join.cuh"

constexpr int WARPS = 8;

extern "C" __global__ void __launch_bounds__(WARPS* WARP) cross_entropy(
    const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, const long long* __restrict__ labels,
    SCALAR* __restrict__ loss, long long vocab, long long hidden
) {
    __shared__ Statistics parts[WARPS];
    __shared__ float at_label;
    const long long row = blockIdx.x, label = labels[row];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (long long column = warp; column < vocab; column += WARPS) {
        float logit = 0.0f;
        for (long long i = lane; i < hidden; i += WARP) {
            logit += to_float(x[row * hidden + i]) * to_float(w[column * hidden + i]);
        }
        logit = warp_sum(logit) * LOG2_E;
        mine = joined(mine, {logit, 1.0f});
        if (column == label && lane == 0) at_label = logit;
    }
    if (lane == 0) parts[warp] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int other = 1; other < WARPS; ++other) mine = joined(mine, parts[other]);
    from_float(loss_of(mine, at_label, label, vocab), loss[row]);
}
