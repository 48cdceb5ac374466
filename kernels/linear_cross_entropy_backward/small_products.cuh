// The products of products.cuh by tiles of 64 x 64, each by a block alone: where pairs of blocks have few large ones.
#pragma once

#include "shared/wgmma_tiles.cuh"

constexpr int LEAST_TILE = 64, LEAST_STAGES = 8;  // as in products.py

// sum (64 x 64) += a b: rows of b lie across what is summed, and where A_ACROSS those of a too.
template <bool A_ACROSS>
__device__ __forceinline__ void multiply_small_across(float (&sum)[32], unsigned long long a, unsigned long long b) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64" PRODUCTS " {" NAMES_32 "}, %32, %33, add, 1, 1, %34, 1;\n}"
                 : SUMS_32(0)
                 : "l"(a), "l"(b), "n"(static_cast<int>(A_ACROSS)));
}

// C (m x n) = A B of k steps' elements. Rows of C are multiplied by their `scales`, if there are any.
template <bool A_ACROSS>
__device__ __forceinline__ void multiply_small_d(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, long long m, long long n, long long k,
    const float* scales, SCALAR* loose_c
) {
    using SmallRing = Ring<1, LEAST_TILE, LEAST_STAGES>;
    extern __shared__ __align__(1024) unsigned char stages[];
    SmallRing ring(stages, 0);
    const TilesOfMatrix<LEAST_TILE, LEAST_TILE> tiles(m, n, 0);
    const int steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
    wait_for_previous();
    let_next_start();
    if (__shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0) == 1) {
        if (threadIdx.x % WARPGROUP) return;
        for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
            const auto at = tiles.at(tile);
            for (int step = 0; step < steps; ++step, ring.advance()) {
                Barrier* const full = ring.full + ring.stage;
                unsigned char* const to = stages + ring.stage * SmallRing::STAGE;
                wait_for(ring.empty + ring.stage, ring.phase ^ 1);
                arrive_and_expect(full, SmallRing::STAGE);
                if constexpr (A_ACROSS) copy_box(to, a, at.row, step * STEP_K, full);
                else copy_box(to, a, step * STEP_K, at.row, full);
                copy_box(to + SmallRing::BYTES_A, b, at.in_b, step * STEP_K, full);
            }
        }
        return;
    }
    unsigned stored = 0;
    for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
        float sum[LEAST_TILE / 2] = {};
        int before = 0;
        for (int step = 0; step < steps; ++step, ring.advance()) {
            wait_for(ring.full + ring.stage, ring.phase);
            const unsigned char* const from = stages + ring.stage * SmallRing::STAGE;
            const unsigned long long tile_a = swizzled_tile(from, ATOM, 0);
            const unsigned long long tile_b = swizzled_tile(from + SmallRing::BYTES_A, ATOM, 0);
            begin_products();
#pragma unroll
            for (int part = 0; part < 4; ++part) {
                constexpr int ACROSS = 16 * ROW / 16;
                multiply_small_across<A_ACROSS>(sum, tile_a + part * (A_ACROSS ? ACROSS : 2), tile_b + part * ACROSS);
            }
            commit_products();
            wait_for_products<1>();
            if (step > 0) ring.release(before);
            before = ring.stage;
        }
        wait_for_products<0>();
        settle(sum);
        if (steps > 0) ring.release(before);
        const auto at = tiles.at(tile);
        if (scales) scale_rows_of(sum, scales, at.row, m);
        const Loose loose{loose_c, static_cast<unsigned>(m), static_cast<unsigned>(n)};
        store_tile(sum, c, ring.boxes_of(0), stored, at.row, at.in_b, as_they_are, loose);
    }
    if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
}

#define MULTIPLY_SMALL_D(NAME, A_ACROSS)                                                                          \
    extern "C" __global__ void __launch_bounds__(2 * WARPGROUP, 1)                                                \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, long long m, long long n, long long k, const float* scales,   \
             SCALAR* loose) {                                                                                     \
        multiply_small_d<A_ACROSS>(a, b, c, m, n, k, scales, loose);                                              \
    }
MULTIPLY_SMALL_D(small_dx, false)
MULTIPLY_SMALL_D(small_dw, true)
