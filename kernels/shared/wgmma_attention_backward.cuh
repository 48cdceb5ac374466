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
//   A block a multiprocessor takes tile by tile; shared/attention_backward_copies.cuh and _spare.cuh have what its third
//   warpgroup does, _divided.cuh the tiles of a last round that would leave most blocks idle. Long heads of dim 128 are
//   taken by pairs of blocks, which read each step from L2 once: at the limit of power, what is moved costs time.
//   Descriptors of tiles are the same for a whole warp, and the compiler must see it: taken from registers they cost
//   time. One body for all steps of a tile is faster at dim 64 than the last step after the loop. Not faster: 80
//   queries a step at dim 128 where not causal, as FlashAttention-3 has them; dk before the part of dq, that part a step
//   later, the next k q^T before it is handed over, dv before ds, and parts of dq added by the threads that have them.
//   Nor dk a step later, its ds from shared memory, while powers are taken, and a pair's parts of dq added to each other
//   before they go to memory. Nor warpgroups that never meet, each with dq of its own keys, which the second one adds to the
//   first one's before it goes to memory.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608, and its code for gradients.
#pragma once

#include "shared/attention_backward_copies.cuh"
#include "shared/attention_backward_divided.cuh"
#include "shared/attention_backward_spare.cuh"

// Parts of 16 elements of the values' rows that a warpgroup holds in registers: v do^T takes them from there rather than
// from shared memory, which wgmma reads here faster than it can be read. As many as were fastest.
template <int DIM, bool CAUSAL>
constexpr int PARTS_HELD = DIM == 128 ? 4 : (CAUSAL ? 1 : 0);

// Whether each kernel lets the next one start before it ends. At dim 64 that took longer.
template <int DIM>
constexpr bool STARTS_EARLY = DIM == 128;

// ---- The warpgroups that multiply ----------------------------------------------------------------

__device__ __forceinline__ void meet_consumers() { asm volatile("bar.sync 8, 256;" ::: "memory"); }

// As store_matrices, each transposed.
__device__ __forceinline__ void store_transposed(void* to, const unsigned* from) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(to)),
                 "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
}

