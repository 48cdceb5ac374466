// Quotients by a number that the launcher knows: shared/division.py.
#pragma once

#include "shared/common.cuh"

struct Division {
    unsigned by, multiplier;
    int shift;

    __device__ __forceinline__ Division(long long by, long long multiplier, long long shift)
        : by(static_cast<unsigned>(by)), multiplier(static_cast<unsigned>(multiplier)), shift(static_cast<int>(shift)) {
    }
    // Of a number below 2^31: twice as much fits a register, and leaves the first 31 places of the shift to the upper half of
    // a product. A shift in 64 bits would take three instructions more.
    __device__ __forceinline__ unsigned quotient(unsigned number) const {
        return __umulhi(2 * number, multiplier) >> (shift - 31);
    }
    __device__ __forceinline__ unsigned remainder(unsigned number, unsigned quotient) const {
        return number - quotient * by;
    }
};
