// What comes before and after the products of attention's gradients by wgmma: what their steps read beside the tiles,
// and dq from its sums.
//
// A step is STEP queries of a head; the last one of each head is filled up. Each has two runs of numbers, in the order of
// number_at(): what is added to its queries' scores, the logarithms of their sums of exponentials with a minus, and what is
// added to dp, their rows of do o with a minus. And two parts of dq, of 64 dims each at dim 128, of 64 queries each at
// dim 64. A part lies as the sums of a warpgroup do, whose rows are dims and whose columns are queries: float4 number
// 128 j + t is what thread t has of columns 8 j to 8 j + 7.
#pragma once

#include "shared/attention.cuh"
#include "shared/hopper.cuh"
#include "shared/overlap.cuh"

template <int DIM>
constexpr int STEP = DIM == 64 ? 128 : 64;  // queries, as in the launcher
constexpr int COLUMNS = 64;                 // of a part: queries
constexpr int PART = COLUMNS * 64;          // floats
constexpr int PREPARING = 256;              // threads, as in the launcher

// Where a step's number of a query lies. At dim 128 a thread that has columns 8 j + 2 i and the next reads those of two j
// at once; at dim 64 that would take more registers than there are.
template <int DIM>
constexpr bool READS_FOUR = DIM == 128;
template <int DIM>
__device__ __forceinline__ int number_at(int query) {
    return READS_FOUR<DIM> ? query / 16 * 16 + query % 8 / 2 * 4 + query / 8 % 2 * 2 + query % 2 : query;
}

// `use` of each place in this thread's sums of a step and the number of its query: at dim 64.
template <class Use>
__device__ __forceinline__ void with_numbers(const unsigned char* numbers, Use use) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int j = 0; j < STEP<64> / 8; j += 2) {
        const float* const from = reinterpret_cast<const float*>(numbers) + j * 8;
        float four[4];  // of the columns of j and the next
        *reinterpret_cast<float2*>(four) = reinterpret_cast<const float2*>(from)[lane % 4];
        *reinterpret_cast<float2*>(four + 2) = reinterpret_cast<const float2*>(from)[lane % 4 + 4];
#pragma unroll
        for (int i = 0; i < 8; ++i) use(j * 4 + i, four[i / 4 * 2 + i % 2]);
    }
}

// Four numbers of a step at dim 128. The compiler leaves this between the stores around it.
__device__ __forceinline__ float4 read_four(const float4* numbers) {
    float4 four;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                 : "r"(shared_address(numbers))
                 : "memory");
    return four;
}

// The numbers of a row, and zeros for its sums, by DIM / PACK neighbouring lanes. Every lane of the warp comes along.
template <int DIM>
__device__ __forceinline__ void prepare_row(
    const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,
    float* __restrict__ numbers, float* __restrict__ sums, long long head, int query, int padded, int seq
) {
    constexpr int LANES = DIM / PACK;
    const int lane = threadIdx.x % LANES;
    const long long row = head * padded + query;
    float total = 0.0f;
    float logarithm = NEGATIVE_INFINITY;  // beyond the end every weight is 0
    if (query < seq) {
        const long long at = (head * seq + query) * DIM + lane * PACK;
        const Pack a = load_pack(o + at), b = load_pack(grad + at);
#pragma unroll
        for (int i = 0; i < PACK; ++i) total += to_float(a.element[i]) * to_float(b.element[i]);
        logarithm = lse[head * seq + query] * -LOG2_E;
    }
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) total += __shfl_xor_sync(WHOLE_WARP, total, offset);
    float4* const sum = reinterpret_cast<float4*>(sums + row * DIM) + lane;
    sum[0] = sum[LANES] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (lane == 0) {
        float* const to = numbers + (row / STEP<DIM> * 2) * STEP<DIM> + number_at<DIM>(query % STEP<DIM>);
        to[0] = logarithm;
        to[STEP<DIM>] = -total;
    }
}

// Those of the first `heads` heads; a few lanes a row.
template <int DIM>
__device__ __forceinline__ void prepare(
    const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,
    float* __restrict__ numbers, float* __restrict__ sums, int seq, int heads
) {
    const int padded = (seq + STEP<DIM> - 1) / STEP<DIM> * STEP<DIM>;
    const long long row = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / (DIM / PACK);
    if (row >= static_cast<long long>(heads) * padded) return;  // padded is a multiple of a warp's rows
    const long long head = row / padded;
    prepare_row<DIM>(o, grad, lse, numbers, sums, head, static_cast<int>(row - head * padded), padded, seq);
}

// A warp turns its rows of a part into dq: warp number `warp` of the four that have made it.
template <int DIM>
__device__ __forceinline__ void finish_rows(
    const float* __restrict__ sums, SCALAR* __restrict__ dq, int head, int step, int half, int warp, int steps, int seq
) {
    const int lane = threadIdx.x % WARP;
    const long long part = (static_cast<long long>(head) * steps + step) * 2 + half;
    const float4* const from = reinterpret_cast<const float4*>(sums + part * PART) + warp * WARP + lane;
    const int dim = (DIM == 128 ? half * 64 : 0) + warp * 16 + lane % 2 * 8;
    const int first = step * STEP<DIM> + (DIM == 64 ? half * COLUMNS : 0) + lane / 4 + lane / 2 % 2 * 8;
    SCALAR* const to = dq + (static_cast<long long>(head) * seq + first) * DIM + dim;
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j += 2) {
        unsigned words[4];
#pragma unroll
        for (int l = 0; l < 2; ++l) {
            const float4 sum = __ldcg(from + (j + l) * WARPGROUP);
            from_floats(sum.x * ROOT<DIM>, sum.y * ROOT<DIM>, reinterpret_cast<SCALAR*>(&words[l * 2]));
            from_floats(sum.z * ROOT<DIM>, sum.w * ROOT<DIM>, reinterpret_cast<SCALAR*>(&words[l * 2 + 1]));
        }
#pragma unroll
        for (int l = 0; l < 4; ++l) words[l] = transposed(words[l]);
        transpose_quad(words, lane);  // now 8 dims of one query
        if (first + j * 8 >= seq) continue;
        *reinterpret_cast<uint4*>(to + j * 8 * DIM) = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

// A warpgroup turns a part into dq, of the heads from `first_head` on.
template <int DIM>
__device__ __forceinline__ void finish(
    const float* __restrict__ sums, SCALAR* __restrict__ dq, int seq, int first_head
) {
    wait_for_previous();
    const int steps = (seq + STEP<DIM> - 1) / STEP<DIM>;
    const int tile = blockIdx.x / 2;
    finish_rows<DIM>(sums, dq, first_head + tile / steps, tile % steps, blockIdx.x % 2, threadIdx.x / WARP, steps, seq);
}