template <int DIM, bool CAUSAL, bool PAIRS>
__device__ __forceinline__ void multiply_tiles(
    const Block<DIM, PAIRS>& at, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, float4* __restrict__ divided_sums,
    int warpgroup, int seq
) {
    using At = Block<DIM, PAIRS>;
    constexpr int QUERIES = STEP<DIM>, STAGES = At::STAGES;
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
    constexpr int HELD = PARTS_HELD<DIM, CAUSAL>, FIRST_HELD = DIM / 16 - HELD;
    unsigned held[HELD > 0 ? HELD * 4 : 4];

    // The lower half of a tile's descriptor; the upper one is the same for all. A turn is never negative, but the
    // compiler does not know: sums of places made before the loop would take more registers than there are.
    const auto place = [&](int offset, int turn) {
        return static_cast<unsigned>(swizzled_tile(at.keys + offset, ATOM, 0)) + (static_cast<unsigned>(turn) >> 31);
    };
    const auto tile_at = [](unsigned place) { return swizzled_tile(nullptr, ATOM, 0) >> 32 << 32 | place; };

    // sum (64 keys x queries) = own rows of keys or values times rows of a step.
    const auto start_rows = [&](float (&sum)[QUERIES / 2], bool of_values, const unsigned char* tile, int turn) {
        const int own_at = of_values ? At::VALUES_AT : 0;
        const unsigned own = place(own_at + warpgroup * 64 * ROW, turn);
        const unsigned long long theirs = swizzled_tile(tile, ATOM, 0);
        begin_products();
#pragma unroll
        for (int i = 0; i < DIM / 16; ++i) {  // 32 bytes along a row, then on to the next band
            const int band = i / 4 * ROW, offset = i % 4 * 32;
            const unsigned long long a = tile_at(own + (band * KEYS + offset >> 4));
            const unsigned long long b = theirs + (band * QUERIES + offset >> 4);
            if (HELD > 0 && of_values && i >= FIRST_HELD) {
                multiply_held(sum, held + (i - FIRST_HELD) * 4, b, true);
            } else if (i == 0) {
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
    // What only wgmma has read. Numbers and next_tile are read by threads, each of which arrives for itself.
    const auto release = [&](Barrier* empty) {
        if (thread == 0) arrive(empty);
    };
    // A step lies in both blocks of a pair, and both copy into both: each waits for the other one's warpgroups too.
    const auto release_at_other = [&](Barrier* empty) {
        if (PAIRS && thread == 0) arrive_at(empty, rank_in_cluster() ^ 1);
    };

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
    // s and dp, from which rows of do o come off later; at dim 64 p is already in s.
    const auto make_weights = [&](int turn, bool is_first, unsigned full) {
        const int stage = turn % STAGES, step = turn + step_offset;
        const unsigned phase = turn / STAGES % 2;
        wait_for(at.queries_full + stage, phase);
        start_rows(s, false, at.queries(turn), turn);
        if (HELD == 0 && is_first) wait_for(at.values_full, full);
        wait_for(at.grads_full + stage, phase);
        start_rows(dp, true, at.grads(turn), turn);
        wait_for_products<1>();
        pin(s);
        const bool cut = first_key + KEYS > seq || (step + 1) * QUERIES > seq;
        if (cut || (CAUSAL && step * QUERIES + 1 < first_key + KEYS)) mask(step);
        if constexpr (DIM == 64) {
            with_numbers(at.numbers(turn), [&](int i, float number) { s[i] = fast_exp2(s[i] * SCALE + number); });
        }
        wait_for_products<0>();
        pin(dp);
    };
    // Where this lane stores ds of a turn. Rows are queries, in two bands of 64 keys. The other of two tiles may still be
    // read.
    const auto own_scores = [&](int turn) {
        return at.scores(turn) + warpgroup * QUERIES * ROW + (lane / 16 * 8 + lane % 8) * ROW +
               ((thread / WARP * 2 + lane / 8 % 2) ^ lane % 8) * 16;
    };
    // p and ds of a step at dim 128, from s and dp: 16 queries after the other. Each 16 take their numbers behind the
    // stores before, so that the compiler does not mix them: the registers of all at once leave fewer to hold values in.
    const auto make_scores = [&](int turn) {
        const float4* const powers_at = reinterpret_cast<const float4*>(at.numbers(turn)) + lane % 4;
        const float4* const rows_at = powers_at + QUERIES / 4;
        unsigned char* const own = own_scores(turn);
        constexpr int LAST = QUERIES / 16 - 1;
        float4 next_powers = read_four(powers_at + LAST * 4), next_rows = read_four(rows_at + LAST * 4);
#pragma unroll
        for (int j = LAST; j >= 0; --j) {
            const float powers[4] = {next_powers.x, next_powers.y, next_powers.z, next_powers.w};
            const float rows[4] = {next_rows.x, next_rows.y, next_rows.z, next_rows.w};
            if (j > 0) {
                next_powers = read_four(powers_at + (j - 1) * 4);
                next_rows = read_four(rows_at + (j - 1) * 4);
            }
#pragma unroll
            for (int i = j * 4; i < j * 4 + 4; ++i) {  // two neighbours
                const int number = i % 4 / 2 * 2;
                s[2 * i] = fast_exp2(s[2 * i] * SCALE + powers[number]);
                s[2 * i + 1] = fast_exp2(s[2 * i + 1] * SCALE + powers[number + 1]);
                dp[2 * i] = s[2 * i] * (dp[2 * i] + rows[number]);
                dp[2 * i + 1] = s[2 * i + 1] * (dp[2 * i + 1] + rows[number + 1]);
                from_floats(s[2 * i], s[2 * i + 1], reinterpret_cast<SCALAR*>(&p[i]));
                from_floats(dp[2 * i], dp[2 * i + 1], reinterpret_cast<SCALAR*>(&ds[i]));
            }
            store_transposed(own + j * 16 * ROW, ds + j * 4);
        }
    };
    // Starts three products: dv, the part of dq, dk.
    const auto start_gradients = [&](int turn) {
        if constexpr (DIM == 128) {
            make_scores(turn);
        } else {
            to_operand(s, p);
            with_numbers(at.numbers(turn) + QUERIES * 4, [&](int i, float number) { dp[i] = s[i] * (dp[i] + number); });
            to_operand(dp, ds);
            unsigned char* const own = own_scores(turn);
#pragma unroll
            for (int j = 0; j < QUERIES / 16; ++j) store_transposed(own + j * 16 * ROW, ds + j * 4);
        }
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
        step_offset = __shfl_sync(WHOLE_WARP, at.next_tile[3], 0) - turn;
        const int end = __shfl_sync(WHOLE_WARP, at.next_tile[4], 0);
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sum_k[i] = sum_v[i] = 0.0f;
        pin(sum_k);  // zero before a product starts
        pin(sum_v);
        bool is_first = true, is_last;
        if constexpr (HELD > 0) {
            wait_for(at.values_full, full);
            hold_rows<KEYS, FIRST_HELD>(held, at.keys + At::VALUES_AT);
        }
        do {
            make_weights(turn, is_first, full);
            is_first = false;
            is_last = turn + step_offset + 1 == end;
            if (is_last) release(at.values_empty);
            start_gradients(turn);
            wait_for_products<2>();
            release(at.grads_empty + turn % STAGES);
            release_at_other(at.grads_empty + turn % STAGES);
            wait_for_products<1>();
            pin(part);
            hand_over_part();
            wait_for_products<0>();
            arrive(at.queries_empty + turn % STAGES);
            release_at_other(at.queries_empty + turn % STAGES);
            ++turn;
        } while (!is_last);
        const long long first_row = at.next_tile[0] * static_cast<long long>(seq);
        full = at.next_tile[2];
        const int divided = CAUSAL ? -1 : __shfl_sync(WHOLE_WARP, at.next_tile[5], 0);
        meet_warpgroup(warpgroup);  // not for the order: as it was timed
        arrive(at.keys_empty);
        pin(sum_k);
        pin(sum_v);
        if (!CAUSAL && divided >= 0) {
            float4* const to = divided_sums + (divided * CONSUMERS + warpgroup) * 2 * (DIM / 8 * WARPGROUP) + thread;
            add_to(to, sum_k);
            add_to(to + DIM / 8 * WARPGROUP, sum_v);
            continue;
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int own = own_key() + half * 8;
            store_row(sum_k, half, ROOT<DIM>, dk + (first_row + own) * DIM, own < seq);
            store_row(sum_v, half, 1.0f, dv + (first_row + own) * DIM, own < seq);
        }
    }
}

template <int DIM, bool CAUSAL, bool PAIRS>
__device__ __forceinline__ void propagate(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, const CUtensorMap& grad,
    const SCALAR* __restrict__ o, const SCALAR* __restrict__ do_, const float* __restrict__ lse, float* numbers,
    float* sums, SCALAR* __restrict__ dq, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, int* counts,
    float4* __restrict__ divided_sums, const Division& division, int seq, int heads, int group, int prepared,
    int finished
) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const Block<DIM, PAIRS> at(shared);
    at.begin(counts);
    if (STARTS_EARLY<DIM>) let_next_start();
    const Progress progress{at.counts, heads, prepared, finished};
    const int blocks = (seq + KEYS - 1) / KEYS;
    const int steps = (seq + STEP<DIM> - 1) / STEP<DIM>;
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);  // for the compiler the same for a warp
    if (warpgroup < CONSUMERS) {
        take_registers<240>();
        multiply_tiles<DIM, CAUSAL>(at, dk, dv, divided_sums, warpgroup, seq);
        if (PAIRS) meet_cluster();  // the other block arrives at barriers of this one to the end
        return;
    }
    give_registers<24>();
    if (threadIdx.x / WARP == ADDER) {
        add_parts<DIM>(at, sums, progress, steps);
    } else if (threadIdx.x / WARP > ADDER) {
        prepare_others<DIM>(o, do_, lse, numbers, sums, progress, steps, seq);
        finish_others<DIM>(sums, dq, progress, blocks, steps, seq);
    } else if (threadIdx.x % WARPGROUP == 0) {
        copy_tiles<DIM, CAUSAL>(at, q, k, v, grad, numbers, progress, division, blocks, steps, group);
    }
}

// The kernel between the two others; of pairs beside the one of single blocks.
#define BACKWARD_PRODUCTS(NAME, DIM, CAUSAL, PAIRS)                                                                   \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) NAME(                                \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                                 \
        const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap grad,                              \
        const SCALAR* __restrict__ o, const SCALAR* __restrict__ do_, const float* __restrict__ lse, float* numbers,  \
        float* sums, SCALAR* __restrict__ dq, SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, int* counts,          \
        float4* __restrict__ divided_sums, long long seq, long long heads, long long group, long long prepared,       \
        long long finished, long long whole, long long chunks) {                                                      \
        const Division division{static_cast<int>(whole), static_cast<int>(chunks)};                                   \
        propagate<DIM, CAUSAL, PAIRS>(q, k, v, grad, o, do_, lse, numbers, sums, dq, dk, dv, counts, divided_sums,    \
                                      division, static_cast<int>(seq), static_cast<int>(heads),                       \
                                      static_cast<int>(group), static_cast<int>(prepared),                            \
                                      static_cast<int>(finished));                                                    \
    }

