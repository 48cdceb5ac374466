// Gradients of the weighted sum of rows, a thread a column.
//
// Formula: dx[r, d] = dy[r] w[d], dw[d] = sum_r dy[r] x[r, d]; 3 rows cols FLOP, 2 rows cols s bytes and
// little more.
// Mapping: thread d of the grid walks down column d. The threads of a warp read neighbours, so memory is
// used well.
// Lesson: there are only as many threads as columns, a few thousand for a GPU that runs a few hundred
//   thousand, and each waits for one access after the other.
// Idea: the loop that needs no sum across threads.
#include "shared/common.cuh"

extern "C" __global__ void weighted_sum_backward(
    const SCALAR* dy, const SCALAR* x, const SCALAR* w, SCALAR* dx, SCALAR* dw, long long rows, long long cols
) {
    const long long col = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    const float weight = to_float(w[col]);
    float sum = 0.0f;
    for (long long row = 0; row < rows; ++row) {
        const float gradient = to_float(dy[row]);
        from_float(gradient * weight, dx[row * cols + col]);
        sum += gradient * to_float(x[row * cols + col]);
    }
    from_float(sum, dw[col]);
}
