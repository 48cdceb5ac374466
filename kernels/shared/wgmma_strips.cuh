// C = finish(A B) of at most 32 rows, in 16 bits, where rows of A and B are of whole 16 bytes: B streams through shared memory.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes, of which nearly all are B's.
// Mapping: a block has 64 or 128 columns of a strip of B, a cluster the strip, a step is 64 of k. All clusters share the
//   steps of all strips equally, each a run of them that may begin and end amid strips. One warp has TMA fill a deep ring with
//   boxes of B, strip after strip without a pause; A's piece of a step goes to all blocks of the cluster at once, from each
//   of them in turn. Warpgroups multiply 64 columns each as wgmma's first operand, with the rows of A as its second. The
//   block that has a strip's first step adds to its sums those that others have of the strip, in order.
//   Or each strip has as many shares as any, of which one needs no sums of others: a smaller ring has two or three blocks
//   on a multiprocessor, so that there may be more strips than multiprocessors, and starts while the launch before it ends.
// Idea: tiles of wgmma_matmul.cuh are dealt whole, or shared by the blocks of a cluster: of few rows the last round of them
//   leaves memory idle. Where rows of B begin amid lines, a box brings bytes of its neighbours: as the blocks of a
//   cluster wait for the same A, they go in step, and these come from L2. Sums that meet in memory carry their flag in the
//   same word of 16 bytes, which is read and written as one: so nobody waits for a fence.
#pragma once

#include "shared/finish.cuh"
#include "shared/overlap.cuh"
#include "shared/strip_shares.cuh"
#include "shared/wgmma_products.cuh"

// 64 columns of C from sums across: a thread and that of the next column each give one row for another, so that both have pairs.
template <int COUNT, class Finish>
__device__ __forceinline__ void store_strip(
    const float (&sum)[COUNT], SCALAR* c, unsigned m, unsigned n, unsigned column0, const Finish& finish
) {
    const unsigned lane = threadIdx.x % WARP, is_odd = lane / 4 % 2;
    const unsigned first = column0 + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4 - is_odd;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const unsigned column = first + half * 8;
        const auto& of_column = for_columns<1>(finish, static_cast<int>(min(column, n - 2)));
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            const float upper = sum[i + half * 2], lower = sum[i + half * 2 + 1];
            const float given = __shfl_xor_sync(WHOLE_WARP, is_odd ? upper : lower, 4);
            const float2 sums = is_odd ? make_float2(given, lower) : make_float2(upper, given);
            const unsigned row = i * 2 + lane % 4 * 2 + is_odd;
            if (row >= m || column >= n) continue;
            const float2 pair = finish_pair(of_column, sums, static_cast<int>(column), 0);
            from_floats(pair.x, pair.y, c + (row * static_cast<unsigned long long>(n) + column));
        }
    }
}

// A ring of stages, each with a piece of A behind which lie the bands of B. That of A comes from one block of the cluster, which
// waits until all have room for it.
template <int ROWS, int CONSUMERS, int STAGES>
struct StripRing {
    static constexpr int BYTES_A = ROWS * ROW, BYTES_BAND = BAND * ROW;
    static constexpr int STAGE = BYTES_A + CONSUMERS * BYTES_BAND;
    unsigned char* stages;
    int stage = 0;
    unsigned phase = 0;

