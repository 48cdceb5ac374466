// The gated delta rule in chunks of 64 tokens on Hopper's tensor cores (sm_90a only), in one kernel: a warpgroup prepares
// what needs no state, the others carry the state on.
//
// Formula: with G the sum of g from a chunk's first token on, A_ij = beta_i exp(G_i - G_j) k_i . k_j below the diagonal
//   and T = (I + A)^-1 diag(beta): U = T (V - exp(G) K S), O = exp(G) Q S + (exp(G_i - G_j) Q K^T) U, and S becomes
//   exp(G_last) S + (exp(G_last - G) K)^T U.
// Mapping: a block owns a head of values and a segment of the sequence. A warpgroup holds 64 columns of the state in
//   registers, as rows of S^T: all products have what is in registers on the left and what lies in shared memory on the
//   right, so that sums become operands where they are. The last warpgroup has TMA bring a chunk, and makes T and the
//   scores exp(G_i - G_j) Q K^T of the next one meanwhile; they never leave shared memory. Of T a warp makes 16 rows: the
//   diagonal block a column a thread in float32, those before it by float16 products with rows that are done. The segment
//   begins so many chunks early that what is before has decayed to FORGOTTEN of itself.
// Idea: triton_segments writes T and the scores to memory and reads them again, as many bytes as v and o are. Yang et al.,
//   "Parallelizing Linear Transformers with the Delta Rule", arXiv:2406.06484.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "gated_delta_rule/prepare.cuh"

// What there is for two warpgroups that carry and one that prepares; threads start with 168.
constexpr int CONSUMER_REGISTERS = 192, PREPARER_REGISTERS = 120;

// By a warpgroup: takes the state past a chunk, and stores the chunk's part of o where `reads`.
template <int DIM, bool reads>
__device__ __forceinline__ void take(
    const Room<DIM>& room, const Segment& segment, float (&state)[DIM / 2], SCALAR* o, int warpgroup, int chunk
) {
    constexpr int TILE = Room<DIM>::TILE, STAGE = Room<DIM>::STAGE;
    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x % WARPGROUP / WARP, pair = lane % 4 * 2;
    unsigned char* const box = room.boxes + warpgroup * BAND;
    // Of o a thread stores 16 bytes of each 16th token: their place in the box, and in o.
    const int row = threadIdx.x % WARPGROUP / 8, part = threadIdx.x % 8, stride = segment.value_heads * DIM;
    const int tokens = segment.seq;
    const uint4* const mine = reinterpret_cast<const uint4*>(box + row * ROW + (part ^ row % 8) * 16);
    o += (1ll * segment.batch * segment.seq * segment.value_heads + segment.value_head) * DIM + warpgroup * 64 +
         part * 8;
    // Of 8 x 8 elements of V, or of O, transposed: those of 16 tokens and of this warp's 16 columns.
    const auto place = [&](int tile) {
        const int token = (tile + lane / 16) * 8 + lane % 8;
        return token * ROW + ((warp * 2 + lane / 8 % 2) ^ lane % 8) * 16;
    };
    float sums[32];
    const int turn = chunk - segment.first, stage = turn % STAGES, buffer = turn % BUFFERS;
    const unsigned char* const from = room.stages + stage * STAGE;
    const unsigned char* const made = room.buffers + buffer * 2 * BAND;
    const float* const factor = room.factors + buffer * FACTORS;
    const unsigned long long of_k = swizzled_tile(from, ATOM, 0), of_q = swizzled_tile(from + 2 * TILE, ATOM, 0);
    const unsigned long long of_solved = swizzled_tile(made, ATOM, 0);
    const unsigned long long of_scores = swizzled_tile(made + BAND, ATOM, 0);
    const unsigned long long k_across = swizzled_tile(from, ATOM, BAND);
    unsigned rounded[DIM / 4];
#pragma unroll
    for (int i = 0; i < DIM / 4; ++i) rounded[i] = packed(state[2 * i], state[2 * i + 1]);
    wait_for(room.full + stage, turn / STAGES & 1);
    pin(rounded);
    begin_products();
#pragma unroll
    for (int i = 0; i < DIM / 16; ++i) {
        const unsigned long long to = of_k + i / 4 * (BAND / 16) + i % 4 * 2;
        if (i == 0) begin_rows(sums, rounded, to);
        else multiply_rows(sums, rounded + i * 4, to);
    }
    commit_products();
    wait_for_products<0>();
    pin(sums);
    wait_for(room.prepared + buffer, turn / BUFFERS & 1);
    unsigned values[16];
#pragma unroll
    for (int tile = 0; tile < 8; tile += 2) {
        unsigned four[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(four[0]), "=r"(four[1]), "=r"(four[2]), "=r"(four[3])
                     : "r"(shared_address(from + TILE + warpgroup * BAND + place(tile)))
                     : "memory");
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int column = (tile + i / 2) * 8 + pair, at = (tile + i / 2) * 4 + i % 2 * 2;
            const float2 value = unpacked(four[i]);
            const float2 kept = *reinterpret_cast<const float2*>(factor + column);
            values[tile * 2 + i] = packed(value.x - kept.x * sums[at], value.y - kept.y * sums[at + 1]);
        }
    }
    pin(values);
    begin_products();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (i == 0) begin_rows(sums, values, of_solved);
        else multiply_rows(sums, values + i * 4, of_solved + i * 2);
    }
    commit_products();
    wait_for_products<0>();
    pin(sums);
    unsigned change[16];
    const float left = factor[3 * CHUNK];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const float2 two = *reinterpret_cast<const float2*>(factor + 2 * CHUNK + i / 2 * 8 + pair);
        values[i] = packed(sums[2 * i], sums[2 * i + 1]);
        change[i] = packed(sums[2 * i] * two.x, sums[2 * i + 1] * two.y);
    }
