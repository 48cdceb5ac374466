// The two products with the gradient of logits, d (rows x columns): dx = d w and dw = d^T x, by TMA and wgmma (sm_90a).
//
// wgmma transposes w and x, and d for dw, as they lie in shared memory. The tiles and the ring are those of
// shared/wgmma_tiles.cuh, by clusters of two. Where the last round of the grid would be filled in part, all clusters share
// its tiles equally: shared/tile_shares.cuh. Where these are few, blocks have small ones: small_products.cuh.
#pragma once

#include "shared/wgmma_tiles.cuh"

constexpr int CONSUMERS = 2, BLOCK_M = 128, BLOCK_N = 256, STAGES = 4, CLUSTER = 2;  // as in products.py
constexpr int BAND_BYTES = BAND * ROW;                                               // of 64 columns of a step

using Tiles = TilesOfMatrix<BLOCK_M, BLOCK_N, CLUSTER>;
using Steps = Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER>;

// Of a thread in a warpgroup's 64 rows: the first of its two rows, and where its sum number i lies in the tile.
__device__ __forceinline__ int own_row() { return threadIdx.x % WARPGROUP / WARP * 16 + threadIdx.x % WARP / 4; }
__device__ __forceinline__ int column_of(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

template <int COUNT>
__device__ __forceinline__ void hide_beyond(float (&logits)[COUNT], int left) {
    if (left >= COUNT * 2) return;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        if (column_of(i) >= left) logits[i] = NEGATIVE_INFINITY;
    }
}

__device__ __forceinline__ float2 as_they_are(float2 sums, int) { return sums; }

// sum (64 x 256) += a b: rows of b lie across what is summed, and where A_ACROSS those of a too.
template <bool A_ACROSS>
__device__ __forceinline__ void multiply_across(float (&sum)[128], unsigned long long a, unsigned long long b) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256" PRODUCTS " {" NAMES_128 "}, %128, %129, add, 1, 1, %130, 1;\n}"
                 : SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)
                 : "l"(a), "l"(b), "n"(static_cast<int>(A_ACROSS)));
}

// The sums of a warpgroup's part of a tile, 16 bytes of each thread side by side.
template <bool STORES>
__device__ __forceinline__ void exchange(float (&sum)[128], float* sums, long long tile, int warpgroup) {
    float4* const at =
        reinterpret_cast<float4*>(sums) + (tile * CONSUMERS + warpgroup) * 32 * WARPGROUP + threadIdx.x % WARPGROUP;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        if constexpr (STORES) {
            at[i * WARPGROUP] = make_float4(sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]);
        } else {
            const float4 four = at[i * WARPGROUP];
            sum[4 * i] += four.x, sum[4 * i + 1] += four.y, sum[4 * i + 2] += four.z, sum[4 * i + 3] += four.w;
        }
    }
}

template <int COUNT>
__device__ __forceinline__ void scale_rows_of(float (&sum)[COUNT], const float* scales, int top, long long rows) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = top + threadIdx.x % WARPGROUP / WARP * 16 + threadIdx.x % WARP / 4 + half * 8;
        const float scale = row < rows ? scales[row] : 0.0f;
#pragma unroll
        for (int i = half * 2; i < COUNT; i += 4) sum[i] *= scale, sum[i + 1] *= scale;
    }
}

