// Gradient of layer norm of many long rows: rows come through a ring in shared memory, each of them once.
//
// Formula: with h = (x - mean_r) rstd_r and g = dy w: dx = rstd_r (g - mean_c g - h mean_c(g h)), dw[c] = sum_r
//   dy h, db[c] = sum_r dy. 12 rows cols FLOP, (3 rows cols + 3 cols) s + 8 rows bytes.
// Mapping: norm_ring.cuh. A block for each multiprocessor walks along the rows, in row groups of up to 512 threads or as
//   the cluster that has a row, and keeps the sums over columns in registers. It writes them to `partial`, (2, blocks,
//   cols); layer_norm_backward_columns adds them up, always in the same order.
// Idea: the persistent grid and two-stage column sum of Triton's layer norm tutorial and of QuACK (Dao-AILab), with
//   the ring of bulk copies of the matmuls: cuda_persistent has one row under way, in registers.
#include "shared/norm_ring.cuh"
#include "shared/overlap.cuh"

#define KERNEL(NAME, THREADS, CLUSTER, ATTRIBUTE)                                                        \
    extern "C" __global__ void ATTRIBUTE __launch_bounds__(RING_THREADS, 1) layer_norm_backward_##NAME(  \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,       \
        const float* __restrict__ mean, const float* __restrict__ rstd, SCALAR* __restrict__ dx,         \
        float* __restrict__ partial, long long rows, long long cols, long long length, long long stages, \
        long long stage_bytes) {                                                                         \
        ring_gradients<true, THREADS, CLUSTER>(                                                          \
            dy, x, w, mean, rstd, dx, partial, rows, cols, length, stages, stage_bytes);                 \
    }

KERNEL(whole, 512, 1, )
KERNEL(quarters_of_two, 256, 4, __cluster_dims__(4))
KERNEL(quarters, 512, 4, __cluster_dims__(4))
KERNEL(eighths, 512, 8, __cluster_dims__(8))

// What the kernel before leaves is read while it ends: no __restrict__.
extern "C" __global__ void __launch_bounds__(1024) layer_norm_backward_columns(
    const float* partial, SCALAR* dw, SCALAR* db, long long parts, long long cols
) {
    start_early();
    sum_of_parts(partial + blockIdx.y * parts * cols, parts, cols, blockIdx.y ? db : dw);
}
