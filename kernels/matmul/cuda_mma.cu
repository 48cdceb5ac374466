// C = A B on the tensor cores by warp-wide mma.sync (sm_80 and later), float16 or bfloat16, sums in float32.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP, (m k + k n + m n) s compulsory bytes.
// Mapping: that of shared/mma_matmul.cuh. B is used as it is given, k x n: ldmatrix transposes its matrices.
// Idea: cuda_ffma's tiles and ring of stages, with products of 16 x 8 x 16 by a warp in place of FMAs by a thread; see
//   shared/mma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_matmul.cuh"
#include "matmul/finish.cuh"

MMA_KERNELS(Finish{})

#endif
