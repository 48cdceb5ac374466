// Gradients of attention on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: with p = 2^(k q^T log2(e) / sqrt(dim) - lse log2(e)) and ds = p (v do^T - rows of do o), keys going down:
//   dv = p do, dk = ds q / sqrt(dim), dq = ds^T k / sqrt(dim). Five products, 10 seq seq dim FLOP a head, half of it
//   where causal.
// Mapping: a tile is 128 keys of a head, 64 for each of two warpgroups, whose dk and dv stay in registers while the
//   queries go by, 64 a step at dim 128 and 128 at dim 64. p and ds come out of their products as the first operands of
//   the next ones. dq's product needs the ds of all 128 keys: it goes through shared memory, and each warpgroup makes a
//   half of the step's dq, as the transpose k^T ds.
//   Tiles of a head share its dq. Each step is added to float32 sums in memory, by the copy engine, from where a last
//   kernel makes dq. So dq may differ in its last bits from call to call; triton_flash and cuda_mma, which make p and
//   ds twice, give the same every time.
//   A block a multiprocessor takes tile by tile; shared/attention_backward_block.cuh has what its third warpgroup does.
//   Descriptors of tiles are the same for a whole warp, and the compiler must see it: taken from registers they cost
//   time. 80 queries a step at dim 128 where not causal, as FlashAttention-3 has them, are no faster; dk before the part
//   of dq, or the next k q^T before that part is handed over, is slower at dim 128.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608, and its code for gradients.
#pragma once

#include "shared/attention_backward_block.cuh"

// ---- The warpgroups that multiply ----------------------------------------------------------------

__device__ __forceinline__ void meet_consumers() { asm volatile("bar.sync 8, 256;" ::: "memory"); }

// As store_matrices, each transposed.
__device__ __forceinline__ void store_transposed(void* to, const unsigned* from) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(to)),
                 "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
}

