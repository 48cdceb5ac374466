// Gradients of attention over short sequences on Hopper (sm_90a): small blocks that share no sums in memory.
//
// Formula: that of shared/wgmma_attention_backward.cuh. Seven products: k q^T and v do^T are made for dk and dv, and again
//   for dq.
// Mapping: a warpgroup has 64 rows of its own, keys with their values or queries with their gradients, and goes over all
//   queries, or all keys, 64 a step. Both kinds do the same: s = own a^T, dp = own b^T and sum += ds a, where warpgroups of
//   keys have dv += p b besides. p and ds come out of their products as the first operands of the next ones. A thread has
//   TMA copy the steps ahead. Two or three warpgroups share a multiprocessor and multiply when they can, as blocks of their
//   own, or two as a block whose steps both read. Where they are few, the blocks of a cluster share the steps of a tile, and
//   add up their sums in shared memory. Nothing is added in memory: no zeros are written before, nothing is converted
//   behind, and every call gives the same.
//   The rows of do o come from a kernel in front, while this one copies and multiplies already.
// Idea: of few queries and keys, five products by large tiles leave most multiprocessors idle, and three kernels in a row
//   take longer than the products. Not faster: own tiles held in registers.
#pragma once

#include "shared/attention_backward_short_pieces.cuh"
#include "shared/overlap.cuh"

