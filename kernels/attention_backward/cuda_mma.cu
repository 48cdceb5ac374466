// Gradients of attention on the tensor cores by mma.sync (sm_80 and later).
//
// Formula: with p = exp(q k^T / sqrt(dim) - lse):
//   ds = p (do v^T - rows of do o) / sqrt(dim); dq = ds k, dk = ds^T q, dv = p^T do.
// Mapping: `make_delta`, `queries` and `keys` of shared/mma_attention.cuh, a kernel each.
// Idea: see shared/mma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_attention.cuh"

BACKWARD_KERNELS(64, false)
BACKWARD_KERNELS(128, false)

#endif
