// Words of 16 bytes that a row of C in 16 bits has a part of: the elements that are the row's.
#pragma once

#include "shared/common.cuh"

// Of 8 elements the first `count`, up to where a word begins, by as few accesses as they take.
__device__ __forceinline__ void store_before_word(SCALAR* to, const uint4& eight, int count) {
    unsigned word[3] = {eight.x, eight.y, eight.z};
    if (count & 1) {
        *reinterpret_cast<unsigned short*>(to++) = static_cast<unsigned short>(word[0]);
        word[0] = __funnelshift_r(word[0], word[1], 16), word[1] = __funnelshift_r(word[1], word[2], 16);
        word[2] = __funnelshift_r(word[2], eight.w, 16);
    }
    if (count & 2) *reinterpret_cast<unsigned*>(to) = word[0], to += 2, word[0] = word[1], word[1] = word[2];
    if (count & 4) *reinterpret_cast<uint2*>(to) = make_uint2(word[0], word[1]);
}

// The first `count` from where a word begins.
__device__ __forceinline__ void store_within_word(SCALAR* to, const unsigned (&eight)[4], int count) {
    unsigned word = eight[0], next = eight[1];
    if (count & 4) *reinterpret_cast<uint2*>(to) = make_uint2(word, next), to += 4, word = eight[2], next = eight[3];
    if (count & 2) *reinterpret_cast<unsigned*>(to) = word, to += 2, word = next;
    if (count & 1) *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(word);
}
