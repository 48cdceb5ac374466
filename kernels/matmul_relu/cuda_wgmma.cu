// C = relu(A B) on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: C[i, j] = max(sum over l of A[i, l] B[l, j], 0); 2 m n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh. ReLU is applied to the sums in registers, so that C is written once and
//   never read.
// Idea: see shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "shared/direct_sums.cuh"
#include "shared/few_rows.cuh"
#include "shared/long_sums.cuh"
#include "shared/narrow_sums.cuh"
#include "shared/one_row.cuh"
#include "shared/short_sums.cuh"
#include "shared/wgmma_class_sums.cuh"
#include "shared/wgmma_classes.cuh"
#include "shared/wgmma_kernels.cuh"
#include "shared/wgmma_strips.cuh"
#include "matmul_relu/finish.cuh"

WGMMA_KERNELS(Finish{})
AMID_LINES_KERNELS(Finish{})
DIRECT_SUMS_KERNELS(Finish{})
FEW_ROWS_KERNELS(Finish{})
ONE_ROW_KERNEL(Finish{})
LONG_SUMS_KERNELS(Finish{})
SHORT_SUMS_KERNELS(Finish{})
CLASSES_KERNELS(Finish{})
CLASS_SUMS_KERNELS(Finish{})
NARROW_SUMS_KERNELS(Finish{})
STRIPS_KERNELS(Finish{})

#endif
