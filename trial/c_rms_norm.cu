// Candidates beside those of the library.
#include "rms_norm/cuda_registers.cu"

KERNEL_OF_ELEMENTS(16, 8)
KERNEL_OF_ELEMENTS(32, 4)
KERNEL_OF_ELEMENTS(32, 8)

// The same of rows that start on BYTES.
#define PAIRS_BY(BYTES)                                                                                       \
    KERNEL(rms_norm_pairs_1_by_##BYTES, 1, 2, 128, 8, BYTES / sizeof(SCALAR))                                 \
    KERNEL(rms_norm_pairs_2_by_##BYTES, 2, 2, 128, 8, BYTES / sizeof(SCALAR))                                 \
    KERNEL(rms_norm_pairs_4_by_##BYTES, 4, 2, 128, 8, BYTES / sizeof(SCALAR))                                 \
    KERNEL(rms_norm_pairs_8_by_##BYTES, 8, 2, 128, 8, BYTES / sizeof(SCALAR))                                 \
    KERNEL(rms_norm_pairs_16_by_##BYTES, 16, 2, 128, 8, BYTES / sizeof(SCALAR))                               \
    KERNEL(rms_norm_ones_2_by_##BYTES, 2, 1, 128, 8, BYTES / sizeof(SCALAR))                                  \
    KERNEL(rms_norm_ones_4_by_##BYTES, 4, 1, 128, 8, BYTES / sizeof(SCALAR))                                  \
    KERNEL(rms_norm_ones_8_by_##BYTES, 8, 1, 128, 8, BYTES / sizeof(SCALAR))                                  \
    KERNEL(rms_norm_ones_16_by_##BYTES, 16, 1, 128, 8, BYTES / sizeof(SCALAR))                                \
    KERNEL(rms_norm_ones_32_by_##BYTES, 32, 1, 128, 8, BYTES / sizeof(SCALAR))
#ifndef SCALAR_IS_FLOAT32
PAIRS_BY(8)
PAIRS_BY(4)
#endif


#define KEPT_KERNEL(WIDTH, LANES, ACCESSES)                                                                             \
    extern "C" __global__ void __launch_bounds__(256) rms_norm_kept_##WIDTH##_##LANES##_##ACCESSES(                        \
        const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, SCALAR* __restrict__ y,                   \
        long long rows, long long cols) {                                                                     \
        start_early();                                                                                        \
        rms_norm_slab<HeldRow<WIDTH, LANES, ACCESSES>>(x, w, y, rows, cols);                                                     \
    }
#define KEPT_KERNELS(LANES) KEPT_KERNEL(1, LANES, 4) KEPT_KERNEL(1, LANES, 8) KEPT_KERNEL(2, LANES, 4) KEPT_KERNEL(2, LANES, 8) KEPT_KERNEL(4, LANES, 2) KEPT_KERNEL(4, LANES, 4)
#ifndef SCALAR_IS_FLOAT32
KEPT_KERNELS(1)
KEPT_KERNELS(2)
KEPT_KERNELS(4)
KEPT_KERNELS(8)
KEPT_KERNELS(16)
#endif
