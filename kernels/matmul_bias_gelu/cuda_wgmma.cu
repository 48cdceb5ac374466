// C = gelu(A B + bias) on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: C[i, j] = gelu(sum over l of A[i, l] B[l, j] + bias[j]); 2 m n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh. Bias and GELU are applied to the sums in registers, so that C is written
//   once and never read.
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
#include "matmul_bias_gelu/finish.cuh"

WGMMA_KERNELS(FINISH)
AMID_LINES_KERNELS(FINISH)
DIRECT_SUMS_KERNELS(FINISH)
FEW_ROWS_KERNELS(FINISH)
ONE_ROW_KERNEL(FINISH)
LONG_SUMS_KERNELS(FINISH)
SHORT_SUMS_KERNELS(FINISH)
CLASSES_KERNELS(FINISH)
CLASS_SUMS_KERNELS(FINISH)
NARROW_SUMS_KERNELS(FINISH)
STRIPS_KERNELS(FINISH)

#endif
