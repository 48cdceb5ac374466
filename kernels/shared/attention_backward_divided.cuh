// Tiles of attention's gradients on Hopper (sm_90a) that several blocks share: float32 sums of dk and dv in memory.
//
// A warpgroup has 64 rows of each of them; float4 number 128 j + t is what thread t has of columns 8 j to 8 j + 7.
#pragma once

#include "shared/attention_backward_block.cuh"

// A thread's sums to those of the same thread of other blocks.
template <int COUNT>
__device__ __forceinline__ void add_to(float4* to, const float (&sum)[COUNT]) {
#pragma unroll
    for (int j = 0; j < COUNT / 4; ++j) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to + j * WARPGROUP),
                     "f"(sum[j * 4]), "f"(sum[j * 4 + 1]), "f"(sum[j * 4 + 2]), "f"(sum[j * 4 + 3])
                     : "memory");
    }
}

// A warpgroup's rows of dk or of dv of a divided tile, from the sums of its chunks.
template <int DIM>
__device__ __forceinline__ void finish_divided(
    const float4* __restrict__ divided_sums, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, int number, int whole,
    int seq
) {
    wait_for_previous();
    const int tile = whole + number / (2 * CONSUMERS), blocks = (seq + KEYS - 1) / KEYS;
    const bool is_v = number % 2 == 1;
    const float4* const from = divided_sums + static_cast<long long>(number) * (DIM / 8 * WARPGROUP) + threadIdx.x;
    float sum[DIM / 2];
#pragma unroll
    for (int j = 0; j < DIM / 8; ++j) *reinterpret_cast<float4*>(sum + j * 4) = __ldcg(from + j * WARPGROUP);
    const long long first_row = static_cast<long long>(tile / blocks) * seq;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int own = tile % blocks * KEYS + number / 2 % CONSUMERS * 64 + threadIdx.x / WARP * 16 +
                        threadIdx.x % WARP / 4 + half * 8;
        store_row(sum, half, is_v ? 1.0f : ROOT<DIM>, (is_v ? dv : dk) + (first_row + own) * DIM, own < seq);
    }
}