#define BACKWARD_KERNELS(DIM, CAUSAL)                                                                                 \
    extern "C" __global__ void __launch_bounds__(PREPARING) prepare_##DIM(                                            \
        const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, const float* __restrict__ lse,                 \
        float* __restrict__ numbers, float* __restrict__ sums, int* __restrict__ counts,                              \
        float4* __restrict__ divided_sums, long long seq, long long heads, long long prepared, long long divided) {   \
        wait_for_previous();                                                                                          \
        if (STARTS_EARLY<DIM>) let_next_start();                                                                      \
        if (blockIdx.x == 0) {                                                                                        \
            for (int i = threadIdx.x; i < Progress::size(heads); i += PREPARING) counts[i] = 0;                       \
        }                                                                                                             \
        const int first = blockIdx.x * PREPARING + threadIdx.x;                                                       \
        for (int i = first; i < divided * (KEYS * DIM / 2); i += gridDim.x * PREPARING) {                             \
            divided_sums[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);                                                    \
        }                                                                                                             \
        prepare<DIM>(o, grad, lse, numbers, sums, static_cast<int>(seq), static_cast<int>(prepared));                 \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(WARPGROUP) finish_##DIM(                                             \
        const float* __restrict__ sums, SCALAR* __restrict__ dq, const float4* __restrict__ divided_sums,             \
        SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, long long seq, long long first_head, long long parts,       \
        long long whole) {                                                                                            \
        if (blockIdx.x < parts) {                                                                                     \
            finish<DIM>(sums, dq, static_cast<int>(seq), static_cast<int>(first_head));                               \
        } else {                                                                                                      \
            finish_divided<DIM>(divided_sums, dk, dv, static_cast<int>(blockIdx.x - parts), static_cast<int>(whole),  \
                                static_cast<int>(seq));                                                               \
        }                                                                                                             \
    }                                                                                                                 \
    BACKWARD_PRODUCTS(propagate_##DIM, DIM, CAUSAL, false)
