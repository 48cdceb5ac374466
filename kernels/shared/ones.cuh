// Kernels for rows of 16-bit elements that start on 8 or 4 bytes: as few lanes as have a pack each. rows.py chooses.
#pragma once

// By `KERNEL(NAME, GROUP, PACKS, THREADS, BLOCKS, WIDTH)` of the file.
#ifdef SCALAR_IS_FLOAT32
#define ONES(KERNEL, NAME, BLOCKS)
#else
#define ONES_BY(KERNEL, NAME, BLOCKS, BYTES)                                         \
    KERNEL(NAME##_ones_4_by_##BYTES, 4, 1, 128, BLOCKS, BYTES / sizeof(SCALAR))      \
    KERNEL(NAME##_ones_8_by_##BYTES, 8, 1, 128, BLOCKS, BYTES / sizeof(SCALAR))      \
    KERNEL(NAME##_ones_16_by_##BYTES, 16, 1, 128, BLOCKS, BYTES / sizeof(SCALAR))    \
    KERNEL(NAME##_ones_32_by_##BYTES, 32, 1, 128, BLOCKS, BYTES / sizeof(SCALAR))
#define ONES(KERNEL, NAME, BLOCKS)   \
    ONES_BY(KERNEL, NAME, BLOCKS, 8) \
    ONES_BY(KERNEL, NAME, BLOCKS, 4)
#endif
