// dx of few rows from rows of w that begin anywhere, as they lie.
//
// Mapping: that of few_rows.cuh, but for what brings w: each of one or two warpgroups has 64 of its rows in a step, as
//   shared/loose_ring.cuh says, of which wgmma takes 64 at a time. TMA brings d to the same stages.
#pragma once

#include "linear_cross_entropy_training/few_rows.cuh"
#include "shared/loose_ring.cuh"

// Beside many sums registers are left for one.
__device__ constexpr int loose_warpgroups(int rows) { return rows > 128 ? 1 : 2; }

template <int ROWS, int STAGES_HERE>
__device__ __forceinline__ void multiply_d_by_loose(
    const CUtensorMap& d, const LooseMatrix& w, float* parts, int rows, long long steps
) {
    constexpr int WARPGROUPS = FEW_COLUMNS / 64, SUBS = loose_warpgroups(ROWS), DEEP = SUBS * STEP_K;
    constexpr int OF_BAND = DEEP * ROW, THREADS = SUBS * WARPGROUP, LANES = FEW_COLUMNS / 8;
    constexpr int BYTES_W = WARPGROUPS * OF_BAND, BYTES_D = ROWS * ROW, STAGE = BYTES_W + SUBS * BYTES_D;
    using RowsOfW = LooseRows<DEEP / (THREADS / LANES), LANES, THREADS>;
    extern __shared__ __align__(1024) unsigned char stages[];
    Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES_HERE * STAGE);
    Barrier* const empty = full + STAGES_HERE;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES_HERE; ++i) {
            init_barrier(full + i, THREADS / WARP * ARRIVALS_OF_WARP + 1);
            init_barrier(empty + i, WARPGROUPS);
        }
        publish_barriers();
    }
    __syncthreads();
    const int column0 = blockIdx.x * FEW_COLUMNS;
    const int first = static_cast<int>(steps * blockIdx.y / gridDim.y);
    const int last = static_cast<int>(steps * (blockIdx.y + 1) / gridDim.y);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    int stage = 0;
    unsigned phase = 0;
    const auto advance = [&] {
        if (++stage == STAGES_HERE) stage = 0, phase ^= 1;
    };
    wait_for_previous();
    let_next_start();
    constexpr int OF_CONSUMERS = ROWS > 64 ? 112 : 80, OF_PRODUCERS = ROWS > 64 ? 144 : 168;  // of registers
    if (warpgroup >= WARPGROUPS) {
        if constexpr (SUBS == 2) take_registers<OF_PRODUCERS>();
        const int thread = threadIdx.x - WARPGROUPS * WARPGROUP, left = w.columns - column0;
        const unsigned past = RowsOfW::past_of(w, thread);
        const auto store = [&](const RowsOfW& some, int step) {
            unsigned char* const to = stages + stage * STAGE;
            wait_for(empty + stage, phase ^ 1);
            if (thread == 0) {
                arrive_and_expect(full + stage, SUBS * BYTES_D);
#pragma unroll
                for (int sub = 0; sub < SUBS; ++sub) {
                    copy_box(to + BYTES_W + sub * BYTES_D, d, step * DEEP + sub * STEP_K, 0, full + stage);
                }
            }
            some.template store<true>(to, OF_BAND, thread, past, left, DEEP);
            publish_writes();
            __syncwarp();
            if (arrives_for_warp(thread % WARP)) arrive(full + stage);
            advance();
        };
        RowsOfW one, other;
        if (first < last) one.load(w, thread, first * DEEP, column0);
        for (int step = first; step < last; step += 2) {
            if (step + 1 < last) other.load(w, thread, (step + 1) * DEEP, column0);
            store(one, step);
            if (step + 1 == last) break;
            if (step + 2 < last) one.load(w, thread, (step + 2) * DEEP, column0);
            store(other, step + 1);
        }
        return;
    }
    if constexpr (SUBS == 2) give_registers<OF_CONSUMERS>();
    float sum[ROWS / 2] = {};
    settle(sum);
    int before = 0;
    for (int step = first; step < last; ++step, advance()) {
        wait_for(full + stage, phase);
        const unsigned char* const from = stages + stage * STAGE;
        begin_products();
#pragma unroll
        for (int sub = 0; sub < SUBS; ++sub) {
            const unsigned long long of_w = swizzled_tile(from + warpgroup * OF_BAND + sub * (STEP_K * ROW), ATOM, 0);
            const unsigned long long of_d = swizzled_tile(from + BYTES_W + sub * BYTES_D, ATOM, 0);
#pragma unroll
            for (int i = 0; i < 4; ++i) multiply_few(sum, of_w + i * (16 * ROW / 16), of_d + i * 2);
        }
        commit_products();
        wait_for_products<1>();
        if (step > first && threadIdx.x % WARPGROUP == 0) arrive(empty + before);
        before = stage;
    }
    wait_for_products<0>();
    settle(sum);
    leave_part(sum, parts, column0, rows, w.columns);
}

#define LOOSE_DX_OF_FEW(ROWS, STAGES_HERE)                                                                        \
    extern "C" __global__ void __launch_bounds__((FEW_COLUMNS / 64 + loose_warpgroups(ROWS)) * WARPGROUP, 1) loose_dx_of_few_##ROWS(   \
        const __grid_constant__ CUtensorMap d, const unsigned short* __restrict__ w, float* __restrict__ parts,   \
        long long rows, long long hidden, long long steps, long long vocab                                        \
    ) {                                                                                                           \
        const LooseMatrix of_w{w, static_cast<int>(vocab), static_cast<int>(hidden)};                             \
        multiply_d_by_loose<ROWS, STAGES_HERE>(d, of_w, parts, static_cast<int>(rows), steps);                    \
    }
LOOSE_DX_OF_FEW(16, 5)
LOOSE_DX_OF_FEW(32, 5)
LOOSE_DX_OF_FEW(64, 4)
LOOSE_DX_OF_FEW(128, 3)
LOOSE_DX_OF_FEW(256, 4)
