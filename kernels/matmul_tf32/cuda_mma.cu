// C = A B^T on the tensor cores in TF32 by warp-wide mma.sync (sm_80 and later): float32 in, sums and out.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; 2 m n k FLOP. mma.sync takes float32 as it lies in memory and leaves
//   out the last 13 bits.
// Mapping: that of shared/mma_matmul.cuh.
// Idea: see shared/mma_matmul.cuh.

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#define MULTIPLIES_TF32
#include "shared/mma_matmul.cuh"

struct Finish {
    __device__ __forceinline__ float2 operator()(float2 sums, int) const { return sums; }
};

MMA_KERNELS(Finish{})

#endif
