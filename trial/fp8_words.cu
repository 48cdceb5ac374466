#define LOOSE_BY_WORDS
#include "matmul_fp8/cuda_wgmma.cu"
