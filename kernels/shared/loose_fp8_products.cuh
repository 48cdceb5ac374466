// Products of a warp out of rows of FP8 (E4M3) as they lie in shared memory: what loose_fp8.cuh adds up.
#pragma once

#include "shared/loose_bytes.cuh"

// The float16 of two E4M3 elements; exact.
__device__ __forceinline__ unsigned to_halves(unsigned short two) {
    unsigned halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(two));
    return halves;
}

// sum (16 x 8) += a b over 16 of k, in float16.
__device__ __forceinline__ void multiply_halves(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// `sum` += the products of a warp's ROWS x 16 rows of A and COLUMNS x 8 of B over BLOCK_K of k, as they lie in a stage. With
// LAST, only `left` of k are there.
template <bool AMID, bool LAST, int PITCH, int ROWS, int COLUMNS>
__device__ __forceinline__ void add_products(
    float (&sum)[ROWS][COLUMNS][4], const unsigned char* stage, const Lane& of_a, const Lane& of_b, int left
) {
#pragma unroll
    for (int at = 0; at < BLOCK_K; at += 16) {
        if (LAST && at >= left) return;
        const unsigned mask = LAST ? first_bytes(left - at - static_cast<int>(threadIdx.x) % 4 * 4) : ~0u;
        const auto read = [&](const Lane& lane, int row) {
            const unsigned word = lane.template word<AMID, PITCH>(stage, row, at);
            return LAST ? word & mask : word;
        };
        unsigned b[COLUMNS][2];
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) {
            const unsigned word = read(of_b, i);
            b[i][0] = to_halves(word & 0xffff), b[i][1] = to_halves(word >> 16);
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            unsigned a[4];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const unsigned word = read(of_a, i * 2 + j);
                a[j] = to_halves(word & 0xffff), a[j + 2] = to_halves(word >> 16);
            }
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) multiply_halves(sum[i][j], a, b[j]);
        }
    }
}

// Scales of one block of k for a thread's rows and a warp's columns, on their way while the block before is multiplied.
template <int ROWS>
struct BlockScales {
    float of_a[ROWS * 2], of_b;

    // Of rows `row` + 8 i; beyond m or the last block any number will do, but no other's memory.
    __device__ __forceinline__ void load(
        const float* a, const float* b, int block, int blocks, long long row, long long m
    ) {
        block = min(block, blocks - 1);
        of_b = __ldg(b + block);
#pragma unroll
        for (int i = 0; i < ROWS * 2; ++i) of_a[i] = __ldg(a + block * m + min(row + i * 8, m - 1));
    }

    // sum += product, scaled.
    template <int COLUMNS>
    __device__ __forceinline__ void add(
        float (&sum)[ROWS][COLUMNS][4], const float (&product)[ROWS][COLUMNS][4]
    ) const {
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const float by[2] = {of_a[i * 2] * of_b, of_a[i * 2 + 1] * of_b};
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
                for (int l = 0; l < 4; ++l) sum[i][j][l] += product[i][j][l] * by[l / 2];
            }
        }
    }
};
