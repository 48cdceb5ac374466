// Attention on the tensor cores by mma.sync (sm_80 and later).
//
// Formula: o[i] = sum over j of p[i, j] v[j], p = softmax(q k^T / sqrt(dim));
//   4 seq seq dim FLOP a head.
// Mapping: `attend` of shared/mma_attention.cuh, a block for every 128 queries of a head.
// Idea: see shared/mma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_attention.cuh"

FORWARD_KERNELS(64, false)
FORWARD_KERNELS(96, false)
FORWARD_KERNELS(128, false)
FORWARD_KERNELS(192, false)
FORWARD_KERNELS(256, false)

#endif