template <int DIM, bool CAUSAL>
__device__ __forceinline__ void multiply_tiles(
    const Block<DIM>& at, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, int warpgroup, int seq
) {
    constexpr int QUERIES = STEP<DIM>;
    constexpr float SCALE = LOG2_E * ROOT<DIM>;
    const int lane = threadIdx.x % WARP;
    const int thread = threadIdx.x % WARPGROUP;
    int first_key = 0;    // of the tile
    int step_offset = 0;  // from a turn to its step
    // This thread's first key, 8 more is its second one.
    const auto own_key = [&] {
        const int number = made_anew(threadIdx.x);
        return first_key + number / WARP * 16 + number % WARP / 4;
    };

    float s[QUERIES / 2], dp[QUERIES / 2], part[COLUMNS / 2];
    float sum_k[DIM / 2], sum_v[DIM / 2];
    unsigned p[QUERIES / 4], ds[QUERIES / 4];

    // The lower half of a tile's descriptor; the upper one is the same for all. A turn is never negative, but the
    // compiler does not know: sums of places made before the loop would take more registers than there are.
    const auto place = [&](int offset, int turn) {
        return static_cast<unsigned>(swizzled_tile(at.keys + offset, ATOM, 0)) + (static_cast<unsigned>(turn) >> 31);
    };
    const auto tile_at = [](unsigned place) { return swizzled_tile(nullptr, ATOM, 0) >> 32 << 32 | place; };

    // sum (64 keys x queries) = own rows of keys or values times rows of a step
    const auto start_rows = [&](float (&sum)[QUERIES / 2], int own_at, const unsigned char* tile, int turn) {
        const unsigned own = place(own_at + warpgroup * 64 * ROW, turn);
        const unsigned long long theirs = swizzled_tile(tile, ATOM, 0);
        begin_products();
#pragma unroll
        for (int i = 0; i < DIM / 16; ++i) {  // 32 bytes along a row, then on to the next band
            const int band = i / 4 * ROW, offset = i % 4 * 32;
            const unsigned long long a = tile_at(own + (band * KEYS + offset >> 4));
            const unsigned long long b = theirs + (band * QUERIES + offset >> 4);
            if (i == 0) {
                begin_multiply(sum, a, b);
            } else {
                multiply(sum, a, b, true);
            }
        }
        commit_products();
    };
    // sum (64 keys x DIM) += weights times rows of a step
    const auto start_sums = [&](float (&sum)[DIM / 2], const unsigned* weights, const unsigned char* tile) {
        const unsigned long long theirs = swizzled_tile(tile, ATOM, QUERIES * ROW);
#pragma unroll
        for (int i = 0; i < QUERIES / 16; ++i) multiply(sum, weights + i * 4, theirs + (i * 16 * ROW >> 4));
        commit_products();
    };
    // part (64 dims x COLUMNS queries) = keys, their rows across what is summed, times ds
    const auto start_part = [&](int turn) {
        const unsigned own = place(DIM == 128 ? warpgroup * KEYS * ROW : 0, turn);
        const unsigned char* const tile = at.scores(turn) + (DIM == 64 ? warpgroup * 64 * ROW : 0);
        const unsigned long long theirs = swizzled_tile(tile, ATOM, 0);
#pragma unroll
        for (int i = 0; i < KEYS / 16; ++i) {
            const unsigned long long a = tile_at(own + (i * 16 * ROW >> 4));
            const unsigned long long b = theirs + (i / 4 * QUERIES * ROW + i % 4 * 32 >> 4);
            if (i == 0) {
                begin_multiply<true>(part, a, b);
            } else {
                multiply<true>(part, a, b, true);
            }
        }
        commit_products();
    };
    const auto release = [&](Barrier* empty) {
        if (thread == 0) arrive(empty);
    };
    // The logarithms, and QUERIES / 2 further the rows of do o, of this thread's columns.
    const auto numbers = [&](int turn) { return reinterpret_cast<const float2*>(at.numbers(turn)) + lane % 4; };

    const auto mask = [&](int step) {
        // Of this thread's first key and query, so that each score takes comparisons with constants.
        const int own = own_key(), query = step * QUERIES + lane % 4 * 2;
        const int keys_left = seq - own, queries_left = seq - query, ahead = own - query;
#pragma unroll
        for (int i = 0; i < QUERIES / 2; ++i) {
            const int down = i / 2 % 2 * 8, across = i / 4 * 8 + i % 2;
            const bool visible = down < keys_left && across < queries_left && (!CAUSAL || ahead <= across - down);
            s[i] = visible ? s[i] : NEGATIVE_INFINITY;
        }
    };
    // p in s, and dp before the rows of do o come off.
    const auto make_weights = [&](int turn, bool is_first, unsigned full) {
        const int stage = turn % STAGES, step = turn + step_offset;
        const unsigned phase = turn / STAGES % 2;
        wait_for(at.queries_full + stage, phase);
        start_rows(s, 0, at.queries(turn), turn);
        if (is_first) wait_for(at.values_full, full);
        wait_for(at.grads_full + stage, phase);
        start_rows(dp, Block<DIM>::VALUES_AT, at.grads(turn), turn);
        wait_for_products<1>();
        pin(s);
        const bool cut = first_key + KEYS > seq || (step + 1) * QUERIES > seq;
        if (cut || (CAUSAL && step * QUERIES + 1 < first_key + KEYS)) mask(step);
#pragma unroll
        for (int j = 0; j < QUERIES / 8; ++j) {
            const float2 lse = numbers(turn)[j * 4];
            s[j * 4] = fast_exp2(s[j * 4] * SCALE - lse.x);
            s[j * 4 + 1] = fast_exp2(s[j * 4 + 1] * SCALE - lse.y);
            s[j * 4 + 2] = fast_exp2(s[j * 4 + 2] * SCALE - lse.x);
            s[j * 4 + 3] = fast_exp2(s[j * 4 + 3] * SCALE - lse.y);
        }
        wait_for_products<0>();
        pin(dp);
    };
    // Starts three products: dv, the part of dq, dk.
    const auto start_gradients = [&](int turn) {
        to_operand(s, p);
#pragma unroll
        for (int j = 0; j < QUERIES / 8; ++j) {
            const float2 delta = numbers(turn)[QUERIES / 2 + j * 4];
            dp[j * 4] = s[j * 4] * (dp[j * 4] - delta.x);
            dp[j * 4 + 1] = s[j * 4 + 1] * (dp[j * 4 + 1] - delta.y);
            dp[j * 4 + 2] = s[j * 4 + 2] * (dp[j * 4 + 2] - delta.x);
            dp[j * 4 + 3] = s[j * 4 + 3] * (dp[j * 4 + 3] - delta.y);
        }
        to_operand(dp, ds);
        // Rows are queries, in two bands of 64 keys. The other of two tiles may still be read.
        unsigned char* const own = at.scores(turn) + warpgroup * QUERIES * ROW + (lane / 16 * 8 + lane % 8) * ROW +
                                   ((thread / WARP * 2 + lane / 8 % 2) ^ lane % 8) * 16;
#pragma unroll
        for (int j = 0; j < QUERIES / 16; ++j) store_transposed(own + j * 16 * ROW, ds + j * 4);
        publish_writes();
        pin(p);
        begin_products();
        start_sums(sum_v, p, at.grads(turn));
        pin(ds);
        begin_products();
        meet_consumers();
        start_part(turn);
        start_sums(sum_k, ds, at.queries(turn));
    };
    const auto hand_over_part = [&] {
        float4* const to = reinterpret_cast<float4*>(at.part(warpgroup)) + thread;
        wait_at(part_empty(warpgroup));
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) {
            to[j * WARPGROUP] = make_float4(part[j * 4], part[j * 4 + 1], part[j * 4 + 2], part[j * 4 + 3]);
        }
        publish_writes();
        tell(part_full(warpgroup));
    };

    int turn = 0;
    unsigned full = 0;  // phase; not kept over the steps, which need every register
    while (true) {
        wait_for(at.keys_full, full);
        const int head = __shfl_sync(WHOLE_WARP, at.next_tile[0], 0);
        if (head < 0) return;
        first_key = __shfl_sync(WHOLE_WARP, at.next_tile[1], 0) * KEYS;
        step_offset = (CAUSAL ? first_key / QUERIES : 0) - turn;
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sum_k[i] = sum_v[i] = 0.0f;
        pin(sum_k);  // zero before a product starts
        pin(sum_v);
        make_weights(turn, true, full);
        for (; (turn + step_offset + 1) * QUERIES < seq; ++turn) {
            start_gradients(turn);
            wait_for_products<2>();
            release(at.grads_empty + turn % STAGES);
            wait_for_products<1>();
            pin(part);
            hand_over_part();
            wait_for_products<0>();
            release(at.queries_empty + turn % STAGES);
            make_weights(turn + 1, false, full);
        }
        release(at.values_empty);
        start_gradients(turn);
        wait_for_products<0>();
        pin(part);
        release(at.queries_empty + turn % STAGES);
        release(at.grads_empty + turn % STAGES);
        const long long first_row = at.next_tile[0] * static_cast<long long>(seq);
        full = at.next_tile[2];
        hand_over_part();
        meet_warpgroup(warpgroup);  // all have read next_tile
        release(at.keys_empty);
        ++turn;
        pin(sum_k);
        pin(sum_v);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int own = own_key() + half * 8;
            store_row(sum_k, half, ROOT<DIM>, dk + (first_row + own) * DIM, own < seq);
            store_row(sum_v, half, 1.0f, dv + (first_row + own) * DIM, own < seq);
        }
    }
}

