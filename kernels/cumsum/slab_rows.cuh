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

// The same of rows that begin on 16 bytes: they lie an odd number of packs apart, or lanes would fall in the same banks.
template <class Act>
__device__ __forceinline__ void for_apart(int rows, int packs, int pitch, const Act& act) {
    const int threads = blockDim.x, rows_on = threads / packs, packs_on = threads - rows_on * packs;
    int row = threadIdx.x / packs, pack = threadIdx.x - row * packs;
    for (int at = threadIdx.x; row < rows; at += threads) {
        act(at, row * pitch + pack);
        row += rows_on;
        pack += packs_on;
        if (pack >= packs) {
            pack -= packs;
            ++row;
        }
    }
}

__device__ __forceinline__ void cumsum_of_rows_apart(const SCALAR* x, SCALAR* y, long long rows, long long cols) {
    extern __shared__ __align__(16) Bits slab_packs[];
    const int packs = static_cast<int>(cols) / PACK, pitch = packs | 1;
    const long long first = static_cast<long long>(blockIdx.x) * blockDim.x;
    const int here = static_cast<int>(min(rows - first, static_cast<long long>(blockDim.x)));
    x += first * cols;
    y += first * cols;
    for_apart(here, packs, pitch, [&](int at, int to) { start_copy<false>(slab_packs + to, x + at * PACK); });
    wait_for_copies();
    if (static_cast<int>(threadIdx.x) < here) {
        running_sums<PACK>(reinterpret_cast<SCALAR*>(slab_packs + threadIdx.x * pitch), static_cast<int>(cols));
    }
    __syncthreads();
    for_apart(here, packs, pitch, [&](int at, int from) {
        store_whole_pack(y + at * PACK, reinterpret_cast<const Pack&>(slab_packs[from]));
    });
}
