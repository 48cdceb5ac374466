// C = finish(A B) of short sums, in 16 bits, from rows that begin anywhere: 32 of k at most.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); (m k + k n + m n) 2 bytes, of which most are C's.
// Mapping: a warp holds 64 columns of B in registers, over all of k, and takes 16 rows of A after 16, which lie in one piece:
//   cp.async brings it as it lies, one tile ahead; see loose_words.cuh for the rest. C goes through shared memory, and from
//   there row by row in words of 4 bytes, put together where rows begin amid them.
// Idea: wgmma needs TMA, TMA rows of whole 16 bytes, and a kernel in front that makes them takes longer than these products.
#pragma once

#include "shared/loose_words.cuh"
#include "shared/overlap.cuh"

constexpr int SHORT_WARPS = 8;
constexpr int SHORT_ROWS = 16;
constexpr int SHORT_PITCH = LOOSE_COLUMNS / 2 + 4;  // words of a row in shared memory

// The words of 16 bytes that hold the elements from `from` to `end`, by `threads` of which this is number `thread`. Zeros
// fill up the last word, and what lies in front of the first element in its word is part of the same allocation. A word
// that reaches over `behind`, where the matrix ends, is put together of elements.
__device__ __forceinline__ void copy_piece(
    unsigned char* to, const Element* from, const Element* end, const Element* behind, int thread, int threads
) {
    const auto address = reinterpret_cast<unsigned long long>(from), last = reinterpret_cast<unsigned long long>(end);
    for (unsigned long long at = address / 16 * 16 + thread * 16; at < last; at += threads * 16) {
        unsigned char* const place = to + thread * 16;
        if (at + 16 <= reinterpret_cast<unsigned long long>(behind)) {
            const int bytes = static_cast<int>(min(last - at, 16ull));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(place)), "l"(at), "r"(bytes));
        } else {
            const Element* const word = reinterpret_cast<const Element*>(at);
#pragma unroll
            for (int i = 0; i < 8; ++i) reinterpret_cast<Element*>(place)[i] = word + i < end ? word[i] : 0;
        }
        to += threads * 16;
    }
}

// Elements of a warp's row, which lie in the lanes' words, to `to`, no more than `count`.
__device__ __forceinline__ void store_loose_row(SCALAR* to, unsigned word, int count, int lane) {
    const unsigned next = __shfl_down_sync(WHOLE_WARP, word, 1);
    const int is_amid = static_cast<int>(reinterpret_cast<unsigned long long>(to) / sizeof(SCALAR) % 2);
    const int column = lane * 2 + is_amid, left = count - column;
    const unsigned whole = is_amid ? __funnelshift_r(word, next, 16) : word;
    const SCALAR(&both)[2] = reinterpret_cast<const SCALAR(&)[2]>(whole);
    if (is_amid && lane == 0 && left >= 0) to[0] = reinterpret_cast<const SCALAR(&)[2]>(word)[0];
    if (left >= 2 && !(is_amid && lane == WARP - 1)) *reinterpret_cast<unsigned*>(to + column) = whole;
    else if (left >= 1) to[column] = both[0];
}

