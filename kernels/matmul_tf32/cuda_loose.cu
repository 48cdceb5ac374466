// C = A B^T in TF32 by mma.sync from rows that begin anywhere: one launch, no copy, cut along k where C is small.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; 2 m n k FLOP. mma.sync takes float32 as it lies in memory and leaves
//   out the last 13 bits.
// Mapping: that of shared/loose_tf32.cuh; of short sums and little C that of shared/direct_tf32.cuh; of few long rows that
//   of streamed.cuh.
// Idea: see shared/loose_tf32.cuh.

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900

#define MULTIPLIES_TF32
#include "matmul_tf32/streamed.cuh"
#include "shared/direct_tf32.cuh"
#include "shared/loose_tf32.cuh"

constexpr bool LOOSE_B_ALONG_K = true, LOOSE_WHOLE = false;

LOOSE_KERNELS
LOOSE_KERNEL(128, 128, 2, 4, 1, 4, 1)
LOOSE_KERNEL_CALLED(loose_64x128_many, 64, 128, 2, 2, 1, 3, 2)
LOOSE_KERNEL_CALLED(loose_128x64_many, 128, 64, 2, 2, 1, 3, 2)
STREAMED_KERNELS

#endif
