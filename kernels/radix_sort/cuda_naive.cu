// One array in ascending order by a bitonic network in global memory.
//
// Formula: y = the keys in ascending order. No FLOP, 8n compulsory bytes; this version moves 8n a step, of which there
//   are (log n)(log n + 1) / 2: 406 for 2^28 keys.
// Mapping: thread t of the grid owns pair t of the step, keys `apart` places from each other.
// Lesson: no key needs another's place to be known, so that every step is a map. There are as many as a hundred passes over
//   memory for each one that digits need.
// Idea: Batcher, "Sorting networks and their applications", AFIPS 1968.
#include "shared/common.cuh"

constexpr int LAST = 0x7fffffff;  // what fills up to a power of two comes last

extern "C" __global__ void radix_sort_fill(const int* key, int* sorted, long long n, long long padded) {
    const long long i = thread_of_grid();
    if (i < padded) sorted[i] = i < n ? key[i] : LAST;
}

extern "C" __global__ void radix_sort_step(int* sorted, long long pairs, long long size, long long apart) {
    const long long pair = thread_of_grid();
    if (pair >= pairs) return;
    const long long low = pair / apart * (2 * apart) + pair % apart, high = low + apart;
    const int a = sorted[low], b = sorted[high];
    if ((a > b) == ((low & size) == 0)) {
        sorted[low] = b;
        sorted[high] = a;
    }
}
