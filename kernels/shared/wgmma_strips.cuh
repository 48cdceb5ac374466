// C = finish(A B) of at most 32 rows, in 16 bits, where rows of A and B are of whole 16 bytes: B streams through shared memory.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes, of which nearly all are B's.
// Mapping: a strip is COLUMNS columns of B, a step 64 of k. Blocks, one or two a multiprocessor, share all steps of all strips
//   equally, each a run of them that may begin and end amid strips. One warp has TMA fill a deep ring with boxes of B and the
//   piece of A beside them, strip after strip without a pause; warpgroups multiply 64 columns each, or several times 64, as
//   wgmma's first operand, with the rows of A as its second. The block that has a strip's first step adds to its sums those
//   that others have of the strip, in order.
// Idea: tiles of wgmma_matmul.cuh are dealt whole, or shared by the blocks of a cluster: of few rows the last round of them
//   leaves memory idle. Sums that meet in memory carry their flag in the same word of 16 bytes, which is read and written
//   as one: so nobody waits for a fence.
#pragma once

#include "shared/finish.cuh"
#include "shared/overlap.cuh"
#include "shared/strip_shares.cuh"
#include "shared/wgmma_products.cuh"

#define NAMES_4 "%0, %1, %2, %3"
#define NAMES_12 NAMES_8 ", %8, %9, %10, %11"
MULTIPLY_ACROSS(8, 4, "%4", "%5", SUMS_4(0))
MULTIPLY_ACROSS(24, 12, "%12", "%13", SUMS_8(0), SUMS_4(8))

constexpr unsigned long long EVICT_FIRST_POLICY = 0x12F0000000000000;
// A box by a policy of L2.
__device__ __forceinline__ void copy_box_hinted(
    void* to, const CUtensorMap& map, int x, int y, Barrier* barrier, unsigned long long policy
) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)), "l"(&map), "r"(x), "r"(y),
                 "r"(shared_address(barrier)), "l"(policy)
                 : "memory");
}

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

template <int ROWS, int CONSUMERS, int BANDS, int STAGES, bool HINTS, int PIECES, class MakeFinish>
__device__ __forceinline__ void multiply_strips(
    const CUtensorMap& a, const CUtensorMap& b, SCALAR* c, unsigned m, unsigned n, unsigned k, const SharedSums& shared,
    const MakeFinish& make_finish
) {
    constexpr int SUMS = ROWS / 2, OWN = BANDS * BAND;  // of a thread, of a warpgroup
    constexpr int COLUMNS = CONSUMERS * OWN;
    constexpr int BYTES_A = ROWS * ROW, STAGE = BYTES_A + COLUMNS * ROW;
    extern __shared__ __align__(1024) unsigned char stages[];
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES * STAGE);
    Barrier* const empty = full + STAGES;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);

    if (threadIdx.x == CONSUMERS * WARPGROUP) {
        prefetch_map(a);
        prefetch_map(b);
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CONSUMERS);
        }
        publish_barriers();
    }
    StripRuns<COLUMNS> runs(n, (k + STEP_K - 1) / STEP_K);
    __syncthreads();
    wait_for_previous();
    let_next_start();

    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };
    if (warpgroup == CONSUMERS) {
        if (threadIdx.x % WARP > 0) return;
        while (runs.next()) {
            const int bands = static_cast<int>((min(COLUMNS, n - runs.strip * COLUMNS) + BAND - 1) / BAND);
            const int column = static_cast<int>(runs.strip * COLUMNS);
            for (int step = runs.first; step < runs.last; ++step, next_stage()) {
                wait_for(empty + stage, phase ^ 1);
                unsigned char* const to = stages + stage * STAGE;
                arrive_and_expect(full + stage, BYTES_A + bands * (BAND * ROW));
                constexpr int PIECE = STEP_K / PIECES;
#pragma unroll
                for (int piece = 0; piece < PIECES; ++piece) {
                    for (int band = 0; band < bands; ++band) {
                        unsigned char* const box = to + BYTES_A + (band * BAND + piece * PIECE) * ROW;
                        const int x = column + band * BAND, y = step * STEP_K + piece * PIECE;
                        if constexpr (HINTS) copy_box_hinted(box, b, x, y, full + stage, EVICT_FIRST_POLICY);
                        else copy_box(box, b, x, y, full + stage);
                    }
                }
                if constexpr (HINTS) copy_box_hinted(to, a, step * STEP_K, 0, full + stage, EVICT_LAST_POLICY);
                else copy_box(to, a, step * STEP_K, 0, full + stage);
            }
        }
        return;
    }
    const auto finish = make_finish();
    const auto release = [&](int stage) {
        if (threadIdx.x % WARPGROUP == 0) arrive(empty + stage);
    };
    while (runs.next()) {
        const unsigned column = runs.strip * COLUMNS + warpgroup * OWN;
        if (threadIdx.x % WARPGROUP < BANDS) ask_for_columns(finish, static_cast<int>(column + threadIdx.x % WARPGROUP * BAND));
        float sum[BANDS][SUMS] = {};
        int before = 0;
        for (int step = runs.first; step < runs.last; ++step, next_stage()) {
            wait_for(full + stage, phase);
            const unsigned char* const from = stages + stage * STAGE;
            const unsigned long long tile_a = swizzled_tile(from, ATOM, 0);
            begin_products();
#pragma unroll
            for (int slice = 0; slice < 4; ++slice) {
#pragma unroll
                for (int band = 0; band < BANDS; ++band) {
                    const unsigned char* const own = from + BYTES_A + (warpgroup * BANDS + band) * (BAND * ROW);
                    const unsigned long long tile_b = swizzled_tile(own, ATOM, BAND * ROW);
                    multiply_across(sum[band], tile_b + slice * (16 * ROW / 16), tile_a + slice * 2);
                }
            }
            commit_products();
            wait_for_products<1>();
            if (step > runs.first) release(before);
            before = stage;
        }
        wait_for_products<0>();
        release(before);
#pragma unroll
        for (int band = 0; band < BANDS; ++band) {
            settle(sum[band]);
            const unsigned of_band = warpgroup * BANDS + band, column0 = column + band * BAND;
            if (column0 >= n) continue;
            constexpr unsigned IN_STRIP = CONSUMERS * BANDS;
            if (runs.first > 0) {
                shared.leave(sum[band], runs.place() * IN_STRIP + of_band);
                continue;
            }
            if (runs.last < runs.steps) {
                shared.add(sum[band], runs.sharers(), [&](unsigned other) { return (runs.place() + 1 + other) * IN_STRIP + of_band; });
            }
            store_strip(sum[band], c, m, n, column0, finish);
        }
    }
}

#define STRIPS_KERNEL(NAME, ROWS, CONSUMERS, BANDS, STAGES, BLOCKS, HINTS, PIECES, FINISH, ...)                    \
    extern "C" __global__ void __launch_bounds__(CONSUMERS * WARPGROUP + WARP, BLOCKS)                            \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, SCALAR* c,             \
             long long m, long long n, long long k, ulonglong2* sums, unsigned long long ticket, ##__VA_ARGS__) { \
        multiply_strips<ROWS, CONSUMERS, BANDS, STAGES, HINTS, PIECES>(                                           \
            a, b, c, static_cast<unsigned>(m), static_cast<unsigned>(n), static_cast<unsigned>(k),                \
            SharedSums{sums, ticket}, [&] { return FINISH; });                                                    \
    }
