// Rows of some hundreds of elements, a warp each, without a barrier: it sorts 64 elements at a time and joins them with the
// largest 64 so far. Before this file groups.cuh is included.
#pragma once

#include "top_k/groups.cuh"
#include "top_k/lists.cuh"

// Keys of two elements as `Key`s are, in as many bits as a short row takes, and the index that is in one.
#ifdef SCALAR_IS_FLOAT32

using ShortKey = Key;
__device__ __forceinline__ void short_keys_of(float one, float other, int first, int second, ShortKey (&keys)[2]) {
    keys[0] = key_of(order_of(one), first);
    keys[1] = key_of(order_of(other), second);
}
__device__ __forceinline__ int index_of_short(ShortKey key) { return static_cast<int>(index_of(key)); }

#else

using ShortKey = unsigned;
__device__ __forceinline__ void short_keys_of(SCALAR one, SCALAR other, int first, int second, ShortKey (&keys)[2]) {
    const unsigned low = reinterpret_cast<const unsigned short&>(one);
    const unsigned orders = orders_of(low | reinterpret_cast<const unsigned short&>(other) << 16);
    keys[0] = orders << 16 | (0xffff - first);
    keys[1] = (orders & 0xffff0000u) | (0xffff - second);
}
__device__ __forceinline__ int index_of_short(ShortKey key) { return 0xffff - static_cast<int>(key & 0xffff); }

#endif

// A lane's keys of a warp's 64: number `lane` and number `lane` + 32.
struct TwoKeys {
    ShortKey low, high;
};

// Puts a warp's keys in ascending order, by a bitonic network.
__device__ __forceinline__ void sort_ascending(TwoKeys& keys) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int size = 2; size <= K; size *= 2) {
#pragma unroll
        for (int apart = size / 2; apart; apart /= 2) {
            if (apart == WARP) {
                keys = {min(keys.low, keys.high), max(keys.low, keys.high)};
                continue;
            }
            const ShortKey low = __shfl_xor_sync(WHOLE_WARP, keys.low, apart),
                           high = __shfl_xor_sync(WHOLE_WARP, keys.high, apart);
            const bool falls = size < WARP && (lane & size), takes_larger = ((lane & apart) != 0) != falls;
            // Of runs of 32 the second one falls.
            const bool high_takes_larger = (size == WARP) != takes_larger;
            keys.low = takes_larger ? max(keys.low, low) : min(keys.low, low);
            keys.high = high_takes_larger ? max(keys.high, high) : min(keys.high, high);
        }
    }
}

// The largest 64, in descending order, of keys in that order and of others in ascending order.
__device__ __forceinline__ TwoKeys joined(const TwoKeys& descending, const TwoKeys& ascending) {
    const ShortKey one = max(descending.low, ascending.low), other = max(descending.high, ascending.high);
    TwoKeys keys = {max(one, other), min(one, other)};
    merge_halves(keys);
    return keys;
}

// The calling warp's row of `cols` elements, K to 2^16.
__device__ __forceinline__ void select_by_warp(const SCALAR* x, SCALAR* value, long long* index, int cols) {
    const int lane = threadIdx.x % WARP;
    TwoKeys largest = {0, 0};
#pragma unroll 1
    for (int first = lane; first < cols + lane; first += K) {
        const int second = first + WARP;
        ShortKey keys[2];
        short_keys_of(
            first < cols ? x[first] : SCALAR(0.0f), second < cols ? x[second] : SCALAR(0.0f), first, second, keys
        );
        TwoKeys next = {first < cols ? keys[0] : 0, second < cols ? keys[1] : 0};
        sort_ascending(next);
        largest = joined(largest, next);
    }
    const int low = index_of_short(largest.low), high = index_of_short(largest.high);
    value[lane] = x[low];
    value[lane + WARP] = x[high];
    index[lane] = low;
    index[lane + WARP] = high;
}
