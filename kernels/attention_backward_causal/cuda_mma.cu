// Gradients of causal attention on the tensor cores by mma.sync (sm_80 and later). What a block does is in mma_attention.cuh.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_attention.cuh"

BACKWARD_KERNELS(64, true)
BACKWARD_KERNELS(128, true)

#endif
