// Tiles of 64 rows that two warpgroups multiply in turns, so that one's stores hide behind the other's products.
//
// Mapping: as in cuda_wgmma.cu, but a block's tiles are dealt to its two warpgroups to and fro, each with a whole tile's sums.
//   The ring has the stages of all tiles in their order; who passes a tile over passes its stages over, and begins when the
//   other has seen its last: a wait two phases ahead would mistake one phase for another.
// Idea: CUTLASS's "pingpong" kernels.
#pragma once

#include "grouped_matmul/runs.cuh"

constexpr int TURNS = 2;  // warpgroups

template <int BLOCK_N, int STAGES>
__device__ __forceinline__ void multiply_runs_in_turns(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& to, SCALAR* c, const int* offsets, long long tokens,
    long long experts, long long n, long long k, bool is_loose
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    const int steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
    Ring<1, BLOCK_N, STAGES> ring(stages, 0);
    static_assert(2 * STAGES * sizeof(Barrier) <= 1024);  // they lie between the boxes of the two
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    wait_for_previous();
    let_next_start();
    TilesOfRuns<64, BLOCK_N, 1> tiles(offsets, experts, tokens, n, 0);
    const unsigned count = tiles.count();
    if (warpgroup == TURNS) {
        give_registers<40>();
        if (threadIdx.x % WARPGROUP < WARP) fill_for_tiles<1>(ring, a, b, steps, tiles, count);
        return;
    }
    take_registers<232>();
    unsigned char* const boxes = ring.boxes_of(warpgroup) + warpgroup * 1024;
    const Loose loose{is_loose ? c : nullptr, static_cast<unsigned>(tokens), static_cast<unsigned>(n)};
    unsigned stored = 0;
    int turn = 0;
    if (warpgroup == 1 && blockIdx.x < count) give_turn(warpgroup ^ 1);
    for (unsigned tile = blockIdx.x; tile < count; tile += gridDim.x, turn ^= 1) {
        if (turn != warpgroup) {
            ring.pass(steps);
            continue;
        }
        const RunPosition at = tiles.at(tile);
        const bool goes_on = count - tile > gridDim.x;
        float sum[BLOCK_N / 2] = {};
        wait_for_turn(warpgroup);
        ring.add_products(sum, steps, 0, [&](int step, unsigned char*) {
            if (step == steps - 1 && goes_on) give_turn(warpgroup ^ 1);
        });
        if (steps == 0 && goes_on) give_turn(warpgroup ^ 1);
        const auto as_they_are = [](float2 sums, int) { return sums; };
        if (at.end - at.row >= 64) store_tile(sum, to, boxes, stored, at.row, at.column, as_they_are, loose);
        else store_rows(sum, c, n, loose, boxes, stored, at.row, at.column, at.end - at.row, warpgroup);
    }
    if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
}

#define MULTIPLY_RUNS_IN_TURNS(NAME, BLOCK_N, STAGES)                                                             \
    extern "C" __global__ void __launch_bounds__((TURNS + 1) * WARPGROUP, 1)                                      \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap to, SCALAR* __restrict__ c, const int* __restrict__ offsets,     \
             long long tokens, long long experts, long long n, long long k, long long is_loose) {                 \
        multiply_runs_in_turns<BLOCK_N, STAGES>(a, b, to, c, offsets, tokens, experts, n, k, is_loose);           \
    }
MULTIPLY_RUNS_IN_TURNS(turns_64x256, 256, 4)
MULTIPLY_RUNS_IN_TURNS(turns_64x192, 192, 5)
MULTIPLY_RUNS_IN_TURNS(turns_64x128, 128, 7)
MULTIPLY_RUNS_IN_TURNS(turns_64x64, 64, 8)
