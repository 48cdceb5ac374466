// The largest elements of groups of a row, and the order of groups: for blocks that find the groups in which a row's largest
// elements are. THREADS of a block and MOST_GROUPS of a thread are defined before this file is included.
#pragma once

#include "top_k/selection.cuh"

// ---- The order of groups: by the largest element, of equal ones the first group above the rest ------

#ifdef SCALAR_IS_FLOAT32

using Largest = float;  // of a group
#define LOWEST NEGATIVE_INFINITY

__device__ __forceinline__ float larger(float one, float other) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(one) : "f"(one), "f"(other));
    return one;
}

__device__ __forceinline__ float largest_of(const Bits& pack) {
    return larger(
        larger(__uint_as_float(pack.x), __uint_as_float(pack.y)),
        larger(__uint_as_float(pack.z), __uint_as_float(pack.w))
    );
}

// Equal elements are rare enough: which group they are in does not count.
__device__ __forceinline__ unsigned order_of_group(float largest, int) { return order_of(largest); }

// Calls `add(i)` for each element of a pack that is as large as what has this order.
template <typename Add>
__device__ __forceinline__ void for_each_as_large(const Bits& pack, unsigned least, const Add& add) {
    const float (&values)[4] = reinterpret_cast<const float (&)[4]>(pack);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (order_of(values[i]) >= least) add(i);
    }
}
constexpr int GROUP_BITS = 0;

#else

using Largest = unsigned;  // of even and of odd elements
#ifdef SCALAR_IS_BFLOAT16
#define LARGER "max.NaN.bf16x2 "
#define ONE_OF_BOTH "fma.rn.bf16x2"
#define LOWEST 0xff80ff80u
#define ONES 0x3f803f80u
#else
#define LARGER "max.NaN.f16x2 "
#define ONE_OF_BOTH "fma.rn.f16x2"
#define LOWEST 0xfc00fc00u
#define ONES 0x3c003c00u
#endif

__device__ __forceinline__ unsigned larger(unsigned one, unsigned other) {
    asm(LARGER "%0, %1, %2;" : "=r"(one) : "r"(one), "r"(other));
    return one;
}

__device__ __forceinline__ unsigned largest_of(const Bits& pack) {
    return larger(larger(pack.x, pack.y), larger(pack.z, pack.w));
}

// The orders of two elements, as order_of has them: 16 bits need no more. A product with 1 and the sum with 0 make one of
// both zeros, and one of all NaNs, whose bits are then the largest of all.
__device__ __forceinline__ unsigned orders_of(unsigned two) {
    asm(ONE_OF_BOTH " %0, %1, %2, %3;" : "=r"(two) : "r"(two), "r"(ONES), "r"(0u));
    unsigned negative;  // all bits of each half's sign, which __byte_perm cannot repeat
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(negative) : "r"(two));
    return two ^ (negative | 0x80008000u);
}

__device__ __forceinline__ unsigned order_of_group(unsigned largest, int group) {
    const unsigned orders = orders_of(largest);
    return (max(orders, orders << 16) & 0xffff0000u) | (0xffff - group);
}

// Calls `add(i)` for each element of a pack that is as large as what has this order.
template <typename Add>
__device__ __forceinline__ void for_each_as_large(const Bits& pack, unsigned least, const Add& add) {
    const unsigned (&words)[4] = reinterpret_cast<const unsigned (&)[4]>(pack);
    least &= 0xffff0000u;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const unsigned orders = orders_of(words[i]);
        if (orders << 16 >= least) add(2 * i);
        if (orders >= least) add(2 * i + 1);
    }
}
constexpr int GROUP_BITS = 16;

#endif

// The K-th largest of the block's orders, one a thread; NONE where fewer threads have any. Bit by bit, from the first one in
// which any two differ: each barrier counts the threads that a bit more would leave.
__device__ __forceinline__ unsigned kth_largest(unsigned mine) {
    __shared__ uint2 bounds[THREADS / WARP];
    const uint2 of_warp = {__reduce_min_sync(WHOLE_WARP, mine), __reduce_max_sync(WHOLE_WARP, mine)};
    if (threadIdx.x % WARP == 0) bounds[threadIdx.x / WARP] = of_warp;
    __syncthreads();
    const uint2 some = bounds[threadIdx.x % (THREADS / WARP)];
    const unsigned least = __reduce_min_sync(WHOLE_WARP, some.x), most = __reduce_max_sync(WHOLE_WARP, some.y);
    int bit = 31 - __clz(least ^ most);
    unsigned found = bit < 0 ? most : most & ~1u << bit;
#pragma unroll 1
    for (; bit >= GROUP_BITS; --bit) {
        const unsigned more = found | 1u << bit;
        if (__syncthreads_count(mine >= more) >= K) found = more;
    }
    if (GROUP_BITS == 0 || found == NONE) return found;
    found |= 0xffff & -MOST_GROUPS;  // which all groups have
    static_assert(MOST_GROUPS == 1 << 4);
#pragma unroll 1
    for (bit = min(bit, 3); bit >= 0; --bit) {
        const unsigned more = found | 1u << bit;
        if (__syncthreads_count(mine >= more) >= K) found = more;
    }
    return found;
}

// A thread's packs under way, THREADS apart.
template <int BATCH>
struct Batch {
    Bits packs[BATCH];

    // Whether all of them are there where `left` are, from the thread's own on.
    static __device__ __forceinline__ bool fits(int left) { return left > (BATCH - 1) * THREADS; }
    __device__ __forceinline__ void load_from(const SCALAR* x, int left) {
        if (!fits(left)) return;
#pragma unroll
        for (int i = 0; i < BATCH; ++i) packs[i] = load(x + i * THREADS * PACK);
    }
};

// The order of the largest of a thread's groups; that of each is left in `orders`. A group is `length` packs of a thread,
// THREADS apart: one, or a multiple of BATCH. `x` begins with the thread's first pack, of `packs` packs of its block; the
// first batch of them is loaded.
template <int BATCH>
__device__ __forceinline__ unsigned scan(
    const SCALAR* x, int packs, int length, unsigned* orders, Batch<BATCH>& batch
) {
    unsigned best = NONE;
    Largest largest = LOWEST;
    int group = 0, in_group = 0;
    const auto end_group = [&](Largest value) {
        const unsigned order = order_of_group(value, group++);
        *orders = order;
        orders += THREADS;
        best = max(best, order);
    };
    int left = packs - static_cast<int>(threadIdx.x);  // before which there are packs of this thread
    while (Batch<BATCH>::fits(left)) {
        if (length == 1) {
#pragma unroll
            for (int i = 0; i < BATCH; ++i) end_group(largest_of(batch.packs[i]));
        } else {
#pragma unroll
            for (int i = 0; i < BATCH; ++i) largest = larger(largest, largest_of(batch.packs[i]));
            in_group += BATCH;
            if (in_group == length) {
                end_group(largest);
                largest = LOWEST;
                in_group = 0;
            }
        }
        left -= BATCH * THREADS;
        x += BATCH * THREADS * PACK;
        batch.load_from(x, left);
    }
#pragma unroll 1
    for (; left > 0; left -= THREADS, x += THREADS * PACK, ++in_group) {
        const Largest one = largest_of(load(x));
        if (length == 1) end_group(one);
        else largest = larger(largest, one);
    }
    if (length > 1 && in_group) end_group(largest);
    return best;
}
