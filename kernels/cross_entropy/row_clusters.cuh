// Few rows, each by a block or by a cluster of blocks: one kernel, one wait for memory. On Hopper.
//
// A thread has all its packs of the row under way at once, and its label beside them, and finds their maximum before it
// takes powers. The element at the label comes while it does, in the block that has it already: looked up from outside, it
// would wait for memory once more. Blocks send what they
// found to the first of their cluster, which counts the bytes on a barrier: none waits for another one, but that it has
// started.
#pragma once

#include "cross_entropy/short_rows.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

constexpr int MOST_BLOCKS = 16;  // of a cluster
constexpr int AT_ONCE = 4;       // packs of a thread

// ---- A part of a row by a block, or the whole of it ------------------------------------------------

// The statistics of `packs` packs, and of an edge where there are any. `meanwhile` is called once packs are under way.
template <typename Meanwhile>
__device__ __forceinline__ Statistics
statistics_of_part(const SCALAR* start, int packs, bool has_edges, SCALAR edge, const Meanwhile& meanwhile) {
    const Bits* const words = reinterpret_cast<const Bits*>(start);
    const int threads = blockDim.x;
    int pack = threadIdx.x;
    Bits kept[AT_ONCE];
    const auto load = [&] {
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            kept[p] = {NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES};
            if (pack + p * threads < packs) kept[p] = __ldg(words + pack + p * threads);
        }
    };
    const auto found = [&] {
        return statistics_of<1>(highest_of(kept), kept, [&](int p, int i) {
            return i == 0 && p > 0 && pack + p * threads >= packs;
        });
    };
    load();
    meanwhile();
    Statistics mine = found();
    for (pack += AT_ONCE * threads; pack < packs; pack += AT_ONCE * threads) {
        load();
        mine = joined(mine, found());
    }
    if (has_edges) {
        const float last[1] = {to_float(edge)};
        add(mine, last);
    }
    return mine;
}

// A block alone.
__device__ __forceinline__ void row_by_block(const SCALAR* x, const long long* labels, SCALAR* loss, int cols) {
    let_next_start();
    wait_for_previous();
    x += static_cast<long long>(blockIdx.x) * cols;
    const RunWords words(bytes_past(x), cols);
    const long long label = threadIdx.x == 0 ? labels[blockIdx.x] : 0;
    SCALAR edge;
    from_float(NEGATIVE_INFINITY, edge);
    if (threadIdx.x < words.edges) edge = x[words.edge_at(threadIdx.x)];
    float at_label = 0.0f;
    const Statistics mine = statistics_of_part(x + words.head, words.packs, words.edges, edge, [&] {
        if (threadIdx.x == 0) at_label = load_at(x, label, cols);
    });
    const Statistics all = over_block(mine);
    if (threadIdx.x == 0) store_loss(all, at_label, label == IGNORED, loss + blockIdx.x);
}

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void row_by_cluster(const SCALAR* x, const long long* labels, SCALAR* loss, int cols) {
    __shared__ Barrier met;
    __shared__ float2 of_block[MOST_BLOCKS + 1];  // and the element at the label
    const unsigned blocks = blocks_of_cluster(), rank = rank_in_cluster();
    const bool is_thread_0 = threadIdx.x == 0;
    if (is_thread_0 && rank == 0) {
        init_barrier(&met, 1);
        publish_barriers();
    }
    __syncwarp();  // in front of its own arrival too: racecheck takes the initialisation for another lane's
    arrive_at_cluster();
    if (is_thread_0 && rank == 0) arrive_and_expect(&met, (blocks + 1) * sizeof(float2));
    let_next_start();
    wait_for_previous();

    const long long row = blockIdx.x / blocks;
    x += row * cols;
    const RunWords words(bytes_past(x), cols);
    const int each = (words.packs + blocks - 1) / blocks, before = rank * each;
    const int packs = max(min(words.packs - before, each), 0);
    const long long label = is_thread_0 ? labels[row] : 0;
    SCALAR edge;
    from_float(NEGATIVE_INFINITY, edge);
    if (rank == 0 && threadIdx.x < words.edges) edge = x[words.edge_at(threadIdx.x)];
    float2 of_label = {};  // the element there, and whether the row is ignored
    bool has_label = false;
    const bool has_edges = rank == 0 && words.edges;
    const Statistics mine = statistics_of_part(x + words.head + before * PACK, packs, has_edges, edge, [&] {
        if (!is_thread_0) return;
        const int pack = label < words.head ? -1 : static_cast<int>((min(label, 1ll << 31) - words.head) / PACK);
        const bool is_beside = label < words.head || pack >= words.packs;  // or no column
        has_label = is_beside ? rank == 0 : pack >= before && pack < before + packs;
        if (has_label) of_label = {load_at(x, label, cols), label == IGNORED ? 1.0f : 0.0f};
    });
    const Statistics all = over_block(mine);
    wait_for_cluster();
    if (is_thread_0) {
        const unsigned barrier = address_in(0, &met);
        send_to(address_in(0, of_block + rank), float2{all.highest, all.total}, barrier);
        if (has_label) send_to(address_in(0, of_block + MOST_BLOCKS), of_label, barrier);
    }
    if (rank > 0 || threadIdx.x >= WARP) return;
    wait_for(&met, 0);
    const float2 found = threadIdx.x < blocks ? of_block[threadIdx.x] : float2{NEGATIVE_INFINITY, 0.0f};
    const Statistics whole = over_warp({found.x, found.y});
    if (is_thread_0) store_loss(whole, of_block[MOST_BLOCKS].x, of_block[MOST_BLOCKS].y != 0.0f, loss + row);
}
#else
__device__ __forceinline__ void row_by_cluster(const SCALAR*, const long long*, SCALAR*, int) {}
#endif