#pragma unroll
    for (int i = 0; i < DIM / 2; ++i) state[i] *= left;
    pin(change);
    pin(state);
    pin(rounded);
    begin_products();
    if constexpr (reads) {
#pragma unroll
        for (int i = 0; i < DIM / 16; ++i) {
            const unsigned long long to = of_q + i / 4 * (BAND / 16) + i % 4 * 2;
            if (i == 0) begin_rows(sums, rounded, to);
            else multiply_rows(sums, rounded + i * 4, to);
        }
        commit_products();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) multiply(state, change + i * 4, k_across + i * (16 * ROW / 16));
    commit_products();
    if constexpr (reads) {
        wait_for_products<1>();
        pin(sums);
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            const float2 two = *reinterpret_cast<const float2*>(factor + CHUNK + i / 4 * 8 + pair);
            sums[i] *= two.x;
            sums[i + 1] *= two.y;
        }
        pin(values);
        pin(sums);
        begin_products();
#pragma unroll
        for (int i = 0; i < 4; ++i) multiply_rows(sums, values + i * 4, of_scores + i * 2);
        commit_products();
        wait_for_products<0>();
        pin(sums);
        meet_warpgroup(warpgroup);  // what was there is read
#pragma unroll
        for (int tile = 0; tile < 8; tile += 2) {
            const float* const four = sums + tile * 4;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                             shared_address(box + place(tile))
                         ),
                         "r"(packed(four[0], four[1])), "r"(packed(four[2], four[3])), "r"(packed(four[4], four[5])),
                         "r"(packed(four[6], four[7]))
                         : "memory");
        }
        meet_warpgroup(warpgroup);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int token = chunk * CHUNK + row + i * 16;
            if (token >= tokens) continue;
            *reinterpret_cast<uint4*>(o + static_cast<long long>(token) * stride) = mine[i * 16 * ROW / 16];
        }
    }
    wait_for_products<0>();
    pin(state);
    __syncwarp();
    if (arrives_for_warp(lane)) {
        arrive(room.empty + stage);
        arrive(room.taken + buffer);
    }
}

template <int DIM>
__device__ __forceinline__ void carry(const Room<DIM>& room, const Segment& segment, SCALAR* o, int warpgroup) {
    float state[DIM / 2] = {};
    for (int chunk = segment.first; chunk < segment.begin; ++chunk) {
        take<DIM, false>(room, segment, state, o, warpgroup, chunk);
    }
    for (int chunk = segment.begin; chunk < segment.end; ++chunk) {
        take<DIM, true>(room, segment, state, o, warpgroup, chunk);
    }
}

template <int DIM>
__device__ __forceinline__ void run(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, const float* g, const float* beta, SCALAR* o,
    long long seq, long long heads, long long groups, long long chunks, long long length
) {
    constexpr int CONSUMERS = Room<DIM>::CONSUMERS;
    extern __shared__ __align__(1024) unsigned char shared[];
    const Room<DIM> room(shared);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    // T is 0 above the diagonal; prepare() writes the blocks below.
    for (int i = threadIdx.x; i < BUFFERS * 2 * BAND / 16; i += (CONSUMERS + 1) * WARPGROUP) {
        reinterpret_cast<uint4*>(room.buffers)[i] = make_uint4(0, 0, 0, 0);
    }
    publish_writes();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init_barrier(room.full + i, 1);
            init_barrier(room.empty + i, CONSUMERS * 4 * ARRIVALS_OF_WARP);
        }
        for (int i = 0; i < BUFFERS; ++i) {
            init_barrier(room.prepared + i, 4 * ARRIVALS_OF_WARP);
            init_barrier(room.taken + i, CONSUMERS * 4 * ARRIVALS_OF_WARP);
        }
        publish_barriers();
    }
    __syncthreads();
    if (warpgroup == CONSUMERS) {
        if constexpr (CONSUMERS == 2) give_registers<PREPARER_REGISTERS>();
        prepare<DIM>(room, Segment(g, seq, heads, groups, chunks, length), q, k, v, g, beta);
    } else {
        if constexpr (CONSUMERS == 2) take_registers<CONSUMER_REGISTERS>();
        carry<DIM>(room, Segment(g, seq, heads, groups, chunks, length), o, warpgroup);
    }
}

#define GATED_DELTA_RULE(DIM)                                                                                     \
    extern "C" __global__ void __launch_bounds__(DIM * 2 + WARPGROUP, 1) gated_delta_rule_##DIM(                  \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                             \
        const __grid_constant__ CUtensorMap v, const float* __restrict__ g, const float* __restrict__ beta,       \
        SCALAR* __restrict__ o, long long seq, long long heads, long long groups, long long chunks, long long length \
    ) {                                                                                                           \
        run<DIM>(q, k, v, g, beta, o, seq, heads, groups, chunks, length);                                        \
    }
GATED_DELTA_RULE(64)
GATED_DELTA_RULE(128)

#endif
