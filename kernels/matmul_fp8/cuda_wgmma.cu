// C = scale A B^T on Hopper's tensor cores in FP8 (E4M3) by TMA and wgmma (sm_90a only), bfloat16 out.
//
// Formula: C[i, j] = scale (sum over l of A[i, l] B[j, l]), scale that of A times that of B; 2 m n k FLOP. Products are
//   exact; sums stay in the tensor cores' accumulators, of which some 14 bits count, as in cuBLAS with "fast
//   accumulation".
// Mapping: that of shared/wgmma_matmul.cuh.
// Idea: see shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define MULTIPLIES_FP8
#include "shared/wgmma_kernels.cuh"

struct Finish {
    float scale;

    __device__ __forceinline__ float2 operator()(float2 sums, int) const {
        return make_float2(sums.x * scale, sums.y * scale);
    }
};

WGMMA_KERNELS(Finish{*scale_a * *scale_b}, const float* __restrict__ scale_a, const float* __restrict__ scale_b)

#endif
