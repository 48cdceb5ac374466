// Causal attention on Hopper's tensor cores (sm_90a only).
//
// Formula: o[i] = sum over j <= i of p[i, j] v[j], p the softmax over j <= i of q k^T / sqrt(dim);
//   half of 4 seq seq dim FLOP a head.
// Mapping: `attend` of shared/wgmma_attention.cuh, a block a multiprocessor, and `combine` of
//   shared/wgmma_attention_pieces.cuh where tiles are divided.
// Idea: see shared/wgmma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/wgmma_attention_kernels.cuh"

ATTENTION_KERNEL(64, true)
ATTENTION_KERNEL(96, true)
ATTENTION_KERNEL(128, true)
ATTENTION_KERNEL(192, true)
ATTENTION_KERNEL(256, true)
DIVIDED_ATTENTION_KERNELS(64, true)
DIVIDED_ATTENTION_KERNELS(96, true)
DIVIDED_ATTENTION_KERNELS(128, true)
DIVIDED_ATTENTION_KERNELS(192, true)

#endif
