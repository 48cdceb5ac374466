// Digits of 8 bits of keys of 32, and the kernel that counts those of all four positions.
#pragma once

#include "shared/common.cuh"

constexpr int DIGITS = 256;
constexpr int PASSES = 4;

// A digit as it lies in the key, by the selector of its pass: one instruction.
__device__ __forceinline__ unsigned digit_of(unsigned key, unsigned selector) { return __byte_perm(key, 0, selector); }
__device__ __forceinline__ unsigned selector_of(int pass) { return 0x4440u + pass; }

// The digit that comes at a place in order: signed keys are in the order of unsigned ones with the first bit turned.
__device__ __forceinline__ int digit_at(int place, int pass) { return pass == PASSES - 1 ? place ^ 128 : place; }

// The sum of the values of threads before this one, of the first DIGITS threads of a block; all take part.
__device__ __forceinline__ unsigned sum_before(unsigned value) {
    __shared__ unsigned totals[DIGITS / WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    unsigned up_to = value;
#pragma unroll
    for (int offset = 1; offset < WARP; offset *= 2) {
        const unsigned before = __shfl_up_sync(WHOLE_WARP, up_to, offset);
        if (lane >= offset) up_to += before;
    }
    if (threadIdx.x < DIGITS && lane == WARP - 1) totals[warp] = up_to;
    __syncthreads();
    unsigned sum = up_to - value;
#pragma unroll
    for (int w = 0; w < DIGITS / WARP; ++w) sum += w < warp ? totals[w] : 0;
    return sum;
}

// ---- Counts of digits --------------------------------------------------------------------------

constexpr int COUNTING_THREADS = 1024;  // as in cuda_onesweep.py
// Of each count: one for each lane, in a bank of its own, where a block has the room; else few lanes meet.
// As in cuda_onesweep.py.
constexpr bool HAS_ROOM =
    __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030;
constexpr int COPIES = HAS_ROOM ? WARP : 8;
constexpr int PACKS = 4;  // of 4 keys, that a thread has under way

__device__ __forceinline__ void count_key(unsigned* mine, unsigned key) {
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass)
        atomicAdd(mine + (pass * DIGITS + digit_of(key, selector_of(pass))) * COPIES, 1u);
}

__device__ __forceinline__ void count_pack(unsigned* mine, const uint4& keys) {
    count_key(mine, keys.x);
    count_key(mine, keys.y);
    count_key(mine, keys.z);
    count_key(mine, keys.w);
}

// Counts the keys of a thread into its copy of the counts.
__device__ __forceinline__ void count_keys(unsigned* mine, const unsigned* key, long long n) {
    const long long thread = thread_of_grid(), step = static_cast<long long>(gridDim.x) * COUNTING_THREADS;
    const long long past = reinterpret_cast<unsigned long long>(key) / 4 % 4;
    const long long head = min((4 - past) % 4, n), packs = (n - head) / 4;
    const uint4* const whole = reinterpret_cast<const uint4*>(key + head);
    long long pack = thread;
    for (; pack + (PACKS - 1) * step < packs; pack += PACKS * step) {
        uint4 keys[PACKS];
#pragma unroll
        for (int i = 0; i < PACKS; ++i) keys[i] = __ldg(whole + pack + i * step);
#pragma unroll
        for (int i = 0; i < PACKS; ++i) count_pack(mine, keys[i]);
    }
    for (; pack < packs; pack += step) count_pack(mine, __ldg(whole + pack));
    const long long edges = n - packs * 4;  // the few keys beside the packs
    if (thread < edges) count_key(mine, key[thread < head ? thread : thread + packs * 4]);
}

extern "C" __global__ void __launch_bounds__(COUNTING_THREADS) radix_sort_count(
    const unsigned* __restrict__ key, unsigned* counts, unsigned* counters, long long n
) {
    extern __shared__ unsigned memory[];  // PASSES x DIGITS x COPIES
    __shared__ bool is_last;
    for (int i = threadIdx.x; i < PASSES * DIGITS * COPIES; i += COUNTING_THREADS) memory[i] = 0;
    __syncthreads();
    count_keys(memory + threadIdx.x % COPIES, key, n);
    __syncthreads();
    for (int i = threadIdx.x; i < PASSES * DIGITS; i += COUNTING_THREADS) {
        unsigned sum = 0;
#pragma unroll
        for (int c = 0; c < COPIES; ++c) sum += memory[i * COPIES + (c + threadIdx.x) % COPIES];
        if (sum) atomicAdd(counts + i, sum);
    }
    // The last block to end makes of counts where each digit's keys start.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(counters + PASSES, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    for (int pass = 0; pass < PASSES; ++pass) {
        unsigned* const count = counts + pass * DIGITS + digit_at(threadIdx.x % DIGITS, pass);
        const unsigned start = sum_before(threadIdx.x < DIGITS ? __ldcg(count) : 0);
        if (threadIdx.x < DIGITS) *count = start;
        __syncthreads();
    }
}
