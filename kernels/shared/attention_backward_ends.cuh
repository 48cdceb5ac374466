// What comes before and after the products of attention's gradients by wgmma: what their steps read beside the tiles,
// and dq from its sums.
//
// A step is STEP queries of a head; the last one of each head is filled up. Each has two runs of numbers, its queries'
// logarithms to base 2 of their sums of exponentials, and their rows of do o; and two parts of dq, of 64 dims each at
// dim 128, of 64 queries each at dim 64. A part lies as the sums of a warpgroup do, whose rows are dims and whose columns
// are queries: float4 number 128 j + t is what thread t has of columns 8 j to 8 j + 7.
#pragma once

#include "shared/attention.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

template <int DIM>
constexpr int STEP = DIM == 64 ? 128 : 64;  // queries, as in the launcher
constexpr int COLUMNS = 64;                 // of a part: queries
constexpr int PART = COLUMNS * 64;          // floats
constexpr int PREPARING = 256;              // threads, as in the launcher

// The numbers of the steps, and zeros for the sums; a few lanes a row.
template <int DIM>
__device__ __forceinline__ void prepare(
    const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,
    float* __restrict__ numbers, float* __restrict__ sums, int seq, int heads
) {
    constexpr int LANES = DIM / PACK;  // of a row
    const int padded = (seq + STEP<DIM> - 1) / STEP<DIM> * STEP<DIM>;
    const long long row = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / LANES;
    if (row >= static_cast<long long>(heads) * padded) return;  // whole rows, so whole groups of lanes
    const int lane = threadIdx.x % LANES;
    const long long head = row / padded;
    const int query = static_cast<int>(row - head * padded);
    float total = 0.0f;
    float logarithm = -NEGATIVE_INFINITY;  // beyond the end every weight is 0
    if (query < seq) {
        const long long at = (head * seq + query) * DIM + lane * PACK;
        float x[PACK], y[PACK];
        unpack(load_pack(o + at), x);
        unpack(load_pack(grad + at), y);
#pragma unroll
        for (int i = 0; i < PACK; ++i) total += x[i] * y[i];
        logarithm = lse[head * seq + query] * LOG2_E;
    }
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) total += __shfl_xor_sync(__activemask(), total, offset);
    float4* const sum = reinterpret_cast<float4*>(sums + row * DIM) + lane;
    sum[0] = sum[LANES] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (lane == 0) {
        float* const to = numbers + (row / STEP<DIM> * 2) * STEP<DIM> + row % STEP<DIM>;
        to[0] = logarithm;
        to[STEP<DIM>] = total;
    }
}

// Each 8 x 8 matrix of 16 bits that a warp holds, transposed.
__device__ __forceinline__ unsigned transposed(unsigned word) {
    unsigned result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(word));
    return result;
}

// A warpgroup turns a part into dq.
template <int DIM>
__device__ __forceinline__ void finish(const float* __restrict__ sums, SCALAR* __restrict__ dq, int seq) {
    wait_for_previous();
    const int steps = (seq + STEP<DIM> - 1) / STEP<DIM>;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int half = blockIdx.x % 2, tile = blockIdx.x / 2;
    const int head = tile / steps, step = tile % steps;
    const float4* const from = reinterpret_cast<const float4*>(sums + static_cast<long long>(blockIdx.x) * PART);
    const int dim = (DIM == 128 ? half * 64 : 0) + warp * 16 + lane % 2 * 8;
    const int first = step * STEP<DIM> + (DIM == 64 ? half * COLUMNS : 0) + lane / 4 + lane / 2 % 2 * 8;
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j += 2) {
        unsigned words[4];
#pragma unroll
        for (int l = 0; l < 2; ++l) {
            const float4 sum = __ldcs(from + (j + l) * WARPGROUP + threadIdx.x);
            from_floats(sum.x * ROOT<DIM>, sum.y * ROOT<DIM>, reinterpret_cast<SCALAR*>(&words[l * 2]));
            from_floats(sum.z * ROOT<DIM>, sum.w * ROOT<DIM>, reinterpret_cast<SCALAR*>(&words[l * 2 + 1]));
        }
#pragma unroll
        for (int l = 0; l < 4; ++l) words[l] = transposed(words[l]);
        transpose_quad(words, lane);  // now 8 dims of one query
        const int query = first + j * 8;
        if (query >= seq) continue;
        *reinterpret_cast<uint4*>(dq + (static_cast<long long>(head) * seq + query) * DIM + dim) =
            make_uint4(words[0], words[1], words[2], words[3]);
    }
}
