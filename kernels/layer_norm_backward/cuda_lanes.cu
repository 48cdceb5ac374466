// Gradient of layer norm for many short rows: some lanes of a warp a row.
//
// Formula: with h = (x - mean_r) rstd_r and g = dy w: dx = rstd_r (g - mean_c g - h mean_c(g h)), dw[c] = sum_r
//   dy h, db[c] = sum_r dy. 12 rows cols FLOP, (3 rows cols + 3 cols) s + 8 rows bytes.
// Mapping: norm_lanes.cuh. A lane has one pack of 16 bytes of a row, and a warp as many rows as its lanes have room for.
//   Of many the next ones are under way (norm_ahead.cuh). Rows that begin anywhere have several warps each
//   (norm_skewed.cuh), of some hundred columns one (norm_elements.cuh, or norm_runs.cuh where they are many), or where
//   they are short and very many a thread each (norm_slab.cuh). The blocks stay, and
//   layer_norm_backward_columns adds their sums over rows up, always in the same order.
// Idea: the row groups of lanes of softmax/cuda_registers, and the persistent grid of cuda_persistent.
#include "shared/norm_elements.cuh"
#include "shared/norm_runs.cuh"
#include "shared/norm_skewed.cuh"
#include "shared/norm_slab.cuh"
#include "shared/overlap.cuh"

#define KERNEL(NAME, LANES, ...)                                                                  \
    extern "C" __global__ void __launch_bounds__(LANES_THREADS, 2) layer_norm_backward_##NAME(     \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, \
        const float* __restrict__ mean, const float* __restrict__ rstd, SCALAR* __restrict__ dx,   \
        float* __restrict__ partial, long long rows, long long cols) {                             \
        lanes_gradients<true, LANES, __VA_ARGS__>(                                                     \
            dy, x, w, mean, rstd, dx, partial, rows, static_cast<int>(cols));                      \
    }
#define KERNELS(LANES)                                                   \
    KERNEL(packed_##LANES, LANES, LanePack<LANES, false>)                \
    KERNEL(by_8_##LANES, LANES, NarrowPack<LANES, 8 / sizeof(SCALAR)>)   \
    KERNEL(by_4_##LANES, LANES, NarrowPack<LANES, 4 / sizeof(SCALAR)>)   \
    KERNEL(skewed_##LANES, LANES, LanePack<LANES, true>)

KERNELS(1)
KERNELS(2)
KERNELS(4)
KERNELS(8)
KERNELS(16)
KERNELS(32)

// Rows that begin anywhere, a thread each.
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_slab(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,
    const float* __restrict__ mean, const float* __restrict__ rstd, SCALAR* __restrict__ dx,
    float* __restrict__ partial, long long rows, long long cols
) {
    slab_gradients<true, 1>(dy, x, w, mean, rstd, dx, partial, rows, static_cast<int>(cols));
}

// Rows of some hundred columns that begin anywhere, a warp each.
#define ELEMENTS_KERNEL(EACH, BLOCKS)                                                              \
    extern "C" __global__ void __launch_bounds__(ELEMENTS_THREADS, BLOCKS)                         \
        layer_norm_backward_elements_##EACH(                                                        \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, \
        const float* __restrict__ mean, const float* __restrict__ rstd, SCALAR* __restrict__ dx,   \
        float* __restrict__ partial, long long rows, long long cols) {                             \
        elements_gradients<true, EACH>(                                                            \
            dy, x, w, mean, rstd, dx, partial, rows, static_cast<int>(cols));                     \
    }

ELEMENTS_KERNELS

// Many rows that begin on 4 bytes at least, by lanes with so many columns each.
#define AHEAD_KERNEL(LANES, COUNT, BYTES)                                                                   \
    extern "C" __global__ void __launch_bounds__(AHEAD_THREADS, 2)                                          \
        layer_norm_backward_ahead_##LANES##_##COUNT##_by_##BYTES(                                           \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,          \
        const float* __restrict__ mean, const float* __restrict__ rstd, SCALAR* __restrict__ dx, float* __restrict__ partial,\
        long long rows, long long cols) {                                                                   \
        if constexpr (sizeof(SCALAR) == 2) {                                                                \
            ahead_gradients<true, LANES, COUNT, BYTES / sizeof(SCALAR)>(                                    \
                dy, x, w, mean, rstd, dx, partial, static_cast<int>(rows), static_cast<int>(cols));         \
        }                                                                                                   \
    }

AHEAD_KERNELS(8)
AHEAD_KERNELS(4)

// Many rows that begin anywhere, by lanes of a warp with so many columns each.
#define RUNS_KERNEL(COUNT, BLOCKS)                                                                          \
    extern "C" __global__ void __launch_bounds__(AHEAD_THREADS, BLOCKS) layer_norm_backward_runs_##COUNT(        \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,          \
        const float* __restrict__ mean, const float* __restrict__ rstd, SCALAR* __restrict__ dx, float* __restrict__ partial,\
        long long rows, long long cols, long long stages) {                                                 \
        if constexpr (sizeof(SCALAR) == 2) {                                                                \
            run_gradients<true, COUNT>(                                                                     \
                dy, x, w, mean, rstd, dx, partial, static_cast<int>(rows), static_cast<int>(cols),          \
                static_cast<int>(stages));                                                                  \
        }                                                                                                   \
    }

RUNS_KERNELS

// Rows that begin anywhere, with a pack for each of GROUP threads.
#define GROUP_KERNEL(GROUP, THREADS, BLOCKS)                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) layer_norm_backward_skewed_##GROUP( \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w, \
        const float* __restrict__ mean, const float* __restrict__ rstd, SCALAR* __restrict__ dx,   \
        float* __restrict__ partial, long long rows, long long cols) {                             \
        skewed_gradients<true, GROUP, THREADS>(                                                 \
            dy, x, w, mean, rstd, dx, partial, rows, static_cast<int>(cols));                      \
    }

GROUP_KERNEL(64, SKEWED_THREADS, 2)
GROUP_KERNEL(128, SKEWED_THREADS, 2)
GROUP_KERNEL(256, SKEWED_THREADS, 2)
GROUP_KERNEL(512, 512, 1)

// What the kernel before leaves is read while it ends: no __restrict__.
extern "C" __global__ void __launch_bounds__(1024) layer_norm_backward_columns(
    const float* partial, SCALAR* dw, SCALAR* db, long long parts, long long cols
) {
    start_early();
    sum_of_parts(partial + blockIdx.y * parts * cols, parts, cols, blockIdx.y ? db : dw);
}
