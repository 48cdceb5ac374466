// Few long rows, each in the registers of a cluster of blocks, on Hopper: a call takes little longer than a trip to memory.
//
// The loads come first, at addresses that take no division, and the cluster meets while they are under way. Each warp sends
// what it has found to the first block, for which its own need not meet; so does the thread that has the element at the
// label, which nobody asks memory for once more. The grid is (blocks of a cluster, rows).
#pragma once

#include "cross_entropy/short_rows.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

#if __CUDA_ARCH__ >= 900
constexpr int MOST_SENT = 16 * 16;  // warps of a cluster

// What came by st.async, of which the compiler knows nothing.
__device__ __forceinline__ float2 load_sent(const float2* sent) {
    float2 two;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(shared_address(sent)) : "memory");
    return two;
}

// A thread's packs of a row, as far apart as its block has threads; a block's lie behind those of the block before. The
// elements beside the packs are the first block's, one a thread.
template <int PACKS>
struct HeldPart {
    RunWords words;
    int first, threads;
    bool has_edge;
    Bits packs[PACKS];
    float edge = NEGATIVE_INFINITY;

    __device__ __forceinline__ HeldPart(const SCALAR* x, int cols)
        : words(bytes_past(x), cols), first(blockIdx.x * PACKS * blockDim.x + threadIdx.x), threads(blockDim.x),
          has_edge(blockIdx.x == 0 && static_cast<int>(threadIdx.x) < words.edges) {
        const SCALAR* const from = x + words.head + static_cast<long long>(first) * PACK;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) packs[p] = load_pack_where(has(p), from + p * threads * PACK);
        if (has_edge) edge = to_float(x[words.edge_at(threadIdx.x)]);
    }
    __device__ __forceinline__ bool has(int p) const { return first + p * threads < words.packs; }

    __device__ __forceinline__ Statistics statistics() const {
        Statistics mine =
            statistics_of<1>(highest_of(packs), packs, [&](int p, int i) { return i == 0 && p > 0 && !has(p); });
        if (has_edge) {
            const float last[1] = {edge};
            add(mine, last);
        }
        return mine;
    }
    // Whether this thread has the element of a column, which it then gives.
    __device__ __forceinline__ bool find(int column, float& element) const {
        bool found = has_edge && words.edge_at(threadIdx.x) == column;
        if (found) element = edge;
#pragma unroll
        for (int p = 0; p < PACKS; ++p) {
            const int within = column - words.head - (first + p * threads) * PACK;
            if (!has(p) || within < 0 || within >= PACK) continue;
            float values[PACK];
            unpack_words(packs[p], values);
            found = true;
#pragma unroll
            for (int i = 0; i < PACK; ++i) element = i == within ? values[i] : element;
        }
        return found;
    }
};

// What `count` warps have sent, together.
__device__ __forceinline__ Statistics together(const float2* sent, int count) {
    const int lane = threadIdx.x % WARP;
    Statistics mine = {NEGATIVE_INFINITY, 0.0f}, found[MOST_SENT / WARP];
#pragma unroll
    for (int s = 0; s < MOST_SENT / WARP; ++s) {
        found[s] = {NEGATIVE_INFINITY, 0.0f};
        if (s * WARP + lane < count) {
            const float2 two = load_sent(sent + s * WARP + lane);
            found[s] = {two.x, two.y};
        }
        mine.highest = fmaxf(mine.highest, found[s].highest);
    }
#pragma unroll
    for (int s = 0; s < MOST_SENT / WARP; ++s) {
        if (s * WARP < count) mine.total += found[s].total * rescale(found[s].highest, mine.highest);
    }
    return over_warp(mine);
}

template <int PACKS>
__device__ __forceinline__ void row_held_by_cluster(const SCALAR* x, const long long* labels, SCALAR* loss, int cols) {
    __shared__ Barrier met;
    __shared__ float2 of_warps[MOST_SENT], at_label;
    wait_for_previous();
    const unsigned blocks = gridDim.x, row = blockIdx.y, warps = blockDim.x / WARP;
    const bool is_thread_0 = threadIdx.x == 0, makes_barrier = is_thread_0 && blockIdx.x == 0;
    x += static_cast<unsigned long long>(row) * static_cast<unsigned>(cols);
    const long long label = labels[row];
    const HeldPart<PACKS> part(x, cols);
    if (makes_barrier) {
        init_barrier(&met, 2);
        publish_barriers();
    }
    __syncwarp();  // racecheck takes the initialisation for another lane's, where none stands between
    if (makes_barrier) arrive_and_expect(&met, blocks * warps * sizeof(float2));
    __syncwarp();  // a warp arrives as one
    arrive_at_cluster();
    wait_for_cluster();
    let_next_start();

    const bool is_column = static_cast<unsigned long long>(label) < static_cast<unsigned>(cols);
    if (makes_barrier) arrive_and_expect(&met, is_column ? sizeof(float2) : 0);
    const unsigned barrier = address_in(0, &met);
    const Statistics mine = over_warp(part.statistics());
    float element = 0.0f;
    if (is_column && part.find(static_cast<int>(label), element)) {
        send_to(address_in(0, &at_label), float2{element, 0.0f}, barrier);
    }
    if (threadIdx.x % WARP == 0) {
        const unsigned to = address_in(0, of_warps + blockIdx.x * warps + threadIdx.x / WARP);
        send_to(to, float2{mine.highest, mine.total}, barrier);
    }
    if (blockIdx.x > 0 || threadIdx.x >= WARP) return;
    wait_for(&met, 0);
    const Statistics all = together(of_warps, blocks * warps);
    if (!is_thread_0) return;
    element = is_column ? load_sent(&at_label).x : __int_as_float(0x7fffffff);
    store_loss(all, element, label == IGNORED, loss + row);
}
#else
template <int PACKS>
__device__ __forceinline__ void row_held_by_cluster(const SCALAR*, const long long*, SCALAR*, int) {}
#endif
