// A product of scaled blocks in FP8 (E4M3) on Hopper's tensor cores by TMA and wgmma (sm_90a only), bfloat16 out.
//
// Formula: C[i, j] = sum over blocks t of scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j, l]);
//   2 m n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh in the parts of shared/wgmma_tiles.cuh. A step along k is a block: its
//   product begins at 0, leaves the accumulators, of which some 14 bits count, and is scaled and added up in float32.
//   Two sets of sums take the registers of twice as many columns, so a tile has 128, which share a scale of B. While
//   one warpgroup adds up, the tensor cores work for the other.
// Idea: matmul_fp8/cuda_wgmma, whose sums stay in the accumulators for all of k, with sums of its own: DeepGEMM; see
//   shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define MULTIPLIES_FP8
#include "shared/wgmma_tiles.cuh"

constexpr int BLOCK = 128;  // of k and n, with one scale

// product (64 x 128) = a b, whatever it was.
__device__ __forceinline__ void multiply_fresh(float (&sum)[64], unsigned long long a, unsigned long long b) {
    asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128" PRODUCTS " {" NAMES_64 "}, %64, %65, add, 1, 1;\n}"
                 : SUMS_32(0), SUMS_32(32)
                 : "l"(a), "l"(b));
}

template <int CONSUMERS, int STAGES, int CLUSTER>
__device__ __forceinline__ void multiply_blocks(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, const float* scale_a, const float* scale_b,
    long long m, long long n, long long k
) {
    using Tiles = TilesOfMatrix<CONSUMERS * 64, BLOCK, CLUSTER>;
    const Tiles tiles(m, n, rank_among<CLUSTER>());
    const int steps = static_cast<int>((k + BLOCK - 1) / BLOCK);
    const auto compute = [&](Ring<CONSUMERS, BLOCK, STAGES, CLUSTER>& ring, const typename Tiles::Position& at,
                             unsigned& stored, int warpgroup) {
        // This thread's rows g and g + 8 of its warp's 16; those beyond the last have its scale, and are not stored.
        const int first = at.row + warpgroup * 64 + threadIdx.x % WARPGROUP / WARP * 16 + threadIdx.x % WARP / 4;
        const float* low = scale_a + min(static_cast<long long>(first), m - 1);
        const float* high = scale_a + min(static_cast<long long>(first) + 8, m - 1);
        const float* of_b = scale_b + static_cast<long long>(at.in_b / BLOCK) * steps;
        const auto load = [&](float (&scales)[3]) { scales[0] = *low, scales[1] = *high, scales[2] = *of_b; };
        float scales[3] = {};
        if (steps > 0) load(scales);
        float sum[64] = {}, product[64] = {};
        for (int step = 0; step < steps; ++step) {
            if (step + 1 < steps) low += m, high += m, ++of_b;
            float next[3];
            load(next);  // under way during the products
            unsigned long long tile_a, tile_b;
            ring.wait(warpgroup, tile_a, tile_b);
            settle(product);
            begin_products();
            multiply_fresh(product, tile_a, tile_b);
#pragma unroll
            for (int part = 1; part < 4; ++part) multiply_add(product, tile_a + part * 2, tile_b + part * 2);
            commit_products();
            const float scale[2] = {scales[0] * scales[2], scales[1] * scales[2]};
            wait_for_products<0>();
            settle(product);
            ring.release(ring.stage);
            ring.advance();
#pragma unroll
            for (int i = 0; i < 64; ++i) sum[i] += product[i] * scale[i / 2 % 2];
            settle(next);  // not before: the compiler would have the products wait for them
#pragma unroll
            for (int i = 0; i < 3; ++i) scales[i] = next[i];
        }
        const int row = at.row + warpgroup * 64;
        store_tile(sum, c, ring.boxes_of(warpgroup), stored, row, at.in_b, [](float2 sums, int) { return sums; });
    };
    for_each_tile<CONSUMERS, BLOCK, STAGES, CLUSTER>(a, b, steps, tiles, compute);
}

#define MULTIPLY_BLOCKS(NAME, CONSUMERS, STAGES, CLUSTER)                                                         \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, const float* __restrict__ scale_a,                            \
             const float* __restrict__ scale_b, long long m, long long n, long long k) {                          \
        multiply_blocks<CONSUMERS, STAGES, CLUSTER>(a, b, c, scale_a, scale_b, m, n, k);                          \
    }
MULTIPLY_BLOCKS(tile_128x128_pair, 2, 6, 2)
MULTIPLY_BLOCKS(tile_128x128, 2, 6, 1)
MULTIPLY_BLOCKS(tile_64x128, 1, 8, 1)

#endif
