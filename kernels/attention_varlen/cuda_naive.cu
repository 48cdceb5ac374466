// Causal attention over packed sequences, a block for each query.
//
// Formula: o[t] = sum over u of p[u] v[u], p the softmax of q[t] k[u] / sqrt(dim), u from the first token of t's
//   sequence to t. 4 dim FLOP a pair; every block reads its keys and values again, from L2 where they are there.
// Mapping: block (t, h). It finds its sequence by bisection of the offsets. Its warps take keys in turn; the lanes of a
//   warp share the elements of a key, and add a score up by shuffles. Each warp has a maximum, a sum and a mean so far
//   of its own; they meet at the end.
// Lesson: what is read for one query serves no other, and each score costs five shuffles in a row. Packed lengths need
//   no more than the bisection.
// Idea: FlashAttention's cu_seqlens, Dao, arXiv:2307.08691.
#include "shared/common.cuh"

constexpr int WARPS = 8;
constexpr int MOST = 8;  // elements of a head that a lane holds: heads of up to 256

// 2^(score - top), and 0 where no key was seen.
__device__ __forceinline__ float relative(float highest, float top) {
    return highest == NEGATIVE_INFINITY ? 0.0f : fast_exp2(highest - top);
}

extern "C" __global__ void __launch_bounds__(WARPS* WARP) attend(
    const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,
    const int* __restrict__ offsets, SCALAR* __restrict__ o, long long heads, long long kv_heads, long long batch,
    long long dim
) {
    __shared__ float sums[WARPS][MOST * WARP], maxima[WARPS], totals[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const long long token = blockIdx.x / heads, head = blockIdx.x % heads;
    const long long kv_head = head / (heads / kv_heads);
    // The last sequence that begins at or before this token: others that begin there are empty.
    long long low = 0, high = batch;
    while (high - low > 1) {
        const long long middle = (low + high) / 2;
        (offsets[middle] <= token ? low : high) = middle;
    }
    if (token < offsets[low] || token >= offsets[low + 1]) return;
    const long long first = max(offsets[low], 0);
    const float scale = LOG2_E * rsqrtf(static_cast<float>(dim));

    float query[MOST], sum[MOST] = {};
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const int at = i * WARP + lane;
        query[i] = at < dim ? to_float(q[blockIdx.x * dim + at]) * scale : 0.0f;
    }
    float highest = NEGATIVE_INFINITY, total = 0.0f;
    for (long long key = first + warp; key <= token; key += WARPS) {
        const long long row = (key * kv_heads + kv_head) * dim;
        float score = 0.0f;
#pragma unroll
        for (int i = 0; i < MOST; ++i) {
            const int at = i * WARP + lane;
            if (at < dim) score += query[i] * to_float(k[row + at]);
        }
        score = warp_sum(score);
        const float raised = fmaxf(highest, score);
        const float rescale = fast_exp2(highest - raised), power = fast_exp2(score - raised);
        highest = raised;
        total = total * rescale + power;
#pragma unroll
        for (int i = 0; i < MOST; ++i) {
            const int at = i * WARP + lane;
            const float value = at < dim ? to_float(v[row + at]) : 0.0f;
            sum[i] = sum[i] * rescale + power * value;
        }
    }
#pragma unroll
    for (int i = 0; i < MOST; ++i) sums[warp][i * WARP + lane] = sum[i];
    if (lane == 0) maxima[warp] = highest, totals[warp] = total;
    __syncthreads();

    float top = NEGATIVE_INFINITY;
    for (int other = 0; other < WARPS; ++other) top = fmaxf(top, maxima[other]);
    for (int at = threadIdx.x; at < dim; at += WARPS * WARP) {
        float mean = 0.0f, all = 0.0f;
        for (int other = 0; other < WARPS; ++other) {
            const float rescale = relative(maxima[other], top);
            mean += sums[other][at] * rescale;
            all += totals[other] * rescale;
        }
        from_float(mean / all, o[blockIdx.x * dim + at]);
    }
}