// What a block of either kind does: of keys dk and dv, of queries dq.
template <int DIM, bool OF_KEYS, bool CAUSAL, int GROUPS, bool AHEAD>
__device__ __forceinline__ void take_tile(
    const ShortBlock<DIM, GROUPS>& at, const CUtensorMap& own_0, const CUtensorMap& own_1, const CUtensorMap& map_0,
    const CUtensorMap& map_1, const float* __restrict__ numbers, SCALAR* __restrict__ to_0, SCALAR* __restrict__ to_1,
    int head, int tile, const Steps& steps, int parts, int rank, int seq
) {
    constexpr float SCALE = LOG2_E * ROOT<DIM>;
    const int warpgroup = GROUPS == 1 ? 0 : __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    tile = tile * GROUPS + warpgroup;  // of this warpgroup
    unsigned char* const own_tiles = at.own + warpgroup * 2 * at.TILE;
    // Not held in registers over the steps, which need every one. The first of this thread's two rows, 8 more is the other.
    const auto own_row = [&] {
        const int number = made_anew(threadIdx.x);
        return tile * ROWS + number % WARPGROUP / WARP * 16 + number % WARP / 4;
    };
    const auto numbers_of = [&](int step) {
        const int all = (made_anew(seq) + ROWS - 1) / ROWS;
        return numbers + (static_cast<long long>(head) * all + step) * (2 * ROWS);
    };

    const auto fill = [&](int stage, int i) {
        copy_rows<DIM, ROWS>(at.stage(stage), map_0, steps.at(i) * ROWS, head, at.full(stage));
        copy_rows<DIM, ROWS>(at.stage(stage) + at.TILE, map_1, steps.at(i) * ROWS, head, at.full(stage));
    };
    const auto fill_numbers = [&](int stage, int i) {
        arrive_and_expect(at.numbers_full(stage), NUMBERS);
        copy_bytes(at.numbers(stage), numbers_of(steps.at(i)), NUMBERS, at.numbers_full(stage));
    };
    const int ahead = min(at.stages, steps.count);
    if (threadIdx.x % WARPGROUP == 0 && ahead > 0) {
        copy_rows<DIM, ROWS>(own_tiles, own_0, tile * ROWS, head, at.own_full());
        if (threadIdx.x == 0) fill(0, 0);
        copy_rows<DIM, ROWS>(own_tiles + at.TILE, own_1, tile * ROWS, head, at.own_full());
        for (int i = 1; i < ahead && threadIdx.x == 0; ++i) fill(i, i);
    }
    wait_for_previous();  // the kernel in front makes numbers, and has waited for those that make what was copied
    if (OF_KEYS && threadIdx.x == 0) {
        for (int i = 0; i < ahead; ++i) fill_numbers(i, i);
    }

    float s[ROWS / 2], dp[ROWS / 2];
    float sum_0[DIM / 2], sum_1[OF_KEYS ? DIM / 2 : 4];
    unsigned p[ROWS / 4], ds[ROWS / 4];
    float own_numbers[4];  // of queries: for both of this thread's rows what is added to scores, and to dp
#pragma unroll
    for (int i = 0; i < DIM / 2; ++i) sum_0[i] = 0.0f;
#pragma unroll
    for (int i = 0; OF_KEYS && i < DIM / 2; ++i) sum_1[i] = 0.0f;
    const auto pin_sums = [&] {
        pin(sum_0);
        if constexpr (OF_KEYS) pin(sum_1);
    };
    pin_sums();
    if constexpr (!OF_KEYS) {
        const float* const from = numbers_of(tile);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float* const one = from + i / 2 * ROWS + number_at<128>(own_row() % ROWS + i % 2 * 8);
            own_numbers[i] = GROUPS == 1 || tile * ROWS < seq ? __ldcg(one) : NEGATIVE_INFINITY;
        }
    }

    const auto start = [&](int stage) {
        begin_products();
        start_scores<DIM>(s, own_tiles, at.stage(stage));
        start_scores<DIM>(dp, own_tiles + at.TILE, at.stage(stage) + at.TILE);
    };
    const auto mask = [&](int step) {
        // Rows are keys and columns queries, or the other way round.
        const int row = own_row(), column = step * ROWS + threadIdx.x % 4 * 2, left = seq - column,
                  ahead = row - column;
#pragma unroll
        for (int i = 0; i < ROWS / 2; ++i) {
            const int down = i / 2 % 2 * 8, across = i / 4 * 8 + i % 2;
            const bool visible =
                OF_KEYS ? ahead <= across - down : across < left && (!CAUSAL || ahead >= across - down);
            s[i] = visible ? s[i] : NEGATIVE_INFINITY;
        }
    };

    const auto make_weights = [&](int i, int stage, unsigned phase) {
        const int step = steps.at(i);
        wait_for_products<1>();
        pin(s);
        if (OF_KEYS) wait_for(at.numbers_full(stage), phase);
        if (i > 0) {
            meet_readers<GROUPS>(warpgroup);  // all have read the numbers of the stage before
            const int before = stage == 0 ? at.stages - 1 : stage - 1;
            // The last warpgroup that has read a stage has it filled.
            if (GROUPS > 1) __threadfence_block();
            if (threadIdx.x % WARPGROUP == 0 && i - 1 + at.stages < steps.count &&
                (GROUPS == 1 || atomicAdd(at.read_by(before), 1) % GROUPS == GROUPS - 1)) {
                fill(before, i - 1 + at.stages);
                if (OF_KEYS) fill_numbers(before, i - 1 + at.stages);
            }
        }
        if ((CAUSAL && (OF_KEYS ? step <= tile : step >= tile)) || (!OF_KEYS && (step + 1) * ROWS > seq)) mask(step);
        if constexpr (OF_KEYS) {
            with_columns(at.numbers(stage), [&](int l, float number) { s[l] = fast_exp2(s[l] * SCALE + number); });
            to_operand(s, p);
        } else {
#pragma unroll
            for (int l = 0; l < ROWS / 2; ++l) s[l] = fast_exp2(s[l] * SCALE + own_numbers[l / 2 % 2]);
        }
        wait_for_products<0>();
        pin(dp);
        if constexpr (OF_KEYS) {
            with_columns(at.numbers(stage) + ROWS * 4, [&](int l, float number) { dp[l] = s[l] * (dp[l] + number); });
        } else {
#pragma unroll
            for (int l = 0; l < ROWS / 2; ++l) dp[l] = s[l] * (dp[l] + own_numbers[2 + l / 2 % 2]);
        }
        to_operand(dp, ds);
        if (OF_KEYS) pin(p);
        pin(ds);
    };
    const auto start_sums = [&](int stage) {
        begin_products();
        if constexpr (OF_KEYS) add_products<DIM>(sum_1, p, at.stage(stage) + at.TILE);
        add_products<DIM>(sum_0, ds, at.stage(stage));
        commit_products();
    };
    if (ahead > 0) {
        int stage = 0;
        unsigned phase = 0;
        wait_for(at.own_full(), 0);
        wait_for(at.full(0), 0);
        start(0);
        make_weights(0, 0, 0);
        for (int i = 1; i < steps.count; ++i) {
            start_sums(stage);
            if (!AHEAD) wait_for_products<0>();  // only then the next ones write where it was read
            if (++stage == at.stages) stage = 0, phase ^= 1;
            wait_for(at.full(stage), phase);
            start(stage);
            make_weights(i, stage, phase);
        }
        start_sums(stage);
    }
    wait_for_products<0>();
    pin_sums();

    const int own = own_row();
    const long long first = (head * static_cast<long long>(seq) + own) * DIM;
    if (GROUPS > 1 || parts == 1) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const bool inside = own + half * 8 < seq;
            store_row(sum_0, half, ROOT<DIM>, to_0 + first + half * 8 * DIM, inside);
            if constexpr (OF_KEYS) store_row(sum_1, half, 1.0f, to_1 + first + half * 8 * DIM, inside);
        }
        return;
    }
    constexpr int COUNT = OF_KEYS ? DIM / 4 : DIM / 8;
    arrive_with_writes();  // nobody reads stages any more
    wait_for_cluster();
    send_sums(sum_0, at.stage(0), 0, COUNT, parts, rank);
    if constexpr (OF_KEYS) send_sums(sum_1, at.stage(0), DIM / 8, COUNT, parts, rank);
    arrive_with_writes();
    wait_for_cluster();
    join_sums(at.stage(0), COUNT, parts, rank, [&](int number, const float4& four) {
        const bool is_second = number >= DIM / 8;
        SCALAR* const to = (is_second ? to_1 : to_0) + first;
        store_four<DIM>(four, number % (DIM / 8), is_second ? 1.0f : ROOT<DIM>, to, own, seq);
    });
}

