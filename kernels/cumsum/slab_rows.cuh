// Running sums of many short rows, a thread each, by way of shared memory.
#pragma once

#include "shared/overlap.cuh"
#include "shared/slab.cuh"

template <int WIDTH>
__device__ __forceinline__ void running_sums(SCALAR* start, int cols) {
    Access<WIDTH>* const row = reinterpret_cast<Access<WIDTH>*>(start);
    constexpr int AHEAD = WIDTH * sizeof(SCALAR) < 16 ? 4 : 2;  // accesses read before sums are written among them
    const int count = cols / WIDTH;
    float sum = 0.0f;
    for (int first = 0; first < count; first += AHEAD) {
        Access<WIDTH> access[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            if (first + i < count) access[i] = row[first + i];
        }
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) from_float(sum += to_float(access[i].element[j]), access[i].element[j]);
            if (first + i < count) row[first + i] = access[i];
        }
    }
}

template <int WIDTH>
__device__ __forceinline__ void cumsum_of_slab(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const Slab slab(slab_packs, rows, cols);
    slab.load(x);
    if (static_cast<int>(threadIdx.x) < slab.rows) running_sums<WIDTH>(slab.row(threadIdx.x), slab.cols);
    slab.store(y);
}
