// The statistics of few rows of logits, from rows of w that begin anywhere: w is read once, as it lies, and never copied.
//
// Mapping: rows of w 8 apart begin alike. So a warp takes 16 rows each 8 behind the one before, and reads words of 16 bytes as they
//   lie; mma.sync takes any order of hidden. Not w is shifted but x, which lies in shared memory: the elements that meet a
//   word's begin as far in front. What a word has of the next row is left out. Of each product a thread has two logits of two
//   rows of x, and joins them to its own maximum and sum; blocks leave one piece of each row. Where w has few rows, warps of
//   a block share each along hidden, and so may blocks; then their parts of the logits meet in memory. L2 is asked for the first
//   rows of w before x is brought, so that a small w comes beside it.
// Idea: shared/few_rows.cuh, which has its B across. TMA wants rows of whole 16 bytes, and the copy of w that has them is two of
//   three passes over it.
#pragma once

#include "linear_cross_entropy/join.cuh"
#include "shared/hopper.cuh"
#include "shared/loose_words.cuh"
#include "shared/overlap.cuh"

constexpr int LOGIT_WARPS = 16, ROWS_OF_WARP = 16, WORDS_AT_ONCE = 4;  // as in few_rows.py
constexpr int IN_FRONT = 8;                                            // zeros of a row of x in shared memory
static_assert(LOGIT_WARPS == ROWS_OF_WARP);                            // a warp asks for one of each 16 rows

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

// Asks L2 for the words of a block's first rows of w that it reads at its first two steps, so that they come while x does.
__device__ __forceinline__ void ask_for_rows(
    const Element* w, int vocab, int hidden, int at_once, int column0, int columns, int sharing
) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int unit = static_cast<int>(blockIdx.x) * at_once + lane;
    const int row = unit / 8 * (8 * ROWS_OF_WARP) + unit % 8 + warp * 8;
    if (lane >= at_once || row >= vocab) return;
    const Element* const first = w + (static_cast<long long>(row) * hidden + column0);
    const auto begin = (reinterpret_cast<unsigned long long>(first) + 15) / 16;
    const auto end = reinterpret_cast<unsigned long long>(first + columns) / 16;
    if (begin >= end) return;
    const auto words = min(end - begin, 2ull * sharing * (WORDS_AT_ONCE * 4));
    ask_l2(reinterpret_cast<const void*>(begin * 16), static_cast<unsigned>(words) * 16);
}

// `columns` of rows of x with zeros in front and behind, `pitch` elements each. All of a thread's loads at a time are under way.
// Nothing is brought in place of rows of COUNT that x has not: what becomes of them is left.
template <int COUNT>
__device__ __forceinline__ void bring_x(
    Element* to, const Element* __restrict__ x, int pitch, int rows, int hidden, int columns
) {
    constexpr int THREADS = LOGIT_WARPS * WARP, PLACES = COUNT == 1 ? 8 : COUNT <= 8 ? 4 : 32 / COUNT;
    for (int place0 = threadIdx.x; place0 < pitch; place0 += THREADS * PLACES) {
        Element elements[PLACES][COUNT];
#pragma unroll
        for (int i = 0; i < PLACES * COUNT; ++i) {
            const int column = place0 + i / COUNT * THREADS - IN_FRONT, row = i % COUNT;
            const bool is_there = column >= 0 && column < columns && row < rows;
            elements[i / COUNT][row] = is_there ? __ldg(x + (1ll * row * hidden + column)) : 0;
        }
#pragma unroll
        for (int i = 0; i < PLACES * COUNT; ++i) {
            const int place = place0 + i / COUNT * THREADS, row = i % COUNT;
            if (place < pitch && row < rows) to[row * pitch + place] = elements[i / COUNT][row];
        }
    }
}

// How a kernel's warps have w: of a block `at_once` x `sharing` work, `sharing` neighbours on the same 16 rows. Blocks of
// number `part` along y have `columns` of hidden.
struct Shares {
    int at_once, sharing, columns, pitch;  // `pitch` elements of a row of x in shared memory
};

// What becomes of logits, times log2(e). `logits`, if it is there, has GROUPS x 8 rows of x side by side for each row of w and
// before that parts of hidden; `pieces`, if it is there, the statistics of a block for each row of x.
struct OfLogits {
    float* logits;
    Statistics* pieces;
    float* at_label;
};

