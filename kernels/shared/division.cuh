// Quotients by a number that the launcher knows: shared/division.py.
#pragma once

#include "shared/common.cuh"

struct Division {
    unsigned by, multiplier;
    int shift;

    __device__ __forceinline__ Division(long long by, long long multiplier, long long shift)
        : by(static_cast<unsigned>(by)), multiplier(static_cast<unsigned>(multiplier)), shift(static_cast<int>(shift)) {
    }
    // Of a number below 2^31.
    __device__ __forceinline__ unsigned quotient(unsigned number) const {
        return static_cast<unsigned>(static_cast<unsigned long long>(number) * multiplier >> shift);
    }
    __device__ __forceinline__ unsigned remainder(unsigned number, unsigned quotient) const {
        return number - quotient * by;
    }
};
