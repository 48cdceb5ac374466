// Keys of elements: as integers they are in the order of the elements, of equal ones the first above the rest.
#pragma once

#include "shared/common.cuh"

constexpr int K = 64;  // as in eager.py

using Key = unsigned long long;

constexpr unsigned NONE = 0;               // below every element
constexpr unsigned LARGEST = 0xfffffffeu;  // so that no key has all bits set

// The order of an element among others: negative ones with all bits turned, others with the sign alone. Zeros of
// either sign are equal, and a NaN of either sign is the largest.
__device__ __forceinline__ unsigned order_of(float value) {
    if (value != value) return LARGEST;
    const unsigned bits = __float_as_uint(value + 0.0f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// The element that has this order; NaN for NONE and for LARGEST.
__device__ __forceinline__ float element_of(unsigned order) {
    return __uint_as_float(order >> 31 ? order ^ 0x80000000u : ~order);
}

__device__ __forceinline__ Key key_of(unsigned order, long long index) {
    return static_cast<Key>(order) << 32 | static_cast<unsigned>(~index);
}

__device__ __forceinline__ long long index_of(Key key) { return static_cast<unsigned>(~key); }
