// C = relu(A B) on the tensor cores by warp-wide mma.sync (sm_80 and later), float16 or bfloat16, sums in float32.
//
// Formula: C[i, j] = max(sum over l of A[i, l] B[l, j], 0); 2 m n k FLOP.
// Mapping: that of shared/mma_matmul.cuh. ReLU is applied to the sums in registers, so that C is written once and
//   never read.
// Idea: see shared/mma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_matmul.cuh"
#include "matmul_relu/finish.cuh"

MMA_KERNELS(Finish{})

#endif
