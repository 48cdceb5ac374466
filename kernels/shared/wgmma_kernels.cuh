// The kernels of wgmma_matmul.cuh, one for each tile: wgmma_plans.py has the same list, and chooses.
#pragma once

#include "shared/wgmma_matmul.cuh"

// A kernel for each tile. FINISH makes its `finish` out of the parameters that follow k.
#define WGMMA_KERNEL(NAME, BLOCK_M, BLOCK_N, STAGES, ABOVE, BESIDE, PARTS, ACROSS, FINISH, ...)                   \
    extern "C" __global__ void __cluster_dims__(PARTS > 1 ? PARTS : ABOVE * BESIDE, 1, 1)                         \
        __launch_bounds__((multiplying(BLOCK_M, BLOCK_N, PARTS, ACROSS) + 1) * WARPGROUP, 1)                      \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, long long m, long long n, long long k, float* sums,           \
             Flag* flags, Flag ticket, long long alone, SCALAR* loose, ##__VA_ARGS__) {                           \
        multiply<BLOCK_M, BLOCK_N, STAGES, ABOVE, BESIDE, PARTS, ACROSS>(                                         \
            a, b, c, m, n, k, TileParts{sums, flags, ticket}, alone, loose, [&] { return FINISH; });              \
    }
// Those that products of 16 bits alone take, of rows that begin amid lines of L2: what fits C leaves the least to copy.
#define AMID_LINES_KERNELS(...)                                                                                   \
    WGMMA_KERNEL(across_184x128_1x2, 184, 128, 4, 1, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_88x128_2x4, 88, 128, 7, 2, 4, EQUAL, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_216x128_1x2, 216, 128, 4, 1, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_176x128_2x4, 176, 128, 5, 2, 4, EQUAL, true, __VA_ARGS__)                                 \
    WGMMA_KERNEL(across_168x64_2x4, 168, 64, 7, 2, 4, EQUAL, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_96x64_2x4, 96, 64, 10, 2, 4, EQUAL, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_144x64_4x2, 144, 64, 8, 4, 2, EQUAL, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_120x64_2x1, 120, 64, 9, 2, 1, EQUAL, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_112x64_2x4, 112, 64, 9, 2, 4, EQUAL, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_56x64_4x2, 56, 64, 10, 4, 2, EQUAL, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_88x128_4x1, 88, 128, 7, 4, 1, EQUAL, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_104x128_2x1, 104, 128, 6, 2, 1, EQUAL, true, __VA_ARGS__)                                 \
    WGMMA_KERNEL(across_288x128_2x1, 288, 128, 4, 2, 1, EQUAL, true, __VA_ARGS__)                                 \
    WGMMA_KERNEL(across_288x128_1x2, 288, 128, 4, 1, 2, EQUAL, true, __VA_ARGS__)                                 \
    WGMMA_KERNEL(across_136x256_1x2, 136, 256, 4, 1, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_160x256_2x1, 160, 256, 4, 2, 1, EQUAL, true, __VA_ARGS__)                                 \
    WGMMA_KERNEL(across_224x128_1x2, 224, 128, 4, 1, 2, EQUAL, true, __VA_ARGS__)                                 \
    WGMMA_KERNEL(turns_104x192_1x2, 104, 192, 5, 1, 2, IN_TURN, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(turns_104x192_2x1, 104, 192, 5, 2, 1, IN_TURN, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(turns_112x192_2x1, 112, 192, 5, 2, 1, IN_TURN, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(turns_160x128_2x1, 160, 128, 5, 2, 1, IN_TURN, true, __VA_ARGS__)
// Those of all products.
#define WGMMA_KERNELS(...)                                                                                        \
    WHOLE_ROWS_KERNEL                                                                                             \
    WGMMA_KERNEL(tile_128x256_pair, 128, 256, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                 \
    WGMMA_KERNEL(tile_128x224_pair, 128, 224, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                 \
    WGMMA_KERNEL(tile_128x256, 128, 256, 4, 1, 1, 2, false, __VA_ARGS__)                                          \
    WGMMA_KERNEL(tile_128x192, 128, 192, 4, 1, 1, 2, false, __VA_ARGS__)                                          \
    WGMMA_KERNEL(tile_128x128, 128, 128, 6, 1, 1, 2, false, __VA_ARGS__)                                          \
    WGMMA_KERNEL(tile_64x128, 64, 128, 8, 1, 1, 2, false, __VA_ARGS__)                                            \
    WGMMA_KERNEL(tile_64x64, 64, 64, 8, 1, 1, 1, false, __VA_ARGS__)                                              \
    WGMMA_KERNEL(across_256x128_pair, 256, 128, 4, 1, 2, EQUAL, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(across_208x128_pair, 208, 128, 4, 1, 2, EQUAL, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(across_144x128_pair, 144, 128, 5, 1, 2, EQUAL, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(across_192x192_pair, 192, 192, 4, 1, 2, 1, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_176x192_above, 176, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_96x192_above, 96, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_64x128_quarters, 64, 128, 8, 1, 1, 4, true, __VA_ARGS__)                                  \
    WGMMA_KERNEL(across_64x128_eighths, 64, 128, 8, 1, 1, 8, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_64x64_quarters, 64, 64, 12, 1, 1, 4, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_64x64_eighths, 64, 64, 12, 1, 1, 8, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_32x64_quarters, 32, 64, 16, 1, 1, 4, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_160x128_2x2, 160, 128, 5, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_112x128_2x2, 112, 128, 6, 2, 2, EQUAL, true, __VA_ARGS__)                                 \
    WGMMA_KERNEL(across_112x128_4x2, 112, 128, 6, 4, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_96x128_4x2, 96, 128, 6, 4, 2, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_80x128_2x2, 80, 128, 7, 2, 2, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_64x64_4x2, 64, 64, 9, 4, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_32x64_4x2, 32, 64, 9, 4, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_96x64_quarters, 96, 64, 8, 1, 1, 4, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_80x64, 80, 64, 9, 1, 1, 2, true, __VA_ARGS__)                                             \
    WGMMA_KERNEL(across_48x64, 48, 64, 9, 1, 1, 2, true, __VA_ARGS__)                                             \
    WGMMA_KERNEL(tile_128x160_2x1, 128, 160, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                  \
    WGMMA_KERNEL(tile_64x128_8x1, 64, 128, 8, 8, 1, 1, false, __VA_ARGS__)                                        \
    WGMMA_KERNEL(tile_128x128_4x1, 128, 128, 6, 4, 1, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(tile_128x128_4x2, 128, 128, 6, 4, 2, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(tile_128x192_2x1, 128, 192, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                  \
    WGMMA_KERNEL(tile_128x256_4x1, 128, 256, 4, 4, 1, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(across_112x192_2x1, 112, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_128x192_2x1, 128, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_144x192_2x1, 144, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_160x192_2x1, 160, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_96x128_quarters, 96, 128, 6, 1, 1, 4, true, __VA_ARGS__)                                  \
    WGMMA_KERNEL(across_80x128_4x1, 80, 128, 7, 4, 1, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_112x128_4x1, 112, 128, 6, 4, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_80x128_2x1, 80, 128, 7, 2, 1, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_176x128_2x1, 176, 128, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_208x128_2x1, 208, 128, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_160x128_1x4, 160, 128, 5, 1, 4, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_64x64_4x1, 64, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_96x64_4x1, 96, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_96x64_1x4, 96, 64, 9, 1, 4, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_64x64_1x8, 64, 64, 9, 1, 8, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_128x64_1x8, 128, 64, 8, 1, 8, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_80x64_2x2, 80, 64, 9, 2, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_48x64_4x2, 48, 64, 9, 4, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_32x64_4x1, 32, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_208x128_2x2, 208, 128, 4, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_16x64_4x1, 16, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_128x64_eighths, 128, 64, 8, 1, 1, 8, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_48x64_8x1, 48, 64, 9, 8, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(tile_64x128_1x1, 64, 128, 8, 1, 1, 1, false, __VA_ARGS__)                                        \
    WGMMA_KERNEL(tile_64x128_2x1, 64, 128, 8, 2, 1, 1, false, __VA_ARGS__)                                        \
    WGMMA_KERNEL(tile_64x192_1x1, 64, 192, 6, 1, 1, 1, false, __VA_ARGS__)                                        \
    WGMMA_KERNEL(tile_128x128_2x1, 128, 128, 6, 2, 1, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(across_64x64_halves, 64, 64, 8, 1, 1, 2, true, __VA_ARGS__)                                      \
    WGMMA_KERNEL(across_128x64_halves, 128, 64, 8, 1, 1, 2, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_192x128_1x4, 192, 128, 4, 1, 4, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_144x128_2x2, 144, 128, 5, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_192x128_2x2, 192, 128, 4, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_192x128_halves, 192, 128, 4, 1, 1, 2, true, __VA_ARGS__)                                  \
    WGMMA_KERNEL(across_128x128_quarters, 128, 128, 6, 1, 1, 4, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(across_128x64_2x4, 128, 64, 8, 2, 4, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_96x128_2x4, 96, 128, 6, 2, 4, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_136x128_2x1, 136, 128, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_192x192_2x1, 192, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_16x64_halves, 16, 64, 8, 1, 1, 2, true, __VA_ARGS__)                                      \
    WGMMA_KERNEL(across_32x64_halves, 32, 64, 7, 1, 1, 2, true, __VA_ARGS__)
// Those of few steps along k and many tiles, where it takes as long to store C as to compute it: wgmma_pitched.py chooses.
#define PITCHED_KERNELS(...)                                                                                      \
    WHOLE_ROWS_KERNEL                                                                                             \
    WGMMA_KERNEL(tile_128x256, 128, 256, 4, 1, 1, 2, false, __VA_ARGS__)                                          \
    WGMMA_KERNEL(tile_128x192_2x1, 128, 192, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                  \
    WGMMA_KERNEL(tile_128x128_2x1, 128, 128, 6, 2, 1, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(across_192x192_pair, 192, 192, 4, 1, 2, 1, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_176x192_above, 176, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_144x192_2x1, 144, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_112x192_2x1, 112, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_96x192_above, 96, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_160x128_2x2, 160, 128, 5, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_96x128_4x2, 96, 128, 6, 4, 2, 1, true, __VA_ARGS__)