// C (m x n) = A B of k steps' elements, with `sums` added where `adds`, and left there instead where `keeps`. Clusters take
// the first `alone` tiles one by one, and share the others by way of `parts`. Rows of C are multiplied by their `scales`, if
// there are any.
template <bool A_ACROSS>
__device__ __forceinline__ void multiply_d(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, float* sums, long long m, long long n,
    long long k, bool adds, bool keeps, const float* scales, const TileParts& parts, unsigned alone, SCALAR* loose_c
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    Steps ring(stages, rank_among<CLUSTER>());
    const auto own_warpgroup = [] { return __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0); };
    const int steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
    wait_for_previous();
    if (own_warpgroup() == CONSUMERS) {
        give_registers<40>();
        if (threadIdx.x % WARPGROUP == 0) {
            const Tiles tiles(m, n, ring.rank);
            Turns<CLUSTER, EQUAL> turns(tiles.count(), steps, alone);
            while (turns.next()) {
                const auto at = tiles.at(turns.tile);
                for (int step = turns.first; step < turns.last; ++step, ring.advance()) {
                    Barrier* const full = ring.full + ring.stage;
                    unsigned char* const to = stages + ring.stage * Steps::STAGE;
                    wait_for(ring.empty + ring.stage, ring.phase ^ 1);
                    arrive_and_expect(full, Steps::STAGE);
                    if constexpr (A_ACROSS) {
#pragma unroll
                        for (int i = 0; i < CONSUMERS; ++i)
                            copy_box(to + i * BAND_BYTES, a, at.row + i * 64, step * STEP_K, full);
                    } else {
                        copy_box(to, a, step * STEP_K, at.row, full);
                    }
#pragma unroll
                    for (int i = 0; i < BLOCK_N / BAND / CLUSTER; ++i) {
                        const int band = ring.rank * (BLOCK_N / BAND / CLUSTER) + i;
                        unsigned char* const to_b = to + Steps::BYTES_A + band * BAND_BYTES;
                        copy_box_to((1 << CLUSTER) - 1, to_b, b, at.in_b + band * BAND, step * STEP_K, full);
                    }
                }
            }
        }
    } else {
        take_registers<232>();
        const int warpgroup = own_warpgroup();  // again, or it waits on the stack
        const Tiles tiles(m, n, ring.rank);
        Turns<CLUSTER, EQUAL> turns(tiles.count(), steps, alone);
        unsigned stored = 0;
        while (turns.next()) {
            float sum[BLOCK_N / 2] = {};
            int before = 0;
            for (int step = turns.first; step < turns.last; ++step, ring.advance()) {
                wait_for(ring.full + ring.stage, ring.phase);
                const unsigned char* const from = stages + ring.stage * Steps::STAGE;
                const unsigned long long tile_a =
                    swizzled_tile(from + warpgroup * (A_ACROSS ? BAND_BYTES : 64 * ROW), ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + Steps::BYTES_A, ATOM, BAND_BYTES);
                begin_products();
#pragma unroll
                for (int part = 0; part < 4; ++part) {
                    constexpr int ACROSS = 16 * ROW / 16;
                    multiply_across<A_ACROSS>(sum, tile_a + part * (A_ACROSS ? ACROSS : 2), tile_b + part * ACROSS);
                }
                commit_products();
                wait_for_products<1>();
                if (step > turns.first) ring.release(before);
                before = ring.stage;
            }
            wait_for_products<0>();
            settle(sum);
            if (turns.last > turns.first) ring.release(before);
            const auto index = [&](unsigned share) { return (share * CLUSTER + ring.rank) * CONSUMERS + warpgroup; };
            if (turns.first > 0) {
                parts.leave(sum, index(turns.place()), warpgroup);
                continue;
            }
            if (turns.last < steps) {
                for (unsigned other = turns.place() + 1; turns.begin_of(other) < turns.end_of_tile(); ++other) {
                    if (turns.begin_of(other) < turns.begin_of(other + 1)) parts.add(sum, index(other), warpgroup);
                }
            }
            const auto at = tiles.at(turns.tile);
            const long long place = 1ll * (at.row / BLOCK_M) * tiles.columns + at.in_b / BLOCK_N;
            if (scales) scale_rows_of(sum, scales, at.row + warpgroup * 64, m);
            if (adds) exchange<false>(sum, sums, place, warpgroup);
            if (keeps) exchange<true>(sum, sums, place, warpgroup);
            else {
                const Loose loose{loose_c, static_cast<unsigned>(m), static_cast<unsigned>(n)};
                store_tile(
                    sum, c, ring.boxes_of(warpgroup), stored, at.row + warpgroup * 64, at.in_b, as_they_are, loose
                );
            }
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    meet_cluster();
}

#define MULTIPLY_D(NAME, A_ACROSS)                                                                                \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, float* __restrict__ sums, long long m, long long n,           \
             long long k, long long adds, long long keeps, const float* scales, float* parts, Flag* flags,        \
             Flag ticket, long long alone, SCALAR* loose) {                                                       \
        multiply_d<A_ACROSS>(                                                                                     \
            a, b, c, sums, m, n, k, adds, keeps, scales, TileParts{parts, flags, ticket},                         \
            static_cast<unsigned>(alone), loose                                                                   \
        );                                                                                                        \
    }
MULTIPLY_D(add_to_dx, false)
MULTIPLY_D(make_dw, true)

#include "linear_cross_entropy_backward/small_products.cuh"

WHOLE_ROWS_KERNEL
