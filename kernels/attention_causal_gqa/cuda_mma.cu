// Causal attention of grouped queries on the tensor cores by mma.sync (sm_80 and later).
//
// Formula: o[h, i] = sum over j <= i of p[h, i, j] v[h / group, j], p the softmax over j <= i of q k^T / sqrt(dim);
//   half of 4 seq seq dim FLOP a query head.
// Mapping: `attend` of shared/mma_attention.cuh, a block for every 128 queries of a head.
// Idea: see shared/mma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_attention.cuh"

SHARING_FORWARD_KERNELS(64, true)
SHARING_FORWARD_KERNELS(96, true)
SHARING_FORWARD_KERNELS(128, true)
SHARING_FORWARD_KERNELS(192, true)
SHARING_FORWARD_KERNELS(256, true)

#endif
