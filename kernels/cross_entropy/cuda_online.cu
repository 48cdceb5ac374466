// Cross-entropy in one pass where cuda_naive takes two: each thread keeps a maximum and a sum of its own, which meet at
// the row's end.
//
// Formula: loss[r] = log(sum_c exp(x[r, c] - m_r)) + m_r - x[r, label[r]], m_r the row's maximum, exp(t) =
//   2^(t log2 e). The sum so far is scaled by exp(m - m') when the maximum rises from m to m'. 4 rows cols
//   FLOP, rows cols s bytes.
// Mapping: a block owns a row, or a piece of one where there are few rows. A thread takes every so-manyth
//   pack of 16 bytes, UNROLL of them under way at once, and raises its maximum once for all of them. Pieces
//   leave maximum and sum, which a second kernel joins, in the same order at every call.
// Idea: Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867. At the
//   bandwidth of an H200 a 16-bit element that is only read has 14 issue slots and 1.8 of the special
//   functions: one power each.
#include "cross_entropy/labels.cuh"

constexpr int UNROLL = 2;

struct Statistics {
    float highest;  // largest element so far; NaN does not count
    float total;    // sum of exp(element - highest); NaN if any element is
};

// exp(from - to), which makes a sum relative to `from` one relative to `to`; nothing was summed at -inf.
__device__ __forceinline__ float rescale(float from, float to) {
    return from == NEGATIVE_INFINITY ? 0.0f : fast_exp2((from - to) * LOG2_E);
}

__device__ __forceinline__ Statistics over_warp(Statistics mine) {
    const float highest = warp_max(mine.highest);
    return {highest, warp_sum(mine.total * rescale(mine.highest, highest))};
}

__device__ __forceinline__ Statistics over_block(Statistics mine) {
    __shared__ Statistics partial[WARP];
    const int lane = threadIdx.x % WARP;
    mine = over_warp(mine);
    if (lane == 0) partial[threadIdx.x / WARP] = mine;
    __syncthreads();
    return over_warp(lane < blockDim.x / WARP ? partial[lane] : Statistics{NEGATIVE_INFINITY, 0.0f});
}

// Adds COUNT elements.
template <int COUNT>
__device__ __forceinline__ void add(Statistics& mine, const float (&values)[COUNT]) {
    float highest = mine.highest;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) highest = fmaxf(highest, values[i]);
    // An element -inf relative to -inf counts as nothing, not as NaN.
    const float base = highest == NEGATIVE_INFINITY ? 0.0f : highest;
    float powers[2] = {mine.total * rescale(mine.highest, highest), 0.0f};
#pragma unroll
    for (int i = 0; i < COUNT; ++i) powers[i % 2] += fast_exp2((values[i] - base) * LOG2_E);
    mine = {highest, powers[0] + powers[1]};
}

// This thread's share of a run.
__device__ __forceinline__ Statistics statistics_of(const SCALAR* x, long long length) {
    const AlignedRun run(x, length);
    const int thread = threadIdx.x, threads = blockDim.x;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    if (thread < run.edges) {
        const float edge[1] = {to_float(x[run.edge_at(thread)])};
        add(mine, edge);
    }
    x += run.head;
    long long pack = thread;
    for (; pack + (UNROLL - 1) * threads < run.packs; pack += UNROLL * threads) {
        Pack packs[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) packs[u] = load_pack(x + (pack + u * threads) * PACK);
        float values[UNROLL * PACK];
#pragma unroll
        for (int i = 0; i < UNROLL * PACK; ++i) values[i] = to_float(packs[i / PACK].element[i % PACK]);
        add(mine, values);
    }
    for (; pack < run.packs; pack += threads) {
        float values[PACK];
        unpack(load_pack(x + pack * PACK), values);
        add(mine, values);
    }
    return mine;
}

__device__ __forceinline__ void store_loss(const Statistics& row, float at_label, bool ignored, SCALAR* loss) {
    from_float(ignored ? 0.0f : __logf(row.total) + (row.highest - at_label), *loss);
}

extern "C" __global__ void cross_entropy_row(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, SCALAR* __restrict__ loss, long long cols
) {
    x += blockIdx.x * cols;
    const long long label = labels[blockIdx.x];
    const float at_label = threadIdx.x == 0 ? load_at(x, label, cols) : 0.0f;  // under way meanwhile
    const Statistics row = over_block(statistics_of(x, cols));
    if (threadIdx.x == 0) store_loss(row, at_label, label == IGNORED, loss + blockIdx.x);
}

// Statistics of pieces of `length` elements, the last one of a row shorter; (rows, pieces).
extern "C" __global__ void cross_entropy_piece(
    const SCALAR* __restrict__ x, Statistics* __restrict__ piece, long long cols, long long pieces, long long length
) {
    const long long row = blockIdx.x / pieces, start = blockIdx.x % pieces * length;
    const long long left = cols - start;
    const Statistics mine = over_block(statistics_of(x + row * cols + start, left < length ? left : length));
    if (threadIdx.x == 0) piece[blockIdx.x] = mine;
}

// A warp joins the pieces of a row, of which there are at most 32.
extern "C" __global__ void cross_entropy_join(
    const SCALAR* __restrict__ x, const long long* __restrict__ labels, const Statistics* __restrict__ piece,
    SCALAR* __restrict__ loss, long long cols, long long pieces
) {
    const long long row = blockIdx.x;
    const Statistics mine =
        threadIdx.x < pieces ? piece[row * pieces + threadIdx.x] : Statistics{NEGATIVE_INFINITY, 0.0f};
    const Statistics all = over_warp(mine);
    if (threadIdx.x != 0) return;
    const long long label = labels[row];
    store_loss(all, load_at(x + row * cols, label, cols), label == IGNORED, loss + row);
}
