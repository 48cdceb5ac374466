// Sliding-window attention on Hopper's tensor cores (sm_90a only).
//
// Formula: o[h, i] = sum over i - window < j <= i of p[h, i, j] v[h / group, j], p the softmax over these j of
//   q k^T / sqrt(dim); 4 dim FLOP a pair.
// Mapping: `attend` of shared/wgmma_attention.cuh, a block a multiprocessor. A tile takes the steps in which one of its
//   queries sees a key, nine of 128 keys at dim 128: only the first and the last need a mask.
// Idea: see shared/wgmma_attention.cuh. In `cuda_mma` the warps that multiply copy as well, and powers wait for products.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/wgmma_attention_kernels.cuh"

WINDOWED_ATTENTION_KERNEL(64)
WINDOWED_ATTENTION_KERNEL(96)
WINDOWED_ATTENTION_KERNEL(128)
WINDOWED_ATTENTION_KERNEL(192)
WINDOWED_ATTENTION_KERNEL(256)

#endif
