// Short rows, a thread or some lanes each, by way of shared memory: those of a block are one run, which comes and goes by
// 16 bytes.
//
// A thread walks along its row by accesses of WIDTH elements, the widest that every row begins on. Rows that begin on fewer
// than 16 bytes are then an odd number of them apart, or they would begin on more, and lanes fall in different banks.
#pragma once

#include "shared/async_copies.cuh"
#include "shared/shifted.cuh"

template <int WIDTH>
struct alignas(WIDTH * sizeof(SCALAR)) Access {
    SCALAR element[WIDTH];
};

// Rows of a tensor that begins on 16 bytes. A block has a multiple of PACK rows, so that its own begin there too.
struct Slab {
    long long first;        // row
    int rows, cols, count;  // of elements
    Bits* packs;

    // Some lanes a row.
    __device__ __forceinline__ Slab(Bits* packs, long long all_rows, long long all_cols, int lanes = 1)
        : Slab(packs, all_rows, all_cols, static_cast<long long>(blockIdx.x), static_cast<int>(blockDim.x) / lanes) {}
    // Slab number `number`, of up to `most` rows.
    __device__ __forceinline__ Slab(Bits* packs, long long all_rows, long long all_cols, long long number, int most)
        : first(number * most), cols(static_cast<int>(all_cols)), packs(packs) {
        rows = static_cast<int>(min(all_rows - first, static_cast<long long>(most)));
        count = rows * cols;
    }
    __device__ __forceinline__ SCALAR* row(int number) const {
        return reinterpret_cast<SCALAR*>(packs) + number * cols;
    }

    // The block waits for what it has begun to load by wait_for_copies().
    __device__ __forceinline__ void begin_load(const SCALAR* x) const {
        x += first * cols;
        int at = threadIdx.x * PACK;
        for (; at + PACK <= count; at += blockDim.x * PACK) start_copy<false>(packs + at / PACK, x + at);
        if (at < count) packs[at / PACK] = load_elements(x + at, count - at);
    }
    __device__ __forceinline__ void load(const SCALAR* x) const {
        begin_load(x);
        wait_for_copies();
    }
    __device__ __forceinline__ void store(SCALAR* y) const {
        __syncthreads();
        y += first * cols;
        for (int at = threadIdx.x * PACK; at < count; at += blockDim.x * PACK) {
            store_part(y + at, reinterpret_cast<const Pack&>(packs[at / PACK]), count - at);
        }
    }
};
