// Attention on the tensor cores by mma.sync (sm_80 and later). What a block does is in mma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_attention.cuh"

FORWARD_KERNELS(64, false)
FORWARD_KERNELS(128, false)

#endif
