// Gradient of RMS norm for rows of any length and number: sums of pieces of rows, then panels of columns.
//
// Formula: with h = x rstd_r and g = dy w: dx = rstd_r (g - h mean_c(g h)), dw[c] = sum_r dy h. 9 rows cols FLOP,
//   (5 rows cols + 2 cols) s + 4 rows bytes, 2 rows cols s of them from L2 where dy and x fit there.
// Mapping: norm_phases.cuh. A block a piece of a row; then a block a panel of columns, a pack of 16 bytes a thread,
//   which walks down the rows.
// Idea: layer_norm_backward/cuda_phases with one sum less of either kind.
#include "shared/norm_backward.cuh"
#include "shared/norm_phases.cuh"

#define PIECES(NAME, SHIFTED)                                                                                  \
    extern "C" __global__ void __launch_bounds__(PHASE_THREADS, LIGHT_BLOCKS) rms_norm_backward_pieces_##NAME( \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,             \
        const float* __restrict__ rstd, float2* __restrict__ sums,                                             \
        long long cols, long long length, long long pieces) {                                                  \
        sum_piece<false, SHIFTED>(dy, x, w, nullptr, rstd, sums, cols, length, pieces);                        \
    }

#define PANELS(NAME, SHIFTED, ROWS, BLOCKS)                                                                        \
    extern "C" __global__ void __launch_bounds__(PHASE_THREADS, BLOCKS) rms_norm_backward_panels_##NAME(           \
        const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,                 \
        const float* __restrict__ rstd, const float2* sums,                                                        \
        SCALAR* __restrict__ dx, float* __restrict__ partial, SCALAR* __restrict__ dw,                             \
        long long rows, long long cols, long long pieces, long long across, long long height) {                    \
        panel_gradients<false, SHIFTED, ROWS>(                                                                     \
            dy, x, w, nullptr, rstd, sums, dx, partial, dw, nullptr, rows, cols, pieces, static_cast<int>(across), \
            height);                                                                                               \
    }

PHASE_KERNELS(PIECES, PANELS)

// What the kernel before leaves is read while it ends: no __restrict__.
extern "C" __global__ void __launch_bounds__(PHASE_THREADS, SINGLE_ROW_BLOCKS) rms_norm_backward_row(
    const SCALAR* __restrict__ dy, const SCALAR* __restrict__ x, const SCALAR* __restrict__ w,
    const float* __restrict__ rstd, const float2* sums, SCALAR* __restrict__ dx, SCALAR* __restrict__ dw,
    long long cols, long long pieces
) {
    row_gradients<false>(dy, x, w, nullptr, rstd, sums, dx, dw, nullptr, cols, pieces);
}

extern "C" __global__ void __launch_bounds__(1024) rms_norm_backward_columns(
    const float* partial, SCALAR* dw, long long parts, long long cols
) {
    start_early();
    sum_of_chunks(partial, parts, cols, dw);
}