template <int DIM, bool CAUSAL, int GROUPS, bool AHEAD>
__device__ __forceinline__ void take_short(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, const CUtensorMap& grad,
    const float* __restrict__ numbers, SCALAR* __restrict__ dq, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv,
    int seq, int heads, int parts, int stages
) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const ShortBlock<DIM, GROUPS> at{shared, stages};
    at.begin();
    const int all_steps = (seq + ROWS - 1) / ROWS, tiles = (all_steps + GROUPS - 1) / GROUPS, all = heads * tiles;
    const int rank = parts == 1 ? 0 : rank_in_cluster();
    const int item = blockIdx.x / parts;  // blocks of keys first: they take longer
    const bool of_keys = item < all;
    const int number = of_keys ? item : item - all;
    // Where causal, the tiles of all heads with most steps come first.
    const int head = CAUSAL ? number % heads : number / tiles;
    int tile = CAUSAL ? number / heads : number % tiles;
    if (CAUSAL && !of_keys) tile = tiles - 1 - tile;
    const int begin = CAUSAL && of_keys ? tile * GROUPS : 0;
    const int end = CAUSAL && !of_keys ? min((tile + 1) * GROUPS, all_steps) : all_steps;
    const Steps steps{begin + rank, parts, max(0, (end - begin - rank + parts - 1) / parts)};
    if (of_keys) {
        take_tile<DIM, true, CAUSAL, GROUPS, AHEAD>(
            at, k, v, q, grad, numbers, dk, dv, head, tile, steps, parts, rank, seq
        );
    } else {
        take_tile<DIM, false, CAUSAL, GROUPS, AHEAD>(
            at, q, grad, k, v, numbers, dq, nullptr, head, tile, steps, parts, rank, seq
        );
    }
}

// The numbers of every row, as prepare_row makes them but without zeros, steps of ROWS.
template <int DIM>
__device__ __forceinline__ void prepare_short(
    const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,
    float* __restrict__ numbers, int seq, int heads
) {
    wait_for_previous();
    let_next_start();  // it copies what the kernels before this one have made
    constexpr int LANES = DIM / PACK;
    const int padded = (seq + ROWS - 1) / ROWS * ROWS;
    const long long row = thread_of_grid() / LANES;
    if (row >= static_cast<long long>(heads) * padded) return;  // padded is a multiple of a warp's rows
    const long long head = row / padded;
    const int query = static_cast<int>(row - head * padded), lane = threadIdx.x % LANES;
    float total = 0.0f, logarithm = NEGATIVE_INFINITY;  // beyond the end every weight is 0
    if (query < seq) {
        const long long at = (head * seq + query) * DIM + lane * PACK;
        const Pack a = load_pack(o + at), b = load_pack(grad + at);
#pragma unroll
        for (int i = 0; i < PACK; ++i) total += to_float(a.element[i]) * to_float(b.element[i]);
        logarithm = lse[head * seq + query] * -LOG2_E;
    }
#pragma unroll
    for (int offset = LANES / 2; offset; offset /= 2) total += __shfl_xor_sync(WHOLE_WARP, total, offset);
    if (lane == 0) {
        float* const to = numbers + row / ROWS * 2 * ROWS + number_at<128>(query % ROWS);
        to[0] = logarithm;
        to[ROWS] = -total;
    }
}

#define PREPARE_SHORT(DIM)                                                                                            \
    extern "C" __global__ void __launch_bounds__(PREPARING) prepare_short_##DIM(                                      \
        const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,                 \
        float* __restrict__ numbers, long long seq, long long heads) {                                                \
        prepare_short<DIM>(o, grad, lse, numbers, static_cast<int>(seq), static_cast<int>(heads));                    \
    }

// RESIDENT warpgroups share a multiprocessor, GROUPS of them in a block. Of three the registers do not suffice to start a
// step's products before those of the last one have ended.
#define SHORT_PRODUCTS(NAME, DIM, CAUSAL, GROUPS, RESIDENT)                                                           \
    extern "C" __global__ void __launch_bounds__(GROUPS * WARPGROUP, RESIDENT / GROUPS) NAME(                         \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                                 \
        const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap grad,                              \
        const float* __restrict__ numbers, SCALAR* __restrict__ dq, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, \
        long long seq, long long heads, long long parts, long long stages) {                                          \
        take_short<DIM, CAUSAL, GROUPS, (RESIDENT < 3)>(q, k, v, grad, numbers, dq, dk, dv, static_cast<int>(seq),    \
                                                        static_cast<int>(heads), static_cast<int>(parts),             \
                                                        static_cast<int>(stages));                                    \
    }

#define SHORT_KERNELS(CAUSAL)                                                                                         \
    PREPARE_SHORT(64)                                                                                                 \
    PREPARE_SHORT(128)                                                                                                \
    SHORT_PRODUCTS(short_64, 64, CAUSAL, 1, 2)                                                                        \
    SHORT_PRODUCTS(short_crowded_64, 64, CAUSAL, 1, 3)                                                                \
    SHORT_PRODUCTS(short_128, 128, CAUSAL, 1, 2)                                                                      \
    SHORT_PRODUCTS(short_wide_128, 128, CAUSAL, 2, 2)
