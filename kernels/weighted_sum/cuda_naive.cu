// Weighted sum of rows, one row a thread.
//
// Formula: y[r] = sum_d x[r, d] w[d]; 2 rows cols FLOP, (rows cols + cols + rows)s bytes.
// Mapping: thread r of the grid walks along row r.
// Lesson: the threads of a warp read addresses a whole row apart, so each access touches 32 sectors of
//   memory to use 2 or 4 bytes of each. Caches save some of it; few rows leave most of the GPU idle.
// Idea: the loop of a CPU, moved as it is.
#include "shared/common.cuh"

extern "C" __global__ void weighted_sum(const SCALAR* x, const SCALAR* w, SCALAR* y, long long rows, long long cols) {
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (long long col = 0; col < cols; ++col) sum += to_float(x[row * cols + col]) * to_float(w[col]);
    from_float(sum, y[row]);
}
