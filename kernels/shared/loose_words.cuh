// 16-bit elements at any address: 8 of them out of the two words of 16 bytes that they lie in.
//
// TMA and accesses of 16 bytes want rows of whole 16 bytes. Where they are not, these words are read as they lie, and the
// elements are shifted to their place in registers: a word at the edge of a row is read for both rows, and found in L1.
#pragma once

#include "shared/amid_words.cuh"
#include "shared/ampere.cuh"

using Element = unsigned short;

// ALIGNED: they begin at a multiple of 16 bytes.
template <bool ALIGNED>
struct Eight {
    uint4 low, high;
    unsigned past;

    __device__ __forceinline__ void load(const Element* from) {
        const Element* const at = begin(from);
        low = __ldg(reinterpret_cast<const uint4*>(at));
        if constexpr (!ALIGNED) high = __ldg(reinterpret_cast<const uint4*>(at + 8));
    }
    __device__ __forceinline__ void words(unsigned (&to)[4]) const {
        if constexpr (ALIGNED) {
            to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
        } else {
            bytes_amid(low, high, past, to);
        }
    }

private:
    __device__ __forceinline__ const Element* begin(const Element* from) {
        const auto address = reinterpret_cast<unsigned long long>(from);
        past = ALIGNED ? 0 : address % 16;
        return reinterpret_cast<const Element*>(address - past);
    }
};

// Words of 16 bytes, `pitch` elements apart, of which only what lies from `begin` to `end` is there: zeros otherwise. No branch
// lies between the loads, so that all are under way at once.
__device__ __forceinline__ void load_within(
    Eight<true> (&words)[8], const Element* from, long long pitch, const Element* begin, const Element* end
) {
    bool at_an_edge = false;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const Element* const at = from + i * pitch;
        const bool is_whole = at >= begin && at + 8 <= end;
        at_an_edge |= !is_whole && at + 8 > begin && at < end;
        asm volatile("{\n.reg .pred whole;\nsetp.ne.u32 whole, %5, 0;\n"
                     "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                     "@whole ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                     : "=r"(words[i].low.x), "=r"(words[i].low.y), "=r"(words[i].low.z), "=r"(words[i].low.w)
                     : "l"(at), "r"(static_cast<unsigned>(is_whole)));
    }
    if (!__any_sync(WHOLE_WARP, at_an_edge)) return;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const Element* const at = from + i * pitch;
        if ((at >= begin && at + 8 <= end) || at + 8 <= begin || at >= end) continue;
        unsigned word[4] = {};
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            if (at + j >= begin && at + j < end) word[j / 2] |= static_cast<unsigned>(__ldg(at + j)) << j % 2 * 16;
        }
        words[i].low = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

// Of 8 elements the first `count`, as bits of the four words.
__device__ __forceinline__ void bits_of(unsigned (&mask)[4], long long count) {
#pragma unroll
    for (int i = 0; i < 4; ++i) mask[i] = count >= i * 2 + 2 ? ~0u : count == i * 2 + 1 ? 0xffffu : 0;
}

// ---- Products whose operands come straight from memory -----------------------------------------
//
// A warp takes 64 columns of B over 32 rows. A lane brings 8 columns of 8 rows: lanes q = lane % 4 rows 8 q to 8 q + 7,
// lanes g = lane / 4 columns 8 g to 8 g + 7. mma.sync takes these for k = 2 q, 2 q + 1, 2 q + 8, 2 q + 9 of two
// products, and rows g and g + 8 of four: any order of k will do, and C comes out transposed. Of A a lane brings 8 elements
// of row g, 8 q and on, of each 8 rows.

constexpr int LOOSE_STEP = 32;     // of k
constexpr int LOOSE_COLUMNS = 64;  // of a warp

// What mma.sync takes of a warp's 64 columns: of each half of the rows and of each pair of a lane's columns.
using LooseColumns = unsigned[2][4][4];

template <bool ALIGNED>
__device__ __forceinline__ void to_columns(const Eight<ALIGNED> (&rows)[8], LooseColumns& columns) {
    unsigned words[8][4];
#pragma unroll
    for (int i = 0; i < 8; ++i) rows[i].words(words[i]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = half * 4 + i / 2 * 2;
                columns[half][j][i] = __byte_perm(words[row][j], words[row + 1][j], i % 2 ? 0x7632 : 0x5410);
            }
        }
    }
}

// sum of 8 rows of A: of a lane columns 8 g + 2 j and the next of row 2 q in sum[j][0] and [2], of the next row in [1], [3].
__device__ __forceinline__ void multiply_loose(
    float (&sum)[4][4], const LooseColumns& columns, const unsigned (&row)[4]
) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply_add(sum[j], columns[half][j], row[half * 2], row[half * 2 + 1]);
    }
}
