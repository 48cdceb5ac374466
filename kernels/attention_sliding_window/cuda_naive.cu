// Sliding-window attention, a warp for each query.
//
// Formula: o[h, i] = sum over i - window < j <= i of p[h, i, j] v[h / group, j], p the softmax over these j of
//   q k^T / sqrt(dim); 4 dim FLOP a pair.
// Mapping: the lanes of a warp share the elements of a head. Key by key they add a score up by shuffles, then raise the
//   maximum and scale what they have so far.
// Lesson: the window is all that is skipped; no key serves two queries, and the tensor cores do nothing.
// Idea: the formula as it is written, with the running maximum of Milakov and Gimelshein, arXiv:1805.02867.
#include "shared/common.cuh"

constexpr int WARPS = 8;  // as in cuda_naive.py
constexpr int MOST = 8;   // elements of a head that a lane holds: heads of up to 256

extern "C" __global__ void __launch_bounds__(WARPS* WARP) attention(
    const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v, SCALAR* __restrict__ o,
    long long rows, long long seq, long long dim, long long sharing, long long window
) {
    const int lane = threadIdx.x % WARP;
    const long long row = static_cast<long long>(blockIdx.x) * WARPS + threadIdx.x / WARP;
    if (row >= rows) return;
    const long long place = row % seq, first_row = row / seq / sharing * seq;  // of the head of keys
    const float scale = LOG2_E * rsqrtf(static_cast<float>(dim));

    float query[MOST], sum[MOST] = {};
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const int at = i * WARP + lane;
        query[i] = at < dim ? to_float(q[row * dim + at]) * scale : 0.0f;
    }
    float highest = NEGATIVE_INFINITY, total = 0.0f;
    for (long long key = max(place - window + 1, 0LL); key <= place; ++key) {
        const long long from = (first_row + key) * dim;
        float score = 0.0f;
#pragma unroll
        for (int i = 0; i < MOST; ++i) {
            const int at = i * WARP + lane;
            if (at < dim) score += query[i] * to_float(k[from + at]);
        }
        score = warp_sum(score);
        const float raised = fmaxf(highest, score);
        const float rescale = fast_exp2(highest - raised), power = fast_exp2(score - raised);
        highest = raised;
        total = total * rescale + power;
#pragma unroll
        for (int i = 0; i < MOST; ++i) {
            const int at = i * WARP + lane;
            sum[i] = sum[i] * rescale + power * (at < dim ? to_float(v[from + at]) : 0.0f);
        }
    }
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const int at = i * WARP + lane;
        if (at < dim) from_float(sum[i] / total, o[row * dim + at]);
    }
}