// STEPS of 32 of k; gridDim.x blocks take the rows of 64 columns in turn, gridDim.y the columns.
template <int STEPS, class MakeFinish>
__device__ __forceinline__ void multiply_short(
    const Element* __restrict__ a, const Element* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n,
    int k, const MakeFinish& make_finish
) {
    constexpr int GROUPS = SHORT_ROWS / 8, MOST = STEPS * LOOSE_STEP;
    constexpr int PITCH_B = (LOOSE_COLUMNS / 8 + 1) * 16;
    constexpr int OF_A = SHORT_ROWS * MOST * 2 + 4 * 16;  // and what is read behind it
    constexpr int OF_C = SHORT_ROWS * SHORT_PITCH * 4, PIECE = OF_A > OF_C ? OF_A : OF_C;
    extern __shared__ __align__(16) unsigned char rows_b[];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    unsigned char* const pieces = rows_b + MOST * PITCH_B + warp * 2 * PIECE;  // two
    const long long column0 = static_cast<long long>(blockIdx.y) * LOOSE_COLUMNS;
    const long long tiles = (m + SHORT_ROWS - 1) / SHORT_ROWS, stride = static_cast<long long>(gridDim.x) * SHORT_WARPS;
    unsigned mask[4];  // of the last step
    bits_of(mask, k - (STEPS - 1) * LOOSE_STEP - q * 8);
    wait_for_previous();
    let_next_start();

    const auto first_of = [&](long long tile) { return a + tile * SHORT_ROWS * k; };
    const auto copy_a = [&](long long tile, int buffer) {
        if (tile < tiles)
            copy_piece(
                pieces + buffer * PIECE, first_of(tile), a + min((tile + 1) * SHORT_ROWS, m) * k, a + m * k, lane, WARP
            );
        commit_copies();
    };
    long long tile = static_cast<long long>(blockIdx.x) * SHORT_WARPS + warp;
    for (int row = threadIdx.x / 16; row < k; row += SHORT_WARPS * 2) {
        const Element* const from = b + row * n + column0;
        const int there = static_cast<int>(min(n - column0, static_cast<long long>(LOOSE_COLUMNS)));
        if (threadIdx.x % 16 < 9)
            copy_piece(rows_b + row * PITCH_B, from, from + there, b + k * n, threadIdx.x % 16, 9);
    }
    copy_a(tile, 0);
    wait_for_copies<0>();
    __syncthreads();
    const auto past_of = [](const Element* at) {
        return static_cast<unsigned>(reinterpret_cast<unsigned long long>(at) % 16);
    };
    LooseColumns columns[STEPS];
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        Eight<false> of_b[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int row = step * LOOSE_STEP + q * 8 + i;
            const unsigned char* const place = rows_b + row * PITCH_B + g * 16;
            of_b[i].past = past_of(b + row * n + column0);
            of_b[i].low = of_b[i].high = make_uint4(0, 0, 0, 0);
            if (row < k) {
                of_b[i].low = *reinterpret_cast<const uint4*>(place);
                of_b[i].high = *reinterpret_cast<const uint4*>(place + 16);
            }
        }
        to_columns(of_b, columns[step]);
    }

    const auto finish = make_finish();
    const int count = static_cast<int>(min(n - column0, static_cast<long long>(LOOSE_COLUMNS)));
    for (int buffer = 0; tile < tiles; tile += stride, buffer ^= 1) {
        copy_a(tile + stride, buffer ^ 1);
        wait_for_copies<1>();
        __syncwarp();
        float sum[GROUPS][4][4] = {};
#pragma unroll
        for (int i = 0; i < GROUPS; ++i) {
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const int at = past_of(first_of(tile)) / 2 + (i * 8 + g) * k + step * LOOSE_STEP + q * 8;
                const unsigned char* const place = pieces + buffer * PIECE + at / 8 * 16;
                Eight<false> eight;
                eight.past = at % 8 * 2;
                eight.low = *reinterpret_cast<const uint4*>(place);
                eight.high = *reinterpret_cast<const uint4*>(place + 16);
                unsigned row[4];
                eight.words(row);
                if (step == STEPS - 1) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) row[j] &= mask[j];  // behind k is the next row
                }
                multiply_loose(sum[i], columns[step], row);
            }
        }
        __syncwarp();
        // What was A's is C's now.
        auto& rows = *reinterpret_cast<unsigned (*)[SHORT_ROWS][SHORT_PITCH]>(pieces + buffer * PIECE);
#pragma unroll
        for (int i = 0; i < GROUPS; ++i) {
#pragma unroll
            for (int below = 0; below < 2; ++below) {
                unsigned words[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int column = static_cast<int>(column0) + g * 8 + j * 2;
                    const float2 two = finish(make_float2(sum[i][j][below], sum[i][j][below + 2]), column);
                    from_floats(two.x, two.y, reinterpret_cast<SCALAR*>(&words[j]));
                }
                *reinterpret_cast<uint4*>(&rows[i * 8 + q * 2 + below][g * 4]) =
                    make_uint4(words[0], words[1], words[2], words[3]);
            }
        }
        __syncwarp();
        SCALAR* const to = c + tile * SHORT_ROWS * n + column0;
        const int rows_here = static_cast<int>(min(m - tile * SHORT_ROWS, static_cast<long long>(SHORT_ROWS)));
#pragma unroll 4
        for (int row = 0; row < rows_here; ++row) store_loose_row(to + row * n, rows[row][lane], count, lane);
        __syncwarp();
    }
    wait_for_copies<0>();
}

#define SHORT_ROWS_KERNEL(NAME, STEPS, BLOCKS, FINISH, ...)                                                       \
    extern "C" __global__ void __launch_bounds__(SHORT_WARPS * WARP, BLOCKS) NAME(                                \
        const Element* a, const Element* b, SCALAR* c, long long m, long long n, long long k, ##__VA_ARGS__       \
    ) {                                                                                                           \
        multiply_short<STEPS>(a, b, c, m, n, static_cast<int>(k), [&] { return FINISH; });                        \
    }
#define SHORT_ROWS_KERNELS(...) SHORT_ROWS_KERNEL(short_rows_32, 1, 2, __VA_ARGS__)
