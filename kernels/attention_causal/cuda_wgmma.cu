// Causal attention on Hopper's tensor cores (sm_90a only). What a block does is in wgmma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/wgmma_attention.cuh"

ATTENTION_KERNEL(attention_64, 64, true)
ATTENTION_KERNEL(attention_128, 128, true)

#endif
