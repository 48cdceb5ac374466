// Attention on Hopper's tensor cores (sm_90a only).
//
// Formula: o[i] = sum over j of p[i, j] v[j], p = softmax(q k^T / sqrt(dim));
//   4 seq seq dim FLOP a head.
// Mapping: `attend` of shared/wgmma_attention.cuh, a block a multiprocessor, and `combine` of
//   shared/wgmma_attention_pieces.cuh where tiles are divided.
// Idea: see shared/wgmma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/wgmma_attention_kernels.cuh"

ATTENTION_KERNEL(64, false)
ATTENTION_KERNEL(96, false)
ATTENTION_KERNEL(128, false)
ATTENTION_KERNEL(192, false)
ATTENTION_KERNEL(256, false)
DIVIDED_ATTENTION_KERNELS(64, false)
DIVIDED_ATTENTION_KERNELS(96, false)
DIVIDED_ATTENTION_KERNELS(128, false)
DIVIDED_ATTENTION_KERNELS(192, false)
DIVIDED_ATTENTION_KERNELS(256, false)

#endif
