// Candidates beside those of the library.
#include "add_rms_norm/cuda_registers.cu"

KERNEL_OF_ELEMENTS(16, 8)
KERNEL_OF_ELEMENTS(32, 4)
KERNEL_OF_ELEMENTS(32, 8)

// The same of rows that start on BYTES.
#define PAIRS_BY(BYTES)                                                                                       \
    KERNEL(add_rms_norm_pairs_1_by_##BYTES, 1, 2, 128, 8, BYTES / sizeof(SCALAR))                             \
    KERNEL(add_rms_norm_pairs_2_by_##BYTES, 2, 2, 128, 8, BYTES / sizeof(SCALAR))                             \
    KERNEL(add_rms_norm_pairs_4_by_##BYTES, 4, 2, 128, 8, BYTES / sizeof(SCALAR))                             \
    KERNEL(add_rms_norm_pairs_8_by_##BYTES, 8, 2, 128, 8, BYTES / sizeof(SCALAR))                             \
    KERNEL(add_rms_norm_pairs_16_by_##BYTES, 16, 2, 128, 8, BYTES / sizeof(SCALAR))                           \
    KERNEL(add_rms_norm_ones_2_by_##BYTES, 2, 1, 128, 8, BYTES / sizeof(SCALAR))                              \
    KERNEL(add_rms_norm_ones_4_by_##BYTES, 4, 1, 128, 8, BYTES / sizeof(SCALAR))                              \
    KERNEL(add_rms_norm_ones_8_by_##BYTES, 8, 1, 128, 8, BYTES / sizeof(SCALAR))                              \
    KERNEL(add_rms_norm_ones_16_by_##BYTES, 16, 1, 128, 8, BYTES / sizeof(SCALAR))                            \
    KERNEL(add_rms_norm_ones_32_by_##BYTES, 32, 1, 128, 8, BYTES / sizeof(SCALAR))
#ifndef SCALAR_IS_FLOAT32
PAIRS_BY(8)
PAIRS_BY(4)
#endif

