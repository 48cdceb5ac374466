// Causal attention of grouped queries on Hopper's tensor cores (sm_90a only).
//
// Formula: o[h, i] = sum over j <= i of p[h, i, j] v[h / group, j], p the softmax over j <= i of q k^T / sqrt(dim);
//   half of 4 seq seq dim FLOP a query head.
// Mapping: `attend` of shared/wgmma_attention.cuh, a block a multiprocessor, and `combine` of
//   shared/wgmma_attention_pieces.cuh where tiles are divided. Heads of a group follow each other in the
//   order of tiles, so that their keys and values come from L2.
// Idea: see shared/wgmma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/wgmma_attention_kernels.cuh"

SHARING_ATTENTION_KERNEL(64)
SHARING_ATTENTION_KERNEL(96)
SHARING_ATTENTION_KERNEL(128)
SHARING_ATTENTION_KERNEL(192)
SHARING_ATTENTION_KERNEL(256)
DIVIDED_ATTENTION_KERNELS(64, true)
DIVIDED_ATTENTION_KERNELS(96, true)
DIVIDED_ATTENTION_KERNELS(128, true)
DIVIDED_ATTENTION_KERNELS(192, true)

#endif
