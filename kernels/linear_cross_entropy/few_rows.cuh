// The statistics of few rows of logits, from rows of w that begin anywhere: w is read once, as it lies, and never copied.
//
// Mapping: rows of w 8 apart begin alike. So a warp takes 16 rows each 8 behind the one before, and reads words of 16 bytes as they
//   lie; mma.sync takes any order of hidden. Not w is shifted but x, which lies in shared memory: the elements that meet a
//   word's begin as far in front. What a word has of the next row is left out. Of each product a thread has two logits of two
//   rows of x, and joins them to its own maximum and sum; blocks leave one piece of each row.
// Idea: shared/few_rows.cuh, which has its B across. TMA wants rows of whole 16 bytes, and the copy of w that has them is two of
//   three passes over it.
#pragma once

#include "linear_cross_entropy/join.cuh"
#include "shared/loose_words.cuh"
#include "shared/overlap.cuh"

constexpr int FEW_WARPS = 16, ROWS_OF_WARP = 16, WORDS_AT_ONCE = 4;  // as in few_rows.py
constexpr int IN_FRONT = 8;                                          // zeros of a row of x in shared memory

// Of two rows words number `first`, `first` + 4 and so on of as many as each has; those that lie beyond an end of w in part
// are read by elements. No branch lies between the loads, so that all are under way at once.
__device__ __forceinline__ void load_words(
    uint4 (&words)[2][WORDS_AT_ONCE], const Element* const (&rows)[2], const int (&counts)[2], int first,
    const Element* begin, const Element* end
) {
    bool at_an_edge = false;
#pragma unroll
    for (int i = 0; i < 2 * WORDS_AT_ONCE; ++i) {
        const int half = i / WORDS_AT_ONCE, index = first + i % WORDS_AT_ONCE * 4;
        const Element* const at = rows[half] + index * 8ll;
        const bool is_there = index < counts[half], is_whole = is_there && at >= begin && at + 8 <= end;
        uint4& four = words[half][i % WORDS_AT_ONCE];
        at_an_edge |= is_there && !is_whole;
        asm volatile("{\n.reg .pred whole;\nsetp.ne.u32 whole, %5, 0;\n"
                     "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                     "@whole ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                     : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                     : "l"(at), "r"(static_cast<unsigned>(is_whole)));
    }
    if (!__any_sync(WHOLE_WARP, at_an_edge)) return;
#pragma unroll
    for (int i = 0; i < 2 * WORDS_AT_ONCE; ++i) {
        const int half = i / WORDS_AT_ONCE, index = first + i % WORDS_AT_ONCE * 4;
        const Element* const at = rows[half] + index * 8ll;
        if (index >= counts[half] || (at >= begin && at + 8 <= end)) continue;
        unsigned word[4] = {};
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            if (at + j >= begin && at + j < end) word[j / 2] |= static_cast<unsigned>(__ldg(at + j)) << j % 2 * 16;
        }
        words[half][i % WORDS_AT_ONCE] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

// Of a word's 8 elements those from `from` on, up to `until`.
__device__ __forceinline__ void keep_between(uint4& word, int from, int until) {
    unsigned upper[4], lower[4];
    bits_of(upper, until), bits_of(lower, from);
    word.x &= upper[0] & ~lower[0], word.y &= upper[1] & ~lower[1];
    word.z &= upper[2] & ~lower[2], word.w &= upper[3] & ~lower[3];
}

// Rows of x with zeros in front and behind, `pitch` elements each.
template <int COUNT>
__device__ __forceinline__ void bring_x(Element* to, const Element* __restrict__ x, int pitch, int rows, int hidden) {
    for (int place = threadIdx.x; place < pitch; place += FEW_WARPS * WARP) {
        const int column = place - IN_FRONT;
        const bool is_there = column >= 0 && column < hidden;
        Element elements[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; ++i) elements[i] = is_there && i < rows ? __ldg(x + (1ll * i * hidden + column)) : 0;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) to[i * pitch + place] = elements[i];
    }
}