// x has up to GROUPS x 8 rows.
template <int GROUPS>
__device__ __forceinline__ void statistics_of_few(
    const Element* __restrict__ x, const Element* __restrict__ w, const long long* __restrict__ labels,
    const OfLogits& to, int rows, int vocab, int hidden, const Shares& shares
) {
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ Statistics of_warps[LOGIT_WARPS][GROUPS * 8];
    const int sharing = shares.sharing, pitch = shares.pitch;
    float* const sums = reinterpret_cast<float*>(shared);
    Element* const rows_of_x = reinterpret_cast<Element*>(sums + (sharing > 1 ? LOGIT_WARPS * GROUPS * 4 * WARP : 0));
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    const Element* const end = w + static_cast<long long>(vocab) * hidden;
    const int column0 = static_cast<int>(blockIdx.y) * shares.columns, columns = min(shares.columns, hidden - column0);
    wait_for_previous();
    let_next_start();
    ask_for_rows(w, vocab, hidden, shares.at_once, column0, columns, sharing);
    if (GROUPS == 1 && rows == 1) bring_x<1>(rows_of_x, x + column0, pitch, rows, hidden, columns);
    else if (GROUPS == 1 && rows <= 4) bring_x<4>(rows_of_x, x + column0, pitch, rows, hidden, columns);
    else bring_x<GROUPS * 8>(rows_of_x, x + column0, pitch, rows, hidden, columns);
    Statistics mine[GROUPS][2];
    int wanted[GROUPS][2];
#pragma unroll
    for (int i = 0; i < GROUPS * 2; ++i) {
        const int row = i / 2 * 8 + q * 2 + i % 2;
        mine[i / 2][i % 2] = {NEGATIVE_INFINITY, 0.0f};
        const long long label = to.pieces && row < rows ? labels[row] : -1;
        wanted[i / 2][i % 2] = label < vocab ? static_cast<int>(label) : -1;  // one below 0 is no column either
    }
    __syncthreads();

    const int units = (vocab + 8 * ROWS_OF_WARP - 1) / (8 * ROWS_OF_WARP) * 8;
    const int of_block = warp / sharing, share = warp % sharing, stride = static_cast<int>(gridDim.x) * shares.at_once;
    for (int unit0 = static_cast<int>(blockIdx.x) * shares.at_once; unit0 < units; unit0 += stride) {
        const int unit = unit0 + of_block;
        const bool works = of_block < shares.at_once && unit < units;
        // A lane has rows g and g + 8 of the warp's.
        const int own = unit / 8 * (8 * ROWS_OF_WARP) + unit % 8 + g * 8, other = own + 64;
        float sum[GROUPS][4] = {};
        if (works) {
            const Element* const first = w + static_cast<long long>(own) * hidden + column0;
            const int past = static_cast<int>(reinterpret_cast<unsigned long long>(first) / sizeof(Element) % 8);
            const Element* const rows_of_w[2] = {first - past, first - past + 64ll * hidden};
            const int count = (past + columns + 7) / 8,
                      counts[2] = {own < vocab ? count : 0, other < vocab ? count : 0};
            const unsigned* const in_x =
                reinterpret_cast<const unsigned*>(rows_of_x) + (g * pitch + IN_FRONT - past - past % 2) / 2 + q * 4;
            const unsigned shift = past % 2 * 16;
            const int step = sharing * (WORDS_AT_ONCE * 4);
            for (int word0 = share * (WORDS_AT_ONCE * 4); word0 < count; word0 += step) {
                uint4 words[2][WORDS_AT_ONCE];
                load_words(words, rows_of_w, counts, word0 + q, w, end);
                if (word0 == 0 || word0 + WORDS_AT_ONCE * 4 >= count) {
#pragma unroll
                    for (int i = 0; i < WORDS_AT_ONCE; ++i) {
                        const int index = word0 + i * 4 + q;
                        keep_between(words[0][i], index ? 0 : past, past + columns - index * 8);
                        keep_between(words[1][i], index ? 0 : past, past + columns - index * 8);
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
        }
        if (sharing > 1) {
            float* const at = sums + warp * (GROUPS * 4 * WARP) + lane;
#pragma unroll
            for (int i = 0; i < GROUPS * 4; ++i) at[i * WARP] = sum[i / 4][i % 4];
            __syncthreads();
            if (share == 0 && works) {
                for (int more = 1; more < sharing; ++more) {
#pragma unroll
                    for (int i = 0; i < GROUPS * 4; ++i) sum[i / 4][i % 4] += at[(more * GROUPS * 4 + i) * WARP];
                }
            }
            __syncthreads();
        }
        if (share || !works) continue;
#pragma unroll
        for (int i = 0; i < GROUPS * 4; ++i) {
            const int column = i % 4 / 2 ? other : own;
            const float logit = sum[i / 4][i % 4] * LOG2_E;
            if (column >= vocab) continue;
            if (to.logits && i % 2 == 0) {
                const long long row_of_w = 1ll * blockIdx.y * vocab + column;
                float* const at = to.logits + row_of_w * (GROUPS * 8) + i / 4 * 8 + q * 2;
                *reinterpret_cast<float2*>(at) = make_float2(logit, sum[i / 4][i % 4 + 1] * LOG2_E);
            }
            if (!to.pieces) continue;
            Statistics& one = mine[i / 4][i % 2];
            one = joined(one, {logit, 1.0f});
            if (wanted[i / 4][i % 2] == column) to.at_label[i / 4 * 8 + q * 2 + i % 2] = logit;
        }
    }

    if (!to.pieces) return;
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
    for (int row = warp; row < rows; row += LOGIT_WARPS) {
        const Statistics all =
            over_warp(lane < LOGIT_WARPS ? of_warps[lane][row] : Statistics{NEGATIVE_INFINITY, 0.0f});
        if (lane == 0) to.pieces[static_cast<long long>(row) * gridDim.x + blockIdx.x] = all;
    }
}

#define STATISTICS_OF_FEW(ROWS)                                                                                   \
    extern "C" __global__ void __launch_bounds__(LOGIT_WARPS* WARP, 1) logits_of_few_##ROWS(                      \
        const Element* __restrict__ x, const Element* __restrict__ w, const long long* __restrict__ labels,       \
        float* __restrict__ logits, Statistics* __restrict__ pieces, float* __restrict__ at_label,                \
        long long rows, long long vocab, long long hidden, long long at_once, long long sharing,                  \
        long long columns, long long pitch                                                                        \
    ) {                                                                                                           \
        const Shares shares{static_cast<int>(at_once), static_cast<int>(sharing), static_cast<int>(columns),      \
                            static_cast<int>(pitch)};                                                             \
        statistics_of_few<ROWS / 8>(                                                                              \
            x, w, labels, {logits, pieces, at_label}, static_cast<int>(rows), static_cast<int>(vocab),            \
            static_cast<int>(hidden), shares                                                                      \
        );                                                                                                        \
    }
STATISTICS_OF_FEW(8)
STATISTICS_OF_FEW(16)
STATISTICS_OF_FEW(32)
