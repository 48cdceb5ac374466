// C = finish(A B) of short sums, in 16 bits, from rows that begin anywhere: operands go from memory to mma.sync, by registers.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); of so little C that the time is that of one access to memory.
// Mapping: a warp has 16 x 16 of C, a block 32 x 32; gridDim.x blocks share the rows, gridDim.y the columns. A lane reads
//   the elements that mma.sync wants of it: of A pairs along k, which are words of 4 bytes where rows begin on such. Of B it
//   wants pairs along k as well: it reads pairs along n, and movmatrix turns 8 x 8 of them; or else element by element.
//   What a step needs is under way while the one in front is multiplied: so is all of k up to two of them.
// Idea: short_sums.cuh brings words of 16 bytes, shifts them to their place in shared memory, and takes C back that way.
//   Of one tile a multiprocessor that is a thousand instructions in a row, more than the access to memory.
#pragma once

#include "shared/ampere.cuh"
#include "shared/overlap.cuh"
#include "shared/wgmma_stores.cuh"

constexpr int DIRECT_TILE = 16;   // rows and columns of a warp
constexpr int DIRECT_BESIDE = 2;  // warps of a block, and as many below
constexpr int DIRECT_SLICES = 4;  // of 16 of k, in a step
constexpr int DIRECT_STEP = DIRECT_SLICES * 16;

// What is not inside is zero. Volatile: loads stay where they are, in front of the products.
__device__ __forceinline__ unsigned load_two(const unsigned short* from, bool inside) {
    unsigned two;
    asm volatile("{\n.reg .pred there;\nsetp.ne.u32 there, %2, 0;\nmov.b32 %0, 0;\n@there ld.global.nc.b32 %0, [%1];\n}"
                 : "=r"(two)
                 : "l"(from), "r"(static_cast<unsigned>(inside)));
    return two;
}
__device__ __forceinline__ unsigned short load_one(const unsigned short* from, bool inside) {
    unsigned short one;
    asm volatile("{\n.reg .pred there;\nsetp.ne.u32 there, %2, 0;\nmov.b16 %0, 0;\n@there ld.global.nc.b16 %0, [%1];\n}"
                 : "=h"(one)
                 : "l"(from), "r"(static_cast<unsigned>(inside)));
    return one;
}

// Two elements, as they are on their way from memory: by one load or by two.
template <bool PAIRS>
struct TwoElements {
    unsigned both;
    __device__ __forceinline__ void load(const unsigned short* first, const unsigned short*, bool inside, bool) {
        both = load_two(first, inside);
    }
    __device__ __forceinline__ unsigned word() const { return both; }
};
template <>
struct TwoElements<false> {
    unsigned short low, high;
    __device__ __forceinline__ void load(
        const unsigned short* first, const unsigned short* second, bool has_first, bool has_second
    ) {
        low = load_one(first, has_first), high = load_one(second, has_second);
    }
    __device__ __forceinline__ unsigned word() const { return low | static_cast<unsigned>(high) << 16; }
};

// A lane's part of a step: of each slice, by halves of its k, of two groups of 8 rows of A and of 8 columns of B.
template <bool PAIRS_A, bool PAIRS_B>
struct DirectStep {
    TwoElements<PAIRS_A> a[DIRECT_SLICES][2][2];
    TwoElements<PAIRS_B> b[DIRECT_SLICES][2][2];

    // From the lane's first elements, with so many of k and of columns left from there on.
    __device__ __forceinline__ void load(
        const unsigned short* const (&of_a)[2], const unsigned short* of_b, long long n, int left_a, int left_b,
        int columns
    ) {
#pragma unroll
        for (int slice = 0; slice < DIRECT_SLICES; ++slice) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int past = slice * 16 + half * 8;
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    a[slice][half][i].load(of_a[i] + past, of_a[i] + past + 1, past < left_a, past + 1 < left_a);
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const bool is_there = i * 8 < columns;
                    b[slice][half][i].load(
                        of_b + i * 8, of_b + n + i * 8, is_there && past < left_b, is_there && past + 1 < left_b
                    );
                }
                of_b += 8 * n;
            }
        }
    }

    __device__ __forceinline__ void multiply(float (&sum)[2][4], int left) const {
#pragma unroll
        for (int slice = 0; slice < DIRECT_SLICES; ++slice) {
            if (slice * 16 >= left) break;
            unsigned of_a[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) of_a[i] = a[slice][i / 2][i % 2].word();
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                unsigned of_b[2];
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const unsigned word = b[slice][half][i].word();
                    of_b[half] = PAIRS_B ? transposed(word) : word;
                }
                multiply_add(sum[i], of_a, of_b[0], of_b[1]);
            }
        }
    }
};

