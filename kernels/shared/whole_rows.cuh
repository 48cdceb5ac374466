// Copies of two matrices whose rows are of whole 16 bytes, as TMA wants them, in one kernel.
//
// Mapping: a thread makes 16 bytes. They lie in two words of 16 bytes of the matrix, which begin where words do; the second
//   is the first of the next thread, and so found in L1. Both are under way at once, and only at the matrix's ends a thread
//   asks byte by byte what is there. What fills up a row is 0.
// Idea: torch's padding is two kernels a matrix, one for the zeros and one for the elements.
#pragma once

#include "shared/amid_words.cuh"
#include "shared/overlap.cuh"

// Rows of `bytes` bytes, one behind the other, and where they go, in `units` times 16 bytes each.
struct Rows {
    const unsigned char* from;
    uint4* to;
    unsigned count, units;
    unsigned long long bytes;
};

// Of a kernel's parameters.
__device__ __forceinline__ Rows
rows_of(const unsigned char* from, uint4* to, long long count, long long units, long long bytes) {
    return {from, to, static_cast<unsigned>(count), static_cast<unsigned>(units),
            static_cast<unsigned long long>(bytes)};
}

// The word at an address that is a multiple of 16, of which only what lies from `begin` to `end` is there.
__device__ __forceinline__ uint4
word_near(const unsigned char* at, const unsigned char* begin, const unsigned char* end) {
    if (at >= begin && at + 16 <= end) return __ldg(reinterpret_cast<const uint4*>(at));
    unsigned word[4] = {};
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        if (at + i >= begin && at + i < end) word[i / 4] |= static_cast<unsigned>(at[i]) << i % 4 * 8;
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

__device__ __forceinline__ uint4 unit_of(const Rows& rows, unsigned index) {
    const unsigned row = index / rows.units, unit = index - row * rows.units;
    const unsigned char* const end = rows.from + rows.count * rows.bytes;
    const unsigned char* const from = rows.from + row * rows.bytes + unit * 16ull;
    const unsigned past = reinterpret_cast<unsigned long long>(from) % 16;
    const unsigned char* const at = from - past;
    uint4 low, high;
    if (at >= rows.from && at + 32 <= end) {
        low = __ldg(reinterpret_cast<const uint4*>(at));
        high = __ldg(reinterpret_cast<const uint4*>(at) + 1);
    } else {
        low = word_near(at, rows.from, end);
        high = word_near(at + 16, rows.from, end);
    }
    unsigned word[4];
    bytes_amid(low, high, past, word);
    const long long left = static_cast<long long>(rows.bytes - unit * 16ull);  // none where rows have units more
    if (left < 16) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (left < i * 4 + 4) word[i] &= left <= i * 4 ? 0 : (1u << (left - i * 4) * 8) - 1;
        }
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

struct EveryRow {
    __device__ __forceinline__ bool operator()(unsigned) const { return true; }
};

// `wants(row)` tells, behind the kernel in front, whether a row of b is to be copied.
template <class Wants>
__device__ __forceinline__ void make_whole_rows(const Rows& a, const Rows& b, const Wants& wants) {
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x, of_a = a.count * a.units;
    wait_for_previous();
    let_next_start();
    if (index < of_a) {
        a.to[index] = unit_of(a, index);
    } else if (index - of_a < b.count * b.units && wants((index - of_a) / b.units)) {
        b.to[index - of_a] = unit_of(b, index - of_a);
    }
}

// As whole_rows.py launches it.
#define WHOLE_ROWS_KERNEL                                                                                         \
    extern "C" __global__ void whole_rows(                                                                        \
        const unsigned char* a, uint4* whole_a, long long a_rows, long long a_units, long long a_bytes,           \
        const unsigned char* b, uint4* whole_b, long long b_rows, long long b_units, long long b_bytes            \
    ) {                                                                                                           \
        make_whole_rows(                                                                                          \
            rows_of(a, whole_a, a_rows, a_units, a_bytes), rows_of(b, whole_b, b_rows, b_units, b_bytes),         \
            EveryRow{}                                                                                            \
        );                                                                                                        \
    }
