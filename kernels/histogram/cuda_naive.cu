// How often each of 256 keys occurs, by atomic additions in global memory.
//
// Formula: count[b] = the number of i with key[i] = b. n FLOP, 4n bytes.
// Mapping: thread i of the grid owns key i.
// Lesson: additions to one address go one after the other, in L2, and there are 256 addresses for all threads of the GPU.
// Idea: the loop of a CPU, with the addition made atomic.
#include "shared/common.cuh"

extern "C" __global__ void histogram(const int* key, unsigned long long* count, long long n) {
    const long long i = thread_of_grid();
    if (i < n && static_cast<unsigned>(key[i]) < 256u) atomicAdd(&count[key[i]], 1ull);
}
