// Sliding-window attention on the tensor cores by mma.sync (sm_80 and later).
//
// Formula: o[h, i] = sum over i - window < j <= i of p[h, i, j] v[h / group, j], p the softmax over these j of
//   q k^T / sqrt(dim); 4 dim FLOP a pair.
// Mapping: `attend` of shared/mma_attention.cuh, a block for every 128 queries of a head. It begins with the first key
//   that one of them sees, and a warp leaves out the tiles of which its 16 queries see nothing.
// Idea: see shared/mma_attention.cuh. `cuda_naive` skips as much, but multiplies on no tensor cores.

#if !defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800

#include "shared/mma_attention.cuh"

WINDOWED_FORWARD_KERNELS(64)
WINDOWED_FORWARD_KERNELS(96)
WINDOWED_FORWARD_KERNELS(128)
WINDOWED_FORWARD_KERNELS(192)
WINDOWED_FORWARD_KERNELS(256)

#endif
