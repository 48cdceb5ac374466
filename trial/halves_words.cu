#define LOOSE_BY_WORDS
#include "matmul_fp8_blocks/cuda_halves.cu"
