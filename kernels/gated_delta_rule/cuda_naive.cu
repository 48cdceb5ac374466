// The gated delta rule token by token, as its formula is written.
//
// Formula: u_t = beta_t (v_t - exp(g_t) S^T k_t), S = exp(g_t) S + k_t u_t^T, o_t = S^T q_t / sqrt(dim), k_t and q_t of
//   length 1; 6 dim dim FLOP a token and head of values.
// Mapping: a block owns a head of values, and two neighbouring threads a column of the state, every other four elements
//   each, in registers. Half of the threads bring the key into shared memory and half the query, which all then read.
//   Tokens follow one another: one block a head is under way, however long the sequence.
// Lesson: a token takes three products of a matrix and a vector, which no tensor core does, and waits for the one
//   before. More tokens make the call longer and fill no more of the GPU.
// Idea: the recurrent form of Yang, Kautz and Hatamizadeh, "Gated Delta Networks", arXiv:2412.06464.
#include "shared/common.cuh"

constexpr float EPSILON = 1e-6f;  // beside the square of a length

template <int DIM>
__device__ __forceinline__ void walk(
    const SCALAR* q, const SCALAR* k, const SCALAR* v, const float* g, const float* beta, SCALAR* o, long long seq,
    long long heads, long long groups
) {
    constexpr int WARPS = DIM / WARP;  // that bring a vector
    __shared__ __align__(16) float vectors[2][DIM];
    __shared__ float squares[2][WARPS];
    const long long value_heads = heads * groups, batch = blockIdx.x / value_heads, head = blockIdx.x % value_heads;
    const int column = threadIdx.x / 2, first = threadIdx.x % 2 * 4;
    const int vector = threadIdx.x / DIM, place = threadIdx.x % DIM;  // what it brings: 0, the key, or 1, the query
    const SCALAR* const from = vector == 0 ? k : q;
    const float scale = vector == 0 ? 1.0f : rsqrtf(static_cast<float>(DIM));
    float state[DIM / 2] = {};
    for (long long t = 0; t < seq; ++t) {
        const long long token = batch * seq + t, gate = token * value_heads + head;
        const float mine = to_float(from[(token * heads + head / groups) * DIM + place]);
        const float keep = expf(g[gate]), part = beta[gate], value = to_float(v[gate * DIM + column]);
        const float square = warp_sum(mine * mine);
        if (threadIdx.x % WARP == 0) squares[vector][place / WARP] = square;
        __syncthreads();  // behind the reads of the last token, too
        float length = EPSILON;
#pragma unroll
        for (int i = 0; i < WARPS; ++i) length += squares[vector][i];
        vectors[vector][place] = mine * rsqrtf(length) * scale;
        __syncthreads();

        float answer = 0.0f;
#pragma unroll
        for (int i = 0; i < DIM / 2; i += 4) {
            const float4 key = *reinterpret_cast<const float4*>(&vectors[0][2 * i + first]);
            answer += (state[i] *= keep) * key.x + (state[i + 1] *= keep) * key.y;
            answer += (state[i + 2] *= keep) * key.z + (state[i + 3] *= keep) * key.w;
        }
        answer += __shfl_xor_sync(WHOLE_WARP, answer, 1);
        const float written = part * (value - answer);
        float read = 0.0f;
#pragma unroll
        for (int i = 0; i < DIM / 2; i += 4) {
            const float4 key = *reinterpret_cast<const float4*>(&vectors[0][2 * i + first]);
            const float4 query = *reinterpret_cast<const float4*>(&vectors[1][2 * i + first]);
            read += (state[i] += key.x * written) * query.x + (state[i + 1] += key.y * written) * query.y;
            read += (state[i + 2] += key.z * written) * query.z + (state[i + 3] += key.w * written) * query.w;
        }
        read += __shfl_xor_sync(WHOLE_WARP, read, 1);
        if (first == 0) from_float(read, o[gate * DIM + column]);
    }
}

#define GATED_DELTA_RULE(DIM)                                                                               \
    extern "C" __global__ void __launch_bounds__(2 * DIM) gated_delta_rule_##DIM(                           \
        const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,           \
        const float* __restrict__ g, const float* __restrict__ beta, SCALAR* __restrict__ o, long long seq, \
        long long heads, long long groups                                                                   \
    ) {                                                                                                     \
        walk<DIM>(q, k, v, g, beta, o, seq, heads, groups);                                                 \
    }
GATED_DELTA_RULE(64)
GATED_DELTA_RULE(128)