    __device__ __forceinline__ Barrier* full() const {
        return reinterpret_cast<Barrier*>(stages + STAGES * STAGE) + stage;
    }
    __device__ __forceinline__ Barrier* empty() const { return full() + STAGES; }
    __device__ __forceinline__ unsigned char* here() const { return stages + stage * STAGE; }
    // A cluster has a power of two of blocks.
    __device__ __forceinline__ unsigned leader() const { return stage & (blocks_of_cluster() - 1); }
    __device__ __forceinline__ void next() {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    __device__ __forceinline__ void set_up() {
        for (; stage < STAGES; ++stage) {
            init_barrier(full(), 1);
            init_barrier(empty(), CONSUMERS * (leader() == rank_in_cluster() ? blocks_of_cluster() : 1));
        }
        publish_barriers();
    }
    // By two threads of a warpgroup.
    __device__ __forceinline__ void release() const {
        const unsigned thread = threadIdx.x % WARPGROUP;
        if (thread == 0) arrive(empty());
        if (thread == 1 && leader() != rank_in_cluster()) arrive_at(empty(), leader());
    }
    __device__ __forceinline__ void fill(
        const CUtensorMap& a, const CUtensorMap& b, int column, int bands, int along_k
    ) const {
        wait_for(empty(), phase ^ 1);
        unsigned char* const to = here();
        arrive_and_expect(full(), BYTES_A + bands * BYTES_BAND);
        if (leader() == rank_in_cluster()) {
            const unsigned blocks = blocks_of_cluster();
            if (blocks == 1) copy_box_hinted(to, a, along_k, 0, full(), EVICT_LAST_POLICY);
            else copy_box_to((1u << blocks) - 1, to, a, along_k, 0, full());
        }
        for (int band = 0; band < bands; ++band) {
            unsigned char* const box = to + BYTES_A + band * BYTES_BAND;
            copy_box_hinted(box, b, column + band * BAND, along_k, full(), EVICT_FIRST_POLICY);
        }
    }
};

template <int ROWS, int CONSUMERS, int STAGES, int BESIDE, class MakeFinish>
__device__ __forceinline__ void multiply_strips(
    const CUtensorMap& a, const CUtensorMap& b, SCALAR* c, unsigned m, unsigned n, unsigned k, const SharedSums& shared,
    const MakeFinish& make_finish
) {
    constexpr int SUMS = ROWS / 2, COLUMNS = CONSUMERS * BAND;  // of a thread, of a block
    using Ring = StripRing<ROWS, CONSUMERS, STAGES>;
    extern __shared__ __align__(1024) unsigned char stages[];
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    const unsigned blocks = blocks_of_cluster(), rank = rank_in_cluster();

    if (threadIdx.x == CONSUMERS * WARPGROUP) {
        prefetch_map(a);
        prefetch_map(b);
        Ring{stages}.set_up();
    }
    __syncwarp();
    if (blocks > 1) arrive_at_cluster();
    StripRuns runs(n, CONSUMERS, (k + STEP_K - 1) / STEP_K);
    Ring ring{stages};
    __syncthreads();
    if (blocks > 1) wait_for_cluster();
    wait_for_previous();
    let_next_start();

    if (warpgroup == CONSUMERS) {
        while (threadIdx.x % WARP == 0 && runs.next()) {
            const int column = static_cast<int>((runs.strip * blocks + rank) * COLUMNS);
            const int left = static_cast<int>(n) - column;
            const int bands = max(min(left + BAND - 1, COLUMNS), 0) / BAND;
            for (int step = runs.first; step < runs.last; ++step, ring.next())
                ring.fill(a, b, column, bands, step * STEP_K);
        }
        __syncwarp();
    } else {
        const auto finish = make_finish();
        while (runs.next()) {
            const unsigned column = (runs.strip * blocks + rank) * COLUMNS + warpgroup * BAND;
            if (threadIdx.x % WARPGROUP == 0) ask_for_columns(finish, static_cast<int>(column));
            float sum[SUMS] = {};
            Ring before = ring;
            for (int step = runs.first; step < runs.last; ++step, ring.next()) {
                wait_for(ring.full(), ring.phase);
                const unsigned char* const own = ring.here() + Ring::BYTES_A + warpgroup * Ring::BYTES_BAND;
                const unsigned long long tile_a = swizzled_tile(ring.here(), ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(own, ATOM, BAND * ROW);
                begin_products();
#pragma unroll
                for (int slice = 0; slice < 4; ++slice) {
                    multiply_across(sum, tile_b + slice * (16 * ROW / 16), tile_a + slice * 2);
                }
                commit_products();
                wait_for_products<1>();
                if (step > runs.first) before.release();
                before = ring;
            }
            wait_for_products<0>();
            before.release();
            settle(sum);
            if (column >= n) continue;
            const auto index_at = [&](unsigned place) { return (place * blocks + rank) * CONSUMERS + warpgroup; };
            if (runs.first > 0) {
                shared.leave(sum, index_at(runs.place()));
                continue;
            }
            if (runs.last < runs.steps) {
                const auto index_of = [&](unsigned other) { return index_at(runs.place() + 1 + other); };
                // Blocks beside each other have fewer registers each.
                shared.add<(BESIDE > 1 ? 12 : 24)>(sum, runs.sharers(), index_of);
            }
            store_strip(sum, c, m, n, column, finish);
        }
        __syncwarp();
    }
    // No block may leave while another still arrives at its barriers.
    if (blocks > 1) meet_cluster();
}

// BESIDE: blocks of a multiprocessor, where its shared memory has room for so many rings.
#define STRIPS_KERNEL(ROWS, COLUMNS, STAGES, BESIDE, FINISH, ...)                                             \
    extern "C" __global__ void __launch_bounds__(COLUMNS / BAND * WARPGROUP + WARP, BESIDE)                   \
        strips_##ROWS##x##COLUMNS##_##STAGES(                                                                 \
            const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, SCALAR* c,          \
            long long m, long long n, long long k, ulonglong2* sums, unsigned long long ticket, ##__VA_ARGS__ \
        ) {                                                                                                   \
        multiply_strips<ROWS, COLUMNS / BAND, STAGES, BESIDE>(                                                \
            a, b, c, static_cast<unsigned>(m), static_cast<unsigned>(n), static_cast<unsigned>(k),            \
            SharedSums{sums, ticket}, [&] { return FINISH; });                                                \
    }
#define STRIPS_KERNELS(...)                    \
    STRIPS_KERNEL(8, 64, 16, 1, __VA_ARGS__)   \
    STRIPS_KERNEL(16, 64, 16, 1, __VA_ARGS__)  \
    STRIPS_KERNEL(24, 64, 16, 1, __VA_ARGS__)  \
    STRIPS_KERNEL(32, 64, 16, 1, __VA_ARGS__)  \
    STRIPS_KERNEL(8, 64, 8, 3, __VA_ARGS__)    \
    STRIPS_KERNEL(16, 64, 8, 3, __VA_ARGS__)   \
    STRIPS_KERNEL(24, 64, 8, 3, __VA_ARGS__)   \
    STRIPS_KERNEL(32, 64, 8, 3, __VA_ARGS__)   \
    STRIPS_KERNEL(8, 128, 10, 1, __VA_ARGS__)  \
    STRIPS_KERNEL(16, 128, 10, 1, __VA_ARGS__) \
    STRIPS_KERNEL(24, 128, 10, 1, __VA_ARGS__) \
    STRIPS_KERNEL(32, 128, 10, 1, __VA_ARGS__)
