// Transpose, one element a thread, straight from x to y.
//
// Formula: y[c, r] = x[r, c]; no FLOP, 2 rows cols s bytes.
// Mapping: thread i of the grid owns element i of x.
// Lesson: the reads of a warp are adjacent, its writes a whole row of y apart: each touches a sector of 32
//   bytes to write 2 or 4 of them.
// Idea: the first version of Harris, "An Efficient Matrix Transpose in CUDA C/C++".
#include "shared/common.cuh"

extern "C" __global__ void transpose(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    const long long i = thread_of_grid();
    if (i >= rows * cols) return;
    const long long row = i / cols;
    const long long col = i % cols;
    y[col * rows + row] = x[i];
}
