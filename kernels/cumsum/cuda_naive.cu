// Running sums of rows, a row a thread.
//
// Formula: y[r, c] = sum_{i <= c} x[r, i]; rows cols FLOP, 2 rows cols s bytes.
// Mapping: thread r of the grid walks along row r.
// Lesson: a running sum looks like a thing for one thread. The threads of a warp then read and write a whole
//   row apart, 32 sectors of memory for 2 or 4 bytes of each, and there are no more threads than rows.
// Idea: the loop of a CPU, moved as it is.
#include "shared/common.cuh"

extern "C" __global__ void cumsum(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    const long long row = thread_of_grid();
    if (row >= rows) return;
    float sum = 0.0f;
    for (long long col = 0; col < cols; ++col) {
        sum += to_float(x[row * cols + col]);
        from_float(sum, y[row * cols + col]);
    }
}
