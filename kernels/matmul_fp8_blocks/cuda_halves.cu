// A product of scaled blocks in FP8 (E4M3) by TMA and wgmma (sm_90a only), tiles twice as wide as a product.
//
// Formula: C[i, j] = sum over blocks t of scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j, l]);
//   2 m n k FLOP.
// Mapping: as cuda_wgmma, but a warpgroup's 64 rows of a tile have 256 columns. It multiplies a half of them, 128, then
//   adds that product, scaled, to its sums, and takes the other half with the same registers: 64 for a product and 128
//   for sums. So a tile needs as few bytes of L2 a FLOP as without scales, and of shared memory where A_IN_REGISTERS. A second
//   warp of the copying warpgroup brings the scales into the stages.
// Idea: cuda_wgmma's products and their sums leave registers for 128 columns alone, and its threads wait for scales
//   from L2. DeepGEMM, which has tiles of 256 x 128; see shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define LOOSE_BY_WORDS
#include "matmul_fp8_blocks/halves.cuh"

#define MULTIPLY_BLOCKS(NAME, HALVES, STAGES, CLUSTER)                                                            \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, const float* __restrict__ scale_a,                            \
             const float* __restrict__ scale_b, long long m, long long n, long long k, SCALAR* loose) {           \
        const Loose rows{loose, static_cast<unsigned>(m), static_cast<unsigned>(n)};                              \
        multiply_blocks<HALVES, STAGES, CLUSTER>(a, b, c, scale_a, scale_b, m, n, k, rows);                       \
    }
WHOLE_ROWS_KERNEL
MULTIPLY_BLOCKS(tile_128x256_pair, 2, 4, 2)
MULTIPLY_BLOCKS(tile_128x256, 2, 4, 1)
MULTIPLY_BLOCKS(tile_128x128_pair, 1, 5, 2)
MULTIPLY_BLOCKS(tile_128x128, 1, 5, 1)

#endif
