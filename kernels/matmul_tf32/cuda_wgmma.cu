// C = A B^T on Hopper's tensor cores in TF32 by TMA and wgmma (sm_90a only): float32 in, sums and out.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; 2 m n k FLOP. wgmma takes float32 as it lies in memory and leaves
//   out the last 13 bits.
// Mapping: that of shared/wgmma_matmul.cuh.
// Idea: see shared/wgmma_matmul.cuh.

#if defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define MULTIPLIES_TF32
#include "matmul_tf32/amid.cuh"
#include "shared/wgmma_kernels.cuh"

struct Finish {
    __device__ __forceinline__ float2 operator()(float2 sums, int) const { return sums; }
};

WGMMA_KERNELS(Finish{})
AMID_KERNELS

#endif
