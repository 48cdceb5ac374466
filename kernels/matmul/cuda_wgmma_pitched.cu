// C = A B as in cuda_wgmma.cu, into rows that begin at multiples of 16 bytes where n does not let them.
//
// Formula: that of cuda_wgmma.cu; 2 m n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh, by the tiles of few steps along k and many tiles.
// Idea: cuda_wgmma's threads store odd rows, which for a short k takes as long as the product. TMA stores wider rows.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/wgmma_kernels.cuh"
#include "matmul/finish.cuh"

PITCHED_KERNELS(Finish{})

#endif
