// Gradients of attention on Hopper's tensor cores (sm_90a only).
//
// Formula: with p = exp(q k^T / sqrt(dim) - lse):
//   ds = p (do v^T - rows of do o) / sqrt(dim); dq = ds k, dk = ds^T q, dv = p^T do.
// Mapping: `prepare` and `finish` of shared/attention_backward_ends.cuh, between them `propagate` of
//   shared/wgmma_attention_backward.cuh, a block a multiprocessor, which does most of what they do too. Short sequences by
//   shared/attention_backward_short.cuh.
// Idea: see these two.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/attention_backward_short.cuh"
#include "shared/wgmma_attention_backward.cuh"

BACKWARD_KERNELS(64, false)
BACKWARD_KERNELS(128, false)
BACKWARD_PRODUCTS(propagate_pairs_128, 128, false, true)
SHORT_KERNELS(false)

#endif