// x has up to GROUPS x 8 rows. Of each block `warps` warps work.
template <int GROUPS>
__device__ __forceinline__ void statistics_of_few(
    const Element* __restrict__ x, const Element* __restrict__ w, const long long* __restrict__ labels,
    Statistics* __restrict__ pieces, float* __restrict__ at_label, int rows, int vocab, int hidden, int pitch, int warps
) {
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ Statistics of_warps[FEW_WARPS][GROUPS * 8];
    Element* const rows_of_x = reinterpret_cast<Element*>(shared);
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    const Element* const end = w + static_cast<long long>(vocab) * hidden;
    wait_for_previous();
    let_next_start();
    bring_x<GROUPS * 8>(rows_of_x, x, pitch, rows, hidden);
    Statistics mine[GROUPS][2];
    int wanted[GROUPS][2];
#pragma unroll
    for (int i = 0; i < GROUPS * 2; ++i) {
        const int row = i / 2 * 8 + q * 2 + i % 2;
        mine[i / 2][i % 2] = {NEGATIVE_INFINITY, 0.0f};
        const long long label = row < rows ? labels[row] : -1;
        wanted[i / 2][i % 2] = label < vocab ? static_cast<int>(label) : -1;  // one below 0 is no column either
    }
    __syncthreads();

    const int units = (vocab + 8 * ROWS_OF_WARP - 1) / (8 * ROWS_OF_WARP) * 8;
    const int first_unit = warp < warps ? static_cast<int>(blockIdx.x) * warps + warp : units;
    for (int unit = first_unit; unit < units; unit += static_cast<int>(gridDim.x) * warps) {
        // A lane has rows g and g + 8 of the warp's.
        const int own = unit / 8 * (8 * ROWS_OF_WARP) + unit % 8 + g * 8, other = own + 64;
        const Element* const first = w + static_cast<long long>(own) * hidden;
        const int past = static_cast<int>(reinterpret_cast<unsigned long long>(first) / sizeof(Element) % 8);
        const Element* const rows_of_w[2] = {first - past, first - past + 64ll * hidden};
        const int count = (past + hidden + 7) / 8, counts[2] = {own < vocab ? count : 0, other < vocab ? count : 0};
        const unsigned* const in_x =
            reinterpret_cast<const unsigned*>(rows_of_x) + (g * pitch + IN_FRONT - past - past % 2) / 2 + q * 4;
        const unsigned shift = past % 2 * 16;
        float sum[GROUPS][4] = {};
        for (int word0 = 0; word0 < count; word0 += WORDS_AT_ONCE * 4) {
            uint4 words[2][WORDS_AT_ONCE];
            load_words(words, rows_of_w, counts, word0 + q, w, end);
            if (word0 == 0 || word0 + WORDS_AT_ONCE * 4 >= count) {
#pragma unroll
                for (int i = 0; i < WORDS_AT_ONCE; ++i) {
                    const int index = word0 + i * 4 + q;
                    keep_between(words[0][i], index ? 0 : past, past + hidden - index * 8);
                    keep_between(words[1][i], index ? 0 : past, past + hidden - index * 8);
                }
            }
#pragma unroll
            for (int i = 0; i < WORDS_AT_ONCE; ++i) {
                if (word0 + i * 4 >= count) break;
                const uint4 &low = words[0][i], &high = words[1][i];
                const unsigned of_w[2][4] = {{low.x, high.x, low.y, high.y}, {low.z, high.z, low.w, high.w}};
#pragma unroll
                for (int group = 0; group < GROUPS; ++group) {
                    const unsigned* const from = in_x + group * 4 * pitch + (word0 + i * 4) * 4;
                    unsigned five[5];
#pragma unroll
                    for (int j = 0; j < 5; ++j) five[j] = from[j];
#pragma unroll
                    for (int j = 0; j < 4; ++j) five[j] = __funnelshift_r(five[j], five[j + 1], shift);
                    multiply_add(sum[group], of_w[0], five[0], five[1]);
                    multiply_add(sum[group], of_w[1], five[2], five[3]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < GROUPS * 4; ++i) {
            const int column = i % 4 / 2 ? other : own;
            const float logit = sum[i / 4][i % 4] * LOG2_E;
            if (column >= vocab) continue;
            Statistics& one = mine[i / 4][i % 2];
            one = joined(one, {logit, 1.0f});
            if (wanted[i / 4][i % 2] == column) at_label[i / 4 * 8 + q * 2 + i % 2] = logit;
        }
    }

#pragma unroll
    for (int i = 0; i < GROUPS * 2; ++i) {
        Statistics& one = mine[i / 2][i % 2];
#pragma unroll
        for (int distance = 4; distance < WARP; distance *= 2) {
            const Statistics more = {__shfl_xor_sync(WHOLE_WARP, one.highest, distance),
                                     __shfl_xor_sync(WHOLE_WARP, one.total, distance)};
            one = joined(one, more);
        }
        if (g == 0) of_warps[warp][i / 2 * 8 + q * 2 + i % 2] = one;
    }
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= rows) return;
    Statistics all = of_warps[0][threadIdx.x];
    for (int i = 1; i < FEW_WARPS; ++i) all = joined(all, of_warps[i][threadIdx.x]);
    pieces[static_cast<long long>(threadIdx.x) * gridDim.x + blockIdx.x] = all;
}

#define STATISTICS_OF_FEW(ROWS)                                                                                   \
    extern "C" __global__ void __launch_bounds__(FEW_WARPS* WARP, 1) few_rows_##ROWS(                             \
        const Element* __restrict__ x, const Element* __restrict__ w, const long long* __restrict__ labels,       \
        Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows, long long vocab,           \
        long long hidden, long long pitch, long long warps                                                        \
    ) {                                                                                                           \
        statistics_of_few<ROWS / 8>(                                                                              \
            x, w, labels, pieces, at_label, static_cast<int>(rows), static_cast<int>(vocab),                      \
            static_cast<int>(hidden), static_cast<int>(pitch), static_cast<int>(warps)                            \
        );                                                                                                        \
    }
STATISTICS_OF_FEW(8)
STATISTICS_OF_FEW(16)
STATISTICS_OF_FEW(32)
