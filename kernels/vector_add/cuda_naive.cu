// z = x + y, one element a thread: the first kernel of every textbook.
//
// Formula: z[i] = x[i] + y[i]; n FLOP, 3ns bytes.
// Mapping: thread i of the grid owns element i.
// Lesson: accesses are coalesced, yet a thread has only 2 or 4 bytes of each input under way: 16-bit types need eight
//   times the threads of cuda_packed.
// Idea: CUDA C++ Programming Guide, "Kernels" (VecAdd).
#include "shared/common.cuh"

extern "C" __global__ void vector_add(const SCALAR* x, const SCALAR* y, SCALAR* z, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) from_float(to_float(x[i]) + to_float(y[i]), z[i]);
}
