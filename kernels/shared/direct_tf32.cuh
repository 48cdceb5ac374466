// C = A B^T in TF32 of short sums, from rows that begin anywhere: operands go from memory to mma.sync, by registers.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; of so little C that the time is that of one access to memory.
// Mapping: a warp has 16 x 16 of C, a block 32 x 32; gridDim.x blocks share the rows, gridDim.y the columns. Rows of both
//   matrices lie along k, so that a lane reads what mma.sync wants of it as it lies: of 16 of k four elements a row. Where
//   rows begin at words of 16 bytes these are neighbours, for a sum does not care for the order of its terms; else they
//   lie four apart. What a step needs is under way while the one in front is multiplied: so is all of k up to two of them.
// Idea: that of shared/direct_sums.cuh. loose_tf32.cuh takes operands through shared memory, and C back that way.
#pragma once

#include "shared/ampere.cuh"
#include "shared/overlap.cuh"

constexpr int DIRECT_TILE = 16;   // rows and columns of a warp
constexpr int DIRECT_BESIDE = 2;  // warps of a block, and as many below
constexpr int DIRECT_SLICES = 4;  // of 16 of k, in a step
constexpr int DIRECT_STEP = DIRECT_SLICES * 16;

// A lane's four elements of 16 of k, zeros where less than that is left from its first one on. Volatile: loads stay where
// they are, in front of the products.
template <bool WORDS>
__device__ __forceinline__ void load_four(unsigned (&to)[4], const float* from, int left) {
    if constexpr (WORDS) {
        asm volatile("{\n.reg .pred there;\nsetp.gt.s32 there, %5, 0;\n"
                     "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                     "@there ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                     : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3])
                     : "l"(from), "r"(left));
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            asm volatile("{\n.reg .pred there;\nsetp.gt.s32 there, %2, 0;\nmov.b32 %0, 0;\n@there ld.global.nc.b32 %0, [%1];\n}"
                         : "=&r"(to[i])
                         : "l"(from + i * 4), "r"(left - i * 4));
        }
    }
}

// A lane's part of a step: of each slice, of two groups of 8 rows of A and of B.
template <bool WORDS>
struct DirectStep {
    unsigned a[DIRECT_SLICES][2][4], b[DIRECT_SLICES][2][4];

    __device__ __forceinline__ void load(
        const float* const (&of_a)[2], const float* const (&of_b)[2], int at, int left
    ) {
#pragma unroll
        for (int slice = 0; slice < DIRECT_SLICES; ++slice) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_four<WORDS>(a[slice][i], of_a[i] + at + slice * 16, left - slice * 16);
                load_four<WORDS>(b[slice][i], of_b[i] + at + slice * 16, left - slice * 16);
            }
        }
    }

    __device__ __forceinline__ void multiply(float (&sum)[2][4], int left) const {
#pragma unroll
        for (int slice = 0; slice < DIRECT_SLICES; ++slice) {
            if (slice * 16 >= left) break;
#pragma unroll
            for (int j = 0; j < 4; j += 2) {  // 8 of k
                const auto& of_a = a[slice];
                const unsigned four[4] = {of_a[0][j], of_a[1][j], of_a[0][j + 1], of_a[1][j + 1]};
#pragma unroll
                for (int i = 0; i < 2; ++i) multiply_add(sum[i], four, b[slice][i][j], b[slice][i][j + 1]);
            }
        }
    }
};

template <bool WORDS>
__device__ __forceinline__ void multiply_direct_sums(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k
) {
    const int warp = threadIdx.x / WARP, g = threadIdx.x % WARP / 4, q = threadIdx.x % 4;
    const int row0 = (blockIdx.x * DIRECT_BESIDE + warp / DIRECT_BESIDE) * DIRECT_TILE;
    const int column0 = (blockIdx.y * DIRECT_BESIDE + warp % DIRECT_BESIDE) * DIRECT_TILE;
    const int first = WORDS ? q * 4 : q;  // of the lane, along k
    const float *of_a[2], *of_b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {  // sums of rows and columns that are not there are not stored
        of_a[i] = a + static_cast<long long>(min(row0 + i * 8 + g, m - 1)) * k + first;
        of_b[i] = b + static_cast<long long>(min(column0 + i * 8 + g, n - 1)) * k + first;
    }
    wait_for_previous();
    let_next_start();
    if (row0 >= m || column0 >= n) return;

    float sum[2][4] = {};
    DirectStep<WORDS> even, odd;
    int at = 0;
    even.load(of_a, of_b, at, k - first);
    // No step is moved to where the other one was: that would wait for it.
    const auto multiply = [&](const DirectStep<WORDS>& step, DirectStep<WORDS>& next) {
        const int then = at + DIRECT_STEP;
        if (then < k) next.load(of_a, of_b, then, k - first - then);
        step.multiply(sum, k - at);
        at = then;
    };
    while (true) {
        multiply(even, odd);
        if (at >= k) break;
        multiply(odd, even);
        if (at >= k) break;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = row0 + i / 2 * 8 + g, column = column0 + i % 2 * 8 + q * 2;
        if (row >= m || column >= n) continue;
        const float* const two = sum[i % 2] + i / 2 * 2;
        float* const to = c + static_cast<long long>(row) * n + column;
        if (n % 2 == 0) {
            *reinterpret_cast<float2*>(to) = make_float2(two[0], two[1]);
        } else {
            to[0] = two[0];
            if (column + 1 < n) to[1] = two[1];
        }
    }
}

#define DIRECT_SUMS_KERNEL(NAME, WORDS)                                                                       \
    extern "C" __global__ void __launch_bounds__(DIRECT_BESIDE * DIRECT_BESIDE * WARP, 3)                     \
        NAME(const float* a, const float* b, float* c, long long m, long long n, long long k) {               \
        multiply_direct_sums<WORDS>(a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));  \
    }
DIRECT_SUMS_KERNEL(direct_sums_words, true)
DIRECT_SUMS_KERNEL(direct_sums_ones, false)
