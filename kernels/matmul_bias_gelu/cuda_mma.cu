// C = gelu(A B + bias) on the tensor cores by warp-wide mma.sync (sm_80 and later), 16-bit elements, sums in float32.
//
// Formula: C[i, j] = gelu(sum over l of A[i, l] B[l, j] + bias[j]); 2 m n k FLOP.
// Mapping: that of shared/mma_matmul.cuh. Bias and GELU are applied to the sums in registers, so that C is written
//   once and never read.
// Idea: see shared/mma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_matmul.cuh"
#include "matmul_bias_gelu/finish.cuh"

MMA_KERNELS(FINISH)

#endif
