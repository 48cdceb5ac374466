// Gradient of layer norm for rows of any length and number: sums of pieces of rows, then panels of columns.
//
// Formula: with h = (x - mean_r) rstd_r and g = dy w: dx = rstd_r (g - mean_c g - h mean_c(g h)), dw[c] = sum_r
//   dy h, db[c] = sum_r dy. 12 rows cols FLOP, (5 rows cols + 3 cols) s + 8 rows bytes, 2 rows cols s of them
//   from L2 where dy and x fit there.
// Mapping: norm_phases.cuh. A block a piece of a row; then a block a panel of columns, a pack of 16 bytes a thread,
//   which walks down the rows.
// Idea: cuda_persistent wants a row for every multiprocessor, and room on chip for it. dx needs two sums over its row,
//   dw and db sums over all rows. No block has a whole row where rows are few and long, so the sums of rows come first;
//   after that both are sums and maps of columns.
#include "shared/norm_backward.cuh"
#include "shared/norm_phases.cuh"

#define PIECES(NAME, SHIFTED)                                                                                    \
    extern "C" __global__ void __launch_bounds__(PHASE_THREADS, LIGHT_BLOCKS) layer_norm_backward_pieces_##NAME( \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,               \
        const float* __restrict__ mean, const float* __restrict__ rstd, float2* __restrict__ sums,               \
        long long cols, long long length, long long pieces) {                                                    \
        sum_piece<true, SHIFTED>(dy, x, w, mean, rstd, sums, cols, length, pieces);                              \
    }

#define PANELS(NAME, SHIFTED, ROWS, BLOCKS)                                                                     \
    extern "C" __global__ void __launch_bounds__(PHASE_THREADS, BLOCKS) layer_norm_backward_panels_##NAME(      \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,              \
        const float* __restrict__ mean, const float* __restrict__ rstd, const float2* sums,                     \
        SCALAR* __restrict__ dx, float* __restrict__ partial, SCALAR* __restrict__ dw, SCALAR* __restrict__ db, \
        long long rows, long long cols, long long pieces, long long across, long long height) {                 \
        panel_gradients<true, SHIFTED, ROWS>(                                                                   \
            dy, x, w, mean, rstd, sums, dx, partial, dw, db, rows, cols, pieces, static_cast<int>(across),      \
            height);                                                                                            \
    }

PHASE_KERNELS(PIECES, PANELS)

// What the kernel before leaves is read while it ends: no __restrict__.
extern "C" __global__ void __launch_bounds__(PHASE_THREADS, SINGLE_ROW_BLOCKS) layer_norm_backward_row(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,
    const float* __restrict__ mean, const float* __restrict__ rstd, const float2* sums, SCALAR* __restrict__ dx,
    SCALAR* __restrict__ dw, SCALAR* __restrict__ db, long long cols, long long pieces
) {
    row_gradients<true>(dy, x, w, mean, rstd, sums, dx, dw, db, cols, pieces);
}

extern "C" __global__ void __launch_bounds__(1024) layer_norm_backward_columns(
    const float* partial, SCALAR* dw, SCALAR* db, long long parts, long long cols
) {
    start_early();
    sum_of_chunks(partial + blockIdx.y * parts * cols, parts, cols, blockIdx.y ? db : dw);
}
