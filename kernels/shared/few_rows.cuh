// C = finish(A B) of few rows, in 16 bits: rows of B that begin anywhere are read once, and never copied.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]) with 8, 16 or 32 rows at most; (m k + k n + m n) 2 bytes, of
//   which nearly all are B's.
// Mapping: rows 8 apart begin alike, whatever n is. So each of a block's 8 warps takes every eighth row of B, and reads words
//   of 16 bytes as they lie: its 64 columns begin up to 7 in front of the block's, of which there are 56, or 64 where all
//   rows begin on such words. 32 of its rows at once go from memory to mma.sync, as loose_words.cuh says, with nothing to be
//   shifted; only the sums of the warps are, where they meet in shared memory. A kernel in front puts the elements of A in
//   the order in which lanes want them. The blocks of a cluster have a part of k each.
// Idea: wgmma needs TMA, TMA rows of whole 16 bytes, and the copy of B that has them is three times the traffic of B.
#pragma once

#include "shared/finish.cuh"
#include "shared/hopper.cuh"
#include "shared/loose_words.cuh"
#include "shared/overlap.cuh"

constexpr int FEW_WARPS = 8;                      // each with every eighth row of B
constexpr int FEW_STEP = FEW_WARPS * LOOSE_STEP;  // rows of B that a block takes at once
constexpr int FEW_PITCH = LOOSE_COLUMNS + 4;      // of sums in shared memory: fewer of a warp fall in the same bank

// For each step of 256 of k, each of the 8 warps, each 8 rows and each lane the 8 elements that it multiplies, zeros beyond A.
__device__ __forceinline__ void order_rows(const Element* a, uint4* ordered, long long m, long long k, int groups) {
    const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int lane = index % WARP, group = index / WARP % groups;
    const long long rest = index / WARP / groups, step = rest / FEW_WARPS;
    const long long row = group * 8 + lane / 4, first = step * FEW_STEP + lane % 4 * (8 * FEW_WARPS) + rest % FEW_WARPS;
    wait_for_previous();
    let_next_start();
    if (step * FEW_STEP >= k) return;
    unsigned words[4] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const long long along_k = first + i * FEW_WARPS;
        if (row < m && along_k < k) words[i / 2] |= static_cast<unsigned>(a[row * k + along_k]) << i % 2 * 16;
    }
    ordered[index] = make_uint4(words[0], words[1], words[2], words[3]);
}

