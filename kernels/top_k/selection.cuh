// What blocks that select from a row share: keys that they put down, parts of a row, and what to do where there are too
// many. THREADS of a block and CAPACITY, the keys it has room for, are defined before this file is included.
#pragma once

#include "top_k/keys.cuh"

// What a block has put down.
struct Found {
    Key keys[CAPACITY];
    int count;

    __device__ __forceinline__ void add(float value, long long index) {
        const int at = atomicAdd(&count, 1);
        if (at < CAPACITY) keys[at] = key_of(order_of(value), index);
    }
};

// Sorts `count` keys in descending order, a power of two of them.
__device__ __forceinline__ void sort(Key* keys, int count) {
    for (int size = 2; size <= count; size *= 2) {
        for (int apart = size / 2; apart; apart /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < count / 2; i += THREADS) {
                const int low = i / apart * (2 * apart) + i % apart, high = low + apart;
                const Key a = keys[low], b = keys[high];
                if ((a < b) == ((low & size) == 0)) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
        }
    }
    __syncthreads();
}

// Exactly K keys of elements [begin, end) of a row, by a digit of 8 bits a pass; all of them are different.
__device__ __forceinline__ void select_by_digits(const SCALAR* x, long long begin, long long end, Found& found) {
    __shared__ int counts[256];
    __shared__ Key prefix;
    __shared__ int wanted;
    if (threadIdx.x == 0) {
        prefix = 0;
        wanted = K;
        found.count = 0;
    }
#pragma unroll 1
    for (int shift = 56; shift >= 0; shift -= 8) {
        if (threadIdx.x < 256) counts[threadIdx.x] = 0;
        __syncthreads();
        const Key upper = shift < 56 ? ~0ull << (shift + 8) : 0;
#pragma unroll 1
        for (long long i = begin + threadIdx.x; i < end; i += THREADS) {
            const Key key = key_of(order_of(to_float(x[i])), i);
            if ((key & upper) == prefix) atomicAdd(&counts[key >> shift & 255], 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 255;
            for (; counts[digit] < wanted; --digit) wanted -= counts[digit];
            prefix |= static_cast<Key>(digit) << shift;
        }
        __syncthreads();
    }
#pragma unroll 1
    for (long long i = begin + threadIdx.x; i < end; i += THREADS) {
        const float value = to_float(x[i]);
        if (key_of(order_of(value), i) >= prefix) found.add(value, i);
    }
    __syncthreads();
}

// A pack as it is kept, in whole words: a Pack would be taken apart into a register an element.
using Bits = uint4;

__device__ __forceinline__ Bits load(const SCALAR* x) { return __ldg(reinterpret_cast<const Bits*>(x)); }

__device__ __forceinline__ void unpack(const Bits& bits, float (&values)[PACK]) {
    unpack(reinterpret_cast<const Pack&>(bits), values);
}

// Some packs of a row and the elements beside them, [begin, end).
struct Part {
    AlignedRun run;
    long long first, last;  // packs
    long long begin, end;   // elements

    __device__ __forceinline__ Part(const SCALAR* x, long long cols, int part, int parts, long long length)
        : run(x, cols), first(part * length), last(part + 1 < parts ? first + length : run.packs) {
        begin = part ? run.pack_at(first) : 0;
        end = part + 1 < parts ? run.pack_at(last) : cols;
    }
};

// Sorts what was put down, `count` keys.
__device__ __forceinline__ void sort_found(Key* keys, int count) {
    int padded = K;
    while (padded < count) padded *= 2;
    for (int i = count + threadIdx.x; i < padded; i += THREADS) keys[i] = 0;
    sort(keys, padded);
}

__device__ __forceinline__ void store(const SCALAR* x, const Key* keys, SCALAR* value, long long* index) {
    if (threadIdx.x >= K) return;
    const long long at = index_of(keys[threadIdx.x]);
    value[threadIdx.x] = x[at];
    index[threadIdx.x] = at;
}
