// Gradient of layer norm by rows, then by columns: dy and x are read three times.
//
// Formula: with h = (x - mean_r) rstd_r and g = dy w: dx = rstd_r (g - mean_c g - h mean_c(g h)), dw[c] = sum_r
//   dy h, db[c] = sum_r dy. 12 rows cols FLOP, (3 rows cols + 3 cols) s + 8 rows compulsory bytes; this version
//   moves more than twice that.
// Mapping: a block a row for dx, in two passes, the second from L1 or L2 where the row fits there. For dw and
//   db a block of 32 x 8 threads owns 32 columns of a run of rows and writes their sums to `partial`, (2, runs,
//   cols), which layer_norm_backward_columns adds up, always in the same order.
// Lesson: two sums over a row and two over all rows want two mappings, and each mapping reads dy and x, 2 or 4 bytes an
//   access. Where one block does both for the rows that it has, they are read once.
// Idea: the formula as it is written; PyTorch's own kernels split the work like this.
#include "shared/rows.cuh"

constexpr int THREADS = 256;  // as in cuda_naive.py
constexpr int HEIGHT = THREADS / WARP;

struct Terms {
    float dy, h, g;

    __device__ __forceinline__ Terms(SCALAR gradient, SCALAR value, SCALAR weight, float mean, float rstd)
        : dy(to_float(gradient)), h((to_float(value) - mean) * rstd), g(dy * to_float(weight)) {}
};

extern "C" __global__ void layer_norm_backward_rows(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, const float* mean, const float* rstd, SCALAR* dx, long long cols
) {
    const long long row = blockIdx.x, start = row * cols;
    float level = 0.0f, slope = 0.0f;
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        const Terms terms(dy[start + col], x[start + col], w[col], mean[row], rstd[row]);
        level += terms.g;
        slope += terms.g * terms.h;
    }
    level = group_sum<BLOCK_GROUP, 0>(level) / cols;
    slope = group_sum<BLOCK_GROUP, 1>(slope) / cols;
    for (long long col = threadIdx.x; col < cols; col += THREADS) {
        const Terms terms(dy[start + col], x[start + col], w[col], mean[row], rstd[row]);
        from_float(rstd[row] * (terms.g - level - terms.h * slope), dx[start + col]);
    }
}

extern "C" __global__ void layer_norm_backward_runs(
    const SCALAR* dy, const SCALAR* x, const float* mean, const float* rstd, float* partial, long long rows,
    long long cols, long long run
) {
    __shared__ float dw[HEIGHT][WARP], db[HEIGHT][WARP];
    const int lane = threadIdx.x % WARP, height = threadIdx.x / WARP;
    const long long col = static_cast<long long>(blockIdx.x) * WARP + lane, first = blockIdx.y * run;
    float dw_sum = 0.0f, db_sum = 0.0f;
    for (long long row = first + height; col < cols && row < first + run && row < rows; row += HEIGHT) {
        const float gradient = to_float(dy[row * cols + col]);
        dw_sum += gradient * ((to_float(x[row * cols + col]) - mean[row]) * rstd[row]);
        db_sum += gradient;
    }
    dw[height][lane] = dw_sum;
    db[height][lane] = db_sum;
    __syncthreads();
    if (height != 0 || col >= cols) return;
    for (int other = 1; other < HEIGHT; ++other) {
        dw_sum += dw[other][lane];
        db_sum += db[other][lane];
    }
    partial[blockIdx.y * cols + col] = dw_sum;
    partial[(gridDim.y + blockIdx.y) * cols + col] = db_sum;
}

extern "C" __global__ void __launch_bounds__(1024) layer_norm_backward_columns(
    const float* partial, SCALAR* dw, SCALAR* db, long long parts, long long cols
) {
    sum_of_parts(partial + blockIdx.y * parts * cols, parts, cols, blockIdx.y ? db : dw);
}
