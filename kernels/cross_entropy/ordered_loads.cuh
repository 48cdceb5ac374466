// Loads in the order in which they are written, so that all of a row is under way at once.
//
// Where it may choose, the compiler waits for the first accesses of a row, or for its label, before it asks for the last: each
// time memory is waited for once more.
#pragma once

#include "shared/rows.cuh"

// A word of one or two elements.
#if defined(SCALAR_IS_FLOAT32)
constexpr unsigned NEGATIVE_INFINITIES = 0xff800000u;
#elif defined(SCALAR_IS_FLOAT16)
constexpr unsigned NEGATIVE_INFINITIES = 0xfc00fc00u;
#else
constexpr unsigned NEGATIVE_INFINITIES = 0xff80ff80u;
#endif

// As many words as an access has, where they are wanted; without a branch.
template <int WORDS>
__device__ __forceinline__ void load_where(bool wanted, const void* from, unsigned* words) {
    if constexpr (WORDS == 4) {
        asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %4, 0;\n"
                     "@wanted ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%5];\n}"
                     : "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3])
                     : "r"(static_cast<int>(wanted)), "l"(from));
    } else if constexpr (WORDS == 2) {
        asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %2, 0;\n@wanted ld.global.nc.v2.b32 {%0, %1}, [%3];\n}"
                     : "+r"(words[0]), "+r"(words[1])
                     : "r"(static_cast<int>(wanted)), "l"(from));
    } else {
        asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %1, 0;\n@wanted ld.global.nc.b32 %0, [%2];\n}"
                     : "+r"(words[0])
                     : "r"(static_cast<int>(wanted)), "l"(from));
    }
}

__device__ __forceinline__ Bits load_pack_where(bool wanted, const void* from) {
    unsigned words[4] = {NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES};
    load_where<4>(wanted, from, words);
    return {words[0], words[1], words[2], words[3]};
}

// A thread's share of a row by accesses of WIDTH elements, all under way at once.
template <int WIDTH, typename Part, int PACKS>
__device__ __forceinline__ void load_by(const Part& share, const SCALAR* row, Bits (&kept)[PACKS]) {
    constexpr int WORDS = WIDTH * sizeof(SCALAR) / 4;
    const int first = share.column(0, 0);
    row += first;  // the others at constant distances
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        unsigned words[4] = {NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES, NEGATIVE_INFINITIES};
#pragma unroll
        for (int i = 0; i < PACK; i += WIDTH) {
            load_where<WORDS>(share.has(p, i), row + (share.column(p, i) - first), words + i / WIDTH * WORDS);
        }
        kept[p] = {words[0], words[1], words[2], words[3]};
    }
}

// The label of a row, for every thread of it.
__device__ __forceinline__ long long label_of(const long long* labels, long long row) {
    long long label;
    asm volatile("ld.global.nc.b64 %0, [%1];" : "=l"(label) : "l"(labels + row));
    return label;
}

// The row of a row group, or the last one again for those that have none: they only store nothing.
template <int GROUP>
__device__ __forceinline__ long long group_row_of(long long rows) {
    const long long row = group_row<GROUP>();
    return row < rows ? row : rows - 1;
}

// What was asked for, once `value` is known: the compiler would look at it as soon as it can, and wait for it there.
__device__ __forceinline__ long long once_known(float value, long long label) {
    return label + (__float_as_uint(value) & unknown_zero());
}
__device__ __forceinline__ SCALAR once_known(float value, SCALAR element) {
    const unsigned zero = __float_as_uint(value) & unknown_zero();
    if constexpr (sizeof(SCALAR) == 4) {
        const unsigned bits = reinterpret_cast<const unsigned&>(element) | zero;
        return reinterpret_cast<const SCALAR&>(bits);
    } else {
        const unsigned short bits = reinterpret_cast<const unsigned short&>(element) | zero;
        return reinterpret_cast<const SCALAR&>(bits);
    }
}