template <int DIM, bool CAUSAL>
__device__ __forceinline__ void propagate(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, const CUtensorMap& grad,
    const float* __restrict__ numbers, float* __restrict__ sums, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv,
    int* __restrict__ taken, int seq, int heads, int group
) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const Block<DIM> at(shared);
    at.begin();
    const int blocks = (seq + KEYS - 1) / KEYS;
    const int steps = (seq + STEP<DIM> - 1) / STEP<DIM>;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);  // for the compiler the same for a warp
    if (warpgroup < CONSUMERS) {
        take_registers<240>();
        multiply_tiles<DIM, CAUSAL>(at, dk, dv, warpgroup, seq);
        return;
    }
    give_registers<24>();
    if (threadIdx.x / WARP == ADDER) {
        add_parts<DIM, CAUSAL>(at, sums, steps);
    } else if (threadIdx.x % WARPGROUP == 0) {
        copy_tiles<DIM, CAUSAL>(at, q, k, v, grad, numbers, taken, blocks, steps, heads, group);
    }
}

#define BACKWARD_KERNELS(DIM, CAUSAL)                                                                                 \
    extern "C" __global__ void __launch_bounds__(PREPARING) prepare_##DIM(                                            \
        const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,                 \
        float* __restrict__ numbers, float* __restrict__ sums, int* __restrict__ taken, long long seq,                \
        long long heads) {                                                                                            \
        if (blockIdx.x == 0 && threadIdx.x == 0) *taken = 0;                                                          \
        prepare<DIM>(o, grad, lse, numbers, sums, static_cast<int>(seq), static_cast<int>(heads));                    \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) propagate_##DIM(                     \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                                 \
        const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap grad,                              \
        const float* __restrict__ numbers, float* __restrict__ sums, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, \
        int* __restrict__ taken, long long seq, long long heads, long long group) {                                   \
        propagate<DIM, CAUSAL>(q, k, v, grad, numbers, sums, dk, dv, taken, static_cast<int>(seq),                    \
                               static_cast<int>(heads), static_cast<int>(group));                                     \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(WARPGROUP) finish_##DIM(                                             \
        const float* __restrict__ sums, SCALAR* __restrict__ dq, long long seq) {                                     \
        finish<DIM>(sums, dq, static_cast<int>(seq));                                                                 \
    }
