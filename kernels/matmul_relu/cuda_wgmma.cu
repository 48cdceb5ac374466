// C = relu(A B) on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: C[i, j] = max(sum over l of A[i, l] B[l, j], 0); 2 m n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh. ReLU is applied to the sums in registers, so that C is written once and
//   never read.
// Idea: see shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/wgmma_matmul.cuh"

struct Finish {
    // NaN stays NaN, where fmaxf would make it 0.
    __device__ __forceinline__ float2 operator()(float2 sums, int) const {
        return make_float2(sums.x < 0.0f ? 0.0f : sums.x, sums.y < 0.0f ? 0.0f : sums.y);
    }
};

WGMMA_KERNELS(Finish{})

#endif
