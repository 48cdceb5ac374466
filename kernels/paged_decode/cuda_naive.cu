// Decoding with a paged cache, a block for each query head.
//
// Formula: o[b, h] = sum over keys l of p[l] v[l], p the softmax of q[b, h] k[l] / sqrt(dim); key l of sequence b lies in
//   page table[b, l / page], row l % page. 4 keys dim FLOP a query head; the cache's bytes once are compulsory, but this
//   version reads them once for each of the `group` query heads that share them.
// Mapping: block (b, h). Its warps take keys in turn; the lanes of a warp share the elements of a key, and add a score
//   up by shuffles. Each warp has a maximum, a sum and a mean so far of its own; they meet at the end.
// Lesson: L2 serves the heads of a group that come later, but each score costs five shuffles in a row, and a warp has
//   one key under way at a time.
// Idea: PagedAttention, Kwon et al., arXiv:2309.06180.
#include "paged_decode/pages.cuh"

constexpr int WARPS = 8;
constexpr int MOST = 8;  // elements of a head that a lane holds: heads of up to 256

extern "C" __global__ void __launch_bounds__(WARPS* WARP) decode(
    const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,
    const int* __restrict__ table, const int* __restrict__ lengths, SCALAR* __restrict__ o, long long heads,
    long long kv_heads, long long pool, long long pages, long long page, long long dim
) {
    __shared__ float sums[WARPS][MOST * WARP], maxima[WARPS], totals[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const long long sequence = blockIdx.x / heads, head = blockIdx.x % heads;
    const Pages of_sequence(table + sequence * pages, lengths[sequence], pool, pages, page);
    const long long kv_head = head / (heads / kv_heads);
    const float scale = LOG2_E * rsqrtf(static_cast<float>(dim));

    float query[MOST], sum[MOST] = {};
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        const int at = i * WARP + lane;
        query[i] = at < dim ? to_float(q[blockIdx.x * dim + at]) * scale : 0.0f;
    }
    float highest = NEGATIVE_INFINITY, total = 0.0f;
    for (int key = warp; key < of_sequence.length; key += WARPS) {
        const int row = of_sequence.row(key);
        const long long first = (row * kv_heads + kv_head) * dim;
        float score = row < 0 ? not_a_number() : 0.0f;
#pragma unroll
        for (int i = 0; i < MOST; ++i) {
            const int at = i * WARP + lane;
            if (at < dim && row >= 0) score += query[i] * to_float(k[first + at]);
        }
        score = warp_sum(score);
        const float raised = fmaxf(highest, score);
        const float rescale = fast_exp2(highest - raised), power = fast_exp2(score - raised);
        highest = raised;
        total = total * rescale + power;
#pragma unroll
        for (int i = 0; i < MOST; ++i) {
            const int at = i * WARP + lane;
            const float value = at < dim && row >= 0 ? to_float(v[first + at]) : 0.0f;
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
            const float rescale = relative_power(maxima[other], top);
            mean += sums[other][at] * rescale;
            all += totals[other] * rescale;
        }
        from_float(all == 0.0f ? 0.0f : mean / all, o[blockIdx.x * dim + at]);
    }
}
