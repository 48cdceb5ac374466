// C = A B^T in TF32 of short sums, from rows that begin anywhere: operands go from memory to mma.sync, by registers.
//
// Formula: C[i, j] = sum over l of A[i, l] B[j, l]; of so little C that the time is that of one access to memory.
// Mapping: a warp has 16 x 16 of C, a block 32 x 32; gridDim.x blocks share the rows, gridDim.y the columns. Rows of both
//   matrices lie along k, so that a lane reads what mma.sync wants of it as it lies: of 16 of k four elements a row. Where
//   rows begin at words of 16 bytes these are neighbours, for a sum does not care for the order of its terms; else they
//   lie four apart. What a step needs is under way while the one in front is multiplied: so is all of k up to two of them.
//   Of more C, MANY, other warps hide that: steps are short and one at a time, which leaves registers to more blocks, and
//   a block's warps lie beside each other, over 16 x 64.
// Idea: that of shared/direct_sums.cuh. loose_tf32.cuh takes operands through shared memory, and C back that way. Here C
//   is stored from registers: of even rows by twos, as mma.sync leaves it; of odd ones, where twos lie on no 8 bytes,
//   lanes of two rows change one each, so that a store takes eight neighbours of a row.
#pragma once

#include "shared/ampere.cuh"
#include "shared/overlap.cuh"

constexpr int DIRECT_TILE = 16;  // rows and columns of a warp
constexpr int DIRECT_WARPS = 4;  // of a block

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

// A lane's part of a step: of each slice of 16 of k, of two groups of 8 rows of A and of B.
template <bool WORDS, int SLICES>
struct DirectStep {
    unsigned a[SLICES][2][4], b[SLICES][2][4];

    __device__ __forceinline__ void load(
        const float* const (&of_a)[2], const float* const (&of_b)[2], int at, int left
    ) {
#pragma unroll
        for (int slice = 0; slice < SLICES; ++slice) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                load_four<WORDS>(a[slice][i], of_a[i] + at + slice * 16, left - slice * 16);
                load_four<WORDS>(b[slice][i], of_b[i] + at + slice * 16, left - slice * 16);
            }
        }
    }

    __device__ __forceinline__ void multiply(float (&sum)[2][4], int left) const {
#pragma unroll
        for (int slice = 0; slice < SLICES; ++slice) {
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

// Stores a lane's two neighbours of a row.
__device__ __forceinline__ void store_two(const float* two, float* c, int row, int column, int m, int n) {
    if (n % 2 == 0) {
        if (row < m && column < n) {
            *reinterpret_cast<float2*>(c + static_cast<long long>(row) * n + column) = make_float2(two[0], two[1]);
        }
        return;
    }
    // A lane has one column of two rows once it has changed the other with the lane of the row below, or above.
    const bool is_lower = row % 2;
    const float got = __shfl_xor_sync(WHOLE_WARP, is_lower ? two[0] : two[1], 4);
    const float upper = is_lower ? got : two[0], lower = is_lower ? two[1] : got;
    row -= is_lower;
    column += is_lower;
    if (column >= n) return;
    float* const to = c + static_cast<long long>(row) * n + column;
    if (row < m) to[0] = upper;
    if (row + 1 < m) to[n] = lower;
}

template <bool WORDS, bool MANY>
__device__ __forceinline__ void multiply_direct_sums(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k
) {
    constexpr int BESIDE = MANY ? DIRECT_WARPS : 2, BELOW = DIRECT_WARPS / BESIDE;
    constexpr int SLICES = MANY ? 2 : 4, STEP = SLICES * 16;
    const int warp = threadIdx.x / WARP, g = threadIdx.x % WARP / 4, q = threadIdx.x % 4;
    const int row0 = (blockIdx.x * BELOW + warp / BESIDE) * DIRECT_TILE;
    const int column0 = (blockIdx.y * BESIDE + warp % BESIDE) * DIRECT_TILE;
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
    if constexpr (MANY) {
        for (int at = 0; at < k; at += STEP) {
            DirectStep<WORDS, SLICES> step;
            step.load(of_a, of_b, at, k - first - at);
            step.multiply(sum, k - at);
        }
    } else {
        DirectStep<WORDS, SLICES> even, odd;
        int at = 0;
        even.load(of_a, of_b, at, k - first);
        // No step is moved to where the other one was: that would wait for it.
        const auto multiply = [&](const DirectStep<WORDS, SLICES>& step, DirectStep<WORDS, SLICES>& next) {
            const int then = at + STEP;
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
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        store_two(sum[i % 2] + i / 2 * 2, c, row0 + i / 2 * 8 + g, column0 + i % 2 * 8 + q * 2, m, n);
    }
}

#define DIRECT_SUMS_KERNEL(NAME, WORDS, MANY, BLOCKS)                                                              \
    extern "C" __global__ void __launch_bounds__(DIRECT_WARPS * WARP, BLOCKS)                                      \
        NAME(const float* a, const float* b, float* c, long long m, long long n, long long k) {                    \
        multiply_direct_sums<WORDS, MANY>(a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)); \
    }
DIRECT_SUMS_KERNEL(direct_sums_words, true, false, 3)
DIRECT_SUMS_KERNEL(direct_sums_ones, false, false, 3)
DIRECT_SUMS_KERNEL(many_direct_sums_words, true, true, 1)
DIRECT_SUMS_KERNEL(many_direct_sums_ones, false, true, 1)