// Where a row begins: by one instruction, as neither is negative.
__device__ __forceinline__ unsigned long long place_of(int row, int pitch) {
    return static_cast<unsigned long long>(static_cast<unsigned>(row)) * static_cast<unsigned>(pitch);
}

template <bool PAIRS_A, bool PAIRS_B, class MakeFinish>
__device__ __forceinline__ void multiply_direct_sums(
    const unsigned short* __restrict__ a, const unsigned short* __restrict__ b, SCALAR* __restrict__ c, int m, int n,
    int k, const MakeFinish& make_finish
) {
    const int warp = threadIdx.x / WARP, g = threadIdx.x % WARP / 4, q = threadIdx.x % 4;
    const int row0 = (blockIdx.x * DIRECT_BESIDE + warp / DIRECT_BESIDE) * DIRECT_TILE;
    const int column0 = (blockIdx.y * DIRECT_BESIDE + warp % DIRECT_BESIDE) * DIRECT_TILE;
    // The lane's first element of B: pairs lie along n, and others along k.
    const int along_k = PAIRS_B ? g : q * 2, along_n = column0 + (PAIRS_B ? q * 2 : g);
    const unsigned short* of_a[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)  // sums of rows that are not there are not stored
        of_a[i] = a + place_of(min(row0 + i * 8 + g, m - 1), k) + q * 2;
    const unsigned short* of_b = b + place_of(along_k, n) + along_n;
    wait_for_previous();
    let_next_start();
    if (row0 >= m || column0 >= n) return;

    float sum[2][4] = {};
    DirectStep<PAIRS_A, PAIRS_B> even, odd;
    int left = k;
    even.load(of_a, of_b, n, k - q * 2, k - along_k, n - along_n);
    const auto finish = make_finish();
    const auto& of_columns = for_columns<2>(finish, column0 + q * 2);
    // No step is moved to where the other one was: that would wait for it.
    const auto multiply = [&](const DirectStep<PAIRS_A, PAIRS_B>& step, DirectStep<PAIRS_A, PAIRS_B>& next) {
        if (left > DIRECT_STEP) {
            const int then = left - DIRECT_STEP;
            of_a[0] += DIRECT_STEP, of_a[1] += DIRECT_STEP, of_b += static_cast<long long>(DIRECT_STEP) * n;
            next.load(of_a, of_b, n, then - q * 2, then - along_k, n - along_n);
        }
        step.multiply(sum, left);
        left -= DIRECT_STEP;
    };
    while (true) {
        multiply(even, odd);
        if (left <= 0) break;
        multiply(odd, even);
        if (left <= 0) break;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = row0 + i / 2 * 8 + g, column = column0 + i % 2 * 8 + q * 2;
        const float (&four)[4] = sum[i % 2];
        const float2 two = finish_pair(of_columns, make_float2(four[i / 2 * 2], four[i / 2 * 2 + 1]), column, i % 2);
        if (row >= m || column >= n) continue;
        SCALAR* const to = c + place_of(row, n) + column;
        if (n % 2 == 0) {
            from_floats(two.x, two.y, to);
        } else {
            from_float(two.x, to[0]);
            if (column + 1 < n) from_float(two.y, to[1]);
        }
    }
}

#define DIRECT_SUMS_KERNEL(NAME, PAIRS_A, PAIRS_B, FINISH, ...)                                                       \
    extern "C" __global__ void __launch_bounds__(DIRECT_BESIDE * DIRECT_BESIDE * WARP, 3) NAME(                       \
        const unsigned short* a, const unsigned short* b, SCALAR* c, long long m, long long n, long long k,           \
        ##__VA_ARGS__                                                                                                 \
    ) {                                                                                                               \
        multiply_direct_sums<PAIRS_A, PAIRS_B>(                                                                       \
            a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), [&] { return FINISH; }            \
        );                                                                                                            \
    }
#define DIRECT_SUMS_KERNELS(...)                                           \
    DIRECT_SUMS_KERNEL(direct_sums_ones_ones, false, false, __VA_ARGS__)   \
    DIRECT_SUMS_KERNEL(direct_sums_ones_pairs, false, true, __VA_ARGS__)   \
    DIRECT_SUMS_KERNEL(direct_sums_pairs_ones, true, false, __VA_ARGS__)   \
    DIRECT_SUMS_KERNEL(direct_sums_pairs_pairs, true, true, __VA_ARGS__)