// ROWS: 8, 16 or 32. A is as order_rows has left it; `width` columns of a block are 56 or 64. Clusters of number `blockIdx.y`
// have a part of k, where there are several, and C of that part alone.
template <int ROWS, class Out, class MakeFinish>
__device__ __forceinline__ void multiply_few(
    const uint4* a, const Element* __restrict__ b, Out* __restrict__ c, long long m, long long n, long long k,
    int width, const MakeFinish& make_finish
) {
    constexpr int GROUPS = ROWS / 8;
    constexpr int PAIRS = LOOSE_COLUMNS / 2;  // of a row
    __shared__ __align__(16) float sums[FEW_WARPS][8][FEW_PITCH];
    __shared__ float2 parts[ROWS * PAIRS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, q = lane % 4;
    const int blocks = blocks_of_cluster();
    const unsigned rank = rank_in_cluster();
    const long long column0 = static_cast<long long>(blockIdx.x / blocks) * width;
    const int steps = static_cast<int>((k + FEW_STEP - 1) / FEW_STEP), sharing = blocks * gridDim.y;
    const int each = (steps + sharing - 1) / sharing;
    const int first = (blockIdx.y * blocks + rank) * each, last = min(steps, first + each);
    c += blockIdx.y * m * n;
    // By how many elements the words of a warp's rows begin in front of the block's columns.
    const auto before = [&](int of_warp) {
        return static_cast<int>(
            (reinterpret_cast<unsigned long long>(b) / sizeof(Element) + of_warp * n + column0) % 8
        );
    };
    const Element* const end = b + k * n;
    const Element* from = b + (static_cast<long long>(first) * FEW_STEP + warp + q * (8 * FEW_WARPS)) * n + column0 -
                          before(warp) + g * 8;
    const uint4* of_a = a + (static_cast<long long>(first) * FEW_WARPS + warp) * (GROUPS * WARP) + lane;
    if (threadIdx.x < 2) ask_for_columns(make_finish(), static_cast<int>(column0 + threadIdx.x * (width - 1)));
    wait_for_previous();
    let_next_start();

    const auto load = [&](int step, Eight<true>(&rows)[8]) {
        const Element* const lowest = b + static_cast<long long>(step) * FEW_STEP * n + column0 - 7;
        const Element* const highest =
            b + (static_cast<long long>(step + 1) * FEW_STEP - 1) * n + column0 + LOOSE_COLUMNS;
        if (lowest >= b && highest <= end) {
#pragma unroll
            for (int i = 0; i < 8; ++i) rows[i].low = __ldg(reinterpret_cast<const uint4*>(from + i * FEW_WARPS * n));
        } else {
            load_within(rows, from, FEW_WARPS * n, b, end);
        }
        from += FEW_STEP * n;
    };
    float sum[GROUPS][4][4] = {};
    for (int step = first; step < last; ++step) {
        Eight<true> rows[8];
        unsigned along_k[GROUPS][4];
        load(step, rows);
#pragma unroll
        for (int i = 0; i < GROUPS; ++i) {
            const uint4 four = of_a[i * WARP];
            along_k[i][0] = four.x, along_k[i][1] = four.y, along_k[i][2] = four.z, along_k[i][3] = four.w;
        }
        of_a += FEW_WARPS * GROUPS * WARP;
        LooseColumns columns;
        to_columns(rows, columns);
#pragma unroll
        for (int i = 0; i < GROUPS; ++i) multiply_loose(sum[i], columns, along_k[i]);
    }

    const auto finish = make_finish();
    const auto store = [&](int pair, float2 two) {
        const long long row = pair / PAIRS, column = column0 + pair % PAIRS * 2;
        if (row >= m || pair % PAIRS * 2 >= width || column >= n) return;
        const float2 done =
            finish_pair(for_columns<1>(finish, static_cast<int>(column)), two, static_cast<int>(column), 0);
        Out* const to = c + row * n + column;
        from_float(done.x, to[0]);
        if (column + 1 < n) from_float(done.y, to[1]);
    };
    // Those of the warps, 8 rows after 8.
#pragma unroll
    for (int i = 0; i < GROUPS; ++i) {
        if (i) __syncthreads();
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float (&four)[4] = sum[i][j];
            *reinterpret_cast<float2*>(&sums[warp][q * 2][g * 8 + j * 2]) = make_float2(four[0], four[2]);
            *reinterpret_cast<float2*>(&sums[warp][q * 2 + 1][g * 8 + j * 2]) = make_float2(four[1], four[3]);
        }
        __syncthreads();
        float2 two = {};
        if (lane * 2 < width) {
#pragma unroll
            for (int other = 0; other < FEW_WARPS; ++other) {
                const float* const both = &sums[other][warp][lane * 2 + before(other)];
                two.x += both[0], two.y += both[1];
            }
        }
        const int pair = (i * 8 + warp) * PAIRS + lane;
        if (blocks == 1) store(pair, two);
        else parts[pair] = two;
    }
    if (blocks == 1) return;
    arrive_with_writes();
    wait_for_cluster();
    const int of_block = ROWS * PAIRS / blocks;
    for (int i = threadIdx.x; i < of_block; i += FEW_WARPS * WARP) {
        const int pair = rank * of_block + i;
        float2 two = {};
        for (int block = 0; block < blocks; ++block) {
            const float2 more = load_from(address_in(block, &parts[pair]));
            two.x += more.x, two.y += more.y;
        }
        store(pair, two);
    }
    meet_cluster();  // none may end while another reads its parts
}

#define FEW_ROWS_KERNEL(NAME, OUT, ROWS, FINISH, ...)                                                             \
    extern "C" __global__ void __launch_bounds__(FEW_WARPS * WARP, ROWS == 32 ? 1 : 2) NAME##_##ROWS(             \
        const uint4* a, const Element* b, OUT* c, long long m, long long n, long long k, long long width,         \
        ##__VA_ARGS__                                                                                             \
    ) {                                                                                                           \
        multiply_few<ROWS>(a, b, c, m, n, k, static_cast<int>(width), [&] { return FINISH; });                    \
    }
#define FEW_ROWS_KERNELS(...)                                                                                     \
    extern "C" __global__ void ordered_rows(                                                                      \
        const Element* a, uint4* ordered, long long m, long long k, long long groups                              \
    ) {                                                                                                           \
        order_rows(a, ordered, m, k, static_cast<int>(groups));                                                   \
    }                                                                                                             \
    FEW_ROWS_KERNEL(few_rows, SCALAR, 8, __VA_ARGS__)                                                             \
    FEW_ROWS_KERNEL(few_rows, SCALAR, 16, __VA_ARGS__)                                                            \
    FEW_ROWS_KERNEL(few_rows, SCALAR, 32, __VA_ARGS__)
