// C = A B in float32 by three products in TF32 each, by mma.sync from rows that begin anywhere: one launch, no copy.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 6 m n k FLOP in TF32, of which a third count.
// Mapping: that of shared/loose_tf32.cuh.
// Idea: see shared/loose_tf32.cuh.

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900

#define MULTIPLIES_TF32
#include "shared/loose_tf32.cuh"

constexpr bool LOOSE_B_ALONG_K = false, LOOSE_WHOLE = true;

LOOSE_KERNELS

#endif
