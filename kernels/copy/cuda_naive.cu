// Copy, one element a thread.
//
// Formula: y[i] = x[i]; no FLOP, 2ns bytes.
// Mapping: thread i of the grid owns element i. Coalesced, yet a thread has only 2 or 4 bytes under way.
// Lesson: what 16 bytes a thread buy (see cuda_packed) shows in the 16-bit types, where the same stream takes
//   eight times the threads.
// Idea: CUDA C++ Programming Guide, "Kernels".
#include "shared/common.cuh"

extern "C" __global__ void copy(const SCALAR* x, SCALAR* y, long long n) {
    const long long i = thread_of_grid();
    if (i < n) y[i] = x[i];
}
