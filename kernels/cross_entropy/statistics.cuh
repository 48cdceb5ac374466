// A maximum and a sum of powers relative to it, of a part of a row, and how parts join.
#pragma once

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

__device__ __forceinline__ Statistics joined(const Statistics& a, const Statistics& b) {
    const float highest = fmaxf(a.highest, b.highest);
    return {highest, a.total * rescale(a.highest, highest) + b.total * rescale(b.highest, highest)};
}

__device__ __forceinline__ Statistics over_warp(Statistics mine) {
    const float highest = highest_of_warp(mine.highest);
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
    SCALAR edge;  // under way while packs are added
    from_float(NEGATIVE_INFINITY, edge);
    if (thread < run.edges) edge = x[run.edge_at(thread)];
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
    const float last[1] = {to_float(edge)};
    add(mine, last);
    return mine;
}

__device__ __forceinline__ void store_loss(const Statistics& row, float at_label, bool ignored, SCALAR* loss) {
    from_float(ignored ? 0.0f : __logf(row.total) + (row.highest - at_label), *loss);
}

// ---- Parts of rows by words -----------------------------------------------------------------------

// A run of elements as the whole words in it, and up to 14 elements beside them.
struct RunWords {
    int head, packs, edges;

    // From so many bytes behind a word on.
    __device__ __forceinline__ RunWords(unsigned past, int length) {
        head = min(static_cast<int>((PACK - past / sizeof(SCALAR)) % PACK), length);
        packs = static_cast<int>(static_cast<unsigned>(length - head) / PACK);
        edges = length - packs * PACK;
    }
    __device__ __forceinline__ int edge_at(int edge) const { return edge < head ? edge : edge + packs * PACK; }
};
