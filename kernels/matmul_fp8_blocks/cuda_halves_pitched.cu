// C as in cuda_halves.cu, into rows that begin at multiples of 16 bytes where n does not let them.
//
// Formula: that of cuda_halves.cu; 2 m n k FLOP.
// Mapping: that of cuda_halves.cu, by its largest tiles and one for less of C.
// Idea: cuda_halves' threads store odd rows, which for a short k takes longer than the product. TMA stores wider rows.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "matmul_fp8_blocks/halves.cuh"

#define MULTIPLY_BLOCKS(NAME, HALVES, STAGES, CLUSTER)                                                            \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, const float* __restrict__ scale_a,                            \
             const float* __restrict__ scale_b, long long m, long long n, long long k) {                          \
        multiply_blocks<HALVES, STAGES, CLUSTER>(a, b, c, scale_a, scale_b, m, n, k, Loose{});                    \
    }
WHOLE_ROWS_KERNEL
MULTIPLY_BLOCKS(tile_128x256_pair, 2, 4, 2)
MULTIPLY_BLOCKS(tile_128x256, 2, 4, 1)
MULTIPLY_BLOCKS(tile_128x128, 1, 5, 1)

#endif
