// C = A B in float32 by three products in TF32 each, by mma.sync from rows that begin anywhere: one launch, no copy.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 6 m n k FLOP in TF32, of which a third count.
// Mapping: that of shared/loose_tf32.cuh.
// Idea: see shared/loose_tf32.cuh.

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 900

#define MULTIPLIES_TF32
#include "shared/loose_tf32.cuh"

constexpr bool LOOSE_B_ALONG_K = false, LOOSE_WHOLE = true;

LOOSE_KERNEL(16, 64, 1, 2, 4, 3, 1)
LOOSE_KERNEL(16, 128, 1, 4, 1, 4, 2)
LOOSE_KERNEL(32, 32, 1, 1, 4, 3, 2)
LOOSE_KERNEL(32, 64, 1, 2, 4, 3, 1)
LOOSE_KERNEL(32, 128, 1, 4, 1, 4, 2)
LOOSE_KERNEL(64, 32, 2, 1, 4, 3, 1)
LOOSE_KERNEL(64, 64, 2, 2, 2, 3, 1)
LOOSE_KERNEL(64, 128, 2, 4, 1, 4, 1)
LOOSE_KERNEL(128, 16, 4, 1, 2, 3, 1)
LOOSE_KERNEL(128, 32, 4, 1, 2, 3, 1)
LOOSE_KERNEL(128, 64, 4, 2, 1, 4, 1)

#endif
