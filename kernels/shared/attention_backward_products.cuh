// The warpgroups of a block of attention's gradients on Hopper (sm_90a) that multiply: shared/wgmma_attention_backward.cuh
// tells what they do.
#pragma once

#include "shared/attention_backward_divided.cuh"
#include "shared/attention_backward_spare.cuh"

// Parts of 16 elements of the values' rows that a warpgroup holds in registers: v do^T takes them from there rather than
// from shared memory, which wgmma reads here faster than it can be read. As many as fit beside the rest.
template <int DIM, bool CAUSAL>
constexpr int PARTS_HELD = DIM == 128 ? (CAUSAL ? 3 : 4) : 1;

// The barrier at which one warpgroup waits for the other one's ds, and the other goes on. Who goes on comes to that of the
// next step before the first one has come to this.
__device__ __forceinline__ int scores_full(int turn) { return 5 + turn % 2; }

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

    float s[QUERIES / 2], dp[QUERIES / 2], part[PART / WARPGROUP];
    float sum_k[DIM / 2], sum_v[DIM / 2];
    unsigned p[QUERIES / 4], ds[QUERIES / 4];
    constexpr int HELD = PARTS_HELD<DIM, CAUSAL>, FIRST_HELD = DIM / 16 - HELD;
    unsigned held[HELD > 0 ? HELD * 4 : 4];

    // The lower half of a tile's descriptor; the upper one is the same for all. A turn is never negative, but the
    // compiler does not know: sums of places made before the loop would take more registers than there are.
    const auto place = [&](int offset, int leading, int turn) {
        return static_cast<unsigned>(swizzled_tile(at.keys + offset, ATOM, leading)) +
               (static_cast<unsigned>(turn) >> 31);
    };
    const auto tile_at = [](unsigned place) { return swizzled_tile(nullptr, ATOM, 0) >> 32 << 32 | place; };

    // sum (64 keys x queries) = own rows of keys or values times rows of a step.
    const auto start_rows = [&](float (&sum)[QUERIES / 2], bool of_values, const unsigned char* tile, int turn) {
        const int own_at = of_values ? At::VALUES_AT : 0;
        const unsigned own = place(own_at + warpgroup * 64 * ROW, 0, turn);
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
    // The same of dk, but ds from shared memory: while a part is made there are no registers to keep it in.
    const auto start_keys = [&](int turn) {
        const unsigned long long own = swizzled_tile(at.scores(turn) + warpgroup * QUERIES * ROW, ATOM, 0);
        const unsigned long long theirs = swizzled_tile(at.queries(turn), ATOM, QUERIES * ROW);
#pragma unroll
        for (int i = 0; i < QUERIES / 16; ++i) {
            multiply<true, true>(sum_k, own + (i * 16 * ROW >> 4), theirs + (i * 16 * ROW >> 4), true);
        }
        commit_products();
    };
    // part = ds (64 queries x 128 keys) times keys, or at dim 64 its transpose: keys (64 dims x 128 keys) times ds
    const auto start_part = [&](int turn) {
        const unsigned keys = place(0, DIM == 128 ? KEYS * ROW : 0, turn);
        const unsigned long long scores = swizzled_tile(at.scores(turn), ATOM, 0);
#pragma unroll
        for (int i = 0; i < KEYS / 16; ++i) {
            const unsigned long long of_keys = tile_at(keys + (i * 16 * ROW >> 4));
            const unsigned long long of_scores = scores + (i / 4 * QUERIES * ROW + i % 4 * 32 >> 4);
            const unsigned long long a = DIM == 128 ? of_scores : of_keys, b = DIM == 128 ? of_keys : of_scores;
            if (i == 0) {
                begin_multiply<DIM == 64, DIM == 128>(part, a, b);
            } else {
                multiply<DIM == 64, DIM == 128>(part, a, b, true);
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
    const auto release_both = [&](Barrier* empty) {
        release(empty);
        release_at_other(empty);
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
    // Starts k q^T, v do^T and dv. Leaves p in s too, and dp, from which rows of do o come off later. Powers are taken
    // while v do^T goes on: dv's product needs them, so that the compiler does not move them behind the wait for it.
    const auto make_powers = [&](int turn, bool is_first, unsigned full) {
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
#pragma unroll
        for (int j = QUERIES / 16 - 1; j >= 0; --j) {
            const Four four = read_four<DIM>(at.numbers(turn), j);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                s[j * 8 + i] = fast_exp2(s[j * 8 + i] * SCALE + four.of[i / 4 * 2 + i % 2]);
            }
        }
        to_operand(s, p);
        pin(p);
        begin_products();
        start_sums(sum_v, p, at.grads(turn));
        wait_for_products<1>();
        pin(dp);
    };
    // ds from s and dp: in registers, and where the warpgroup that makes the part of dq reads it. Rows are queries, in two
    // bands of 64 keys. The other of two tiles may still be read.
    const auto make_scores = [&](int turn) {
        const unsigned char* const numbers = at.numbers(turn) + QUERIES * 4;
        unsigned char* const own = at.scores(turn) + warpgroup * QUERIES * ROW + (lane / 16 * 8 + lane % 8) * ROW +
                                   ((thread / WARP * 2 + lane / 8 % 2) ^ lane % 8) * 16;
        // Each 16 queries, the last ones first, take their numbers behind the stores before, so that the compiler does not
        // mix them: the registers of all at once leave fewer to hold values in.
        constexpr int LAST = QUERIES / 16 - 1;
        Four next = read_four<DIM>(numbers, LAST);
#pragma unroll
        for (int j = LAST; j >= 0; --j) {
            const Four four = next;
            if (j > 0) next = read_four<DIM>(numbers, j - 1);
#pragma unroll
            for (int i = j * 8; i < j * 8 + 8; i += 2) {  // two neighbours
                dp[i] = s[i] * (dp[i] + four.of[i / 4 % 2 * 2]);
                dp[i + 1] = s[i + 1] * (dp[i + 1] + four.of[i / 4 % 2 * 2 + 1]);
                from_floats(dp[i], dp[i + 1], reinterpret_cast<SCALAR*>(&ds[i / 2]));
            }
            store_transposed(own + j * 16 * ROW, ds + j * 4);
        }
        publish_writes();
    };
    const auto hand_over_part = [&] {
        float4* const to = reinterpret_cast<float4*>(at.part()) + thread;
        wait_at(PART_EMPTY);
#pragma unroll
        for (int j = 0; j < PART / WARPGROUP / 4; ++j) {
            to[j * WARPGROUP] = make_float4(part[j * 4], part[j * 4 + 1], part[j * 4 + 2], part[j * 4 + 3]);
        }
        publish_writes();
        tell(PART_FULL);
    };
    // The step's part of dq by one warpgroup, that of the next step by the other one, which need not wait and comes to its
    // next powers meanwhile. And each its rows of dk.
    const auto make_gradients = [&](int turn) {
        if (turn % 2 == warpgroup) {
            wait_for_products<0>();  // p is still read by dv's product, and there are no registers beside a part
            pin(sum_v);
            release_both(at.grads_empty + turn % STAGES);
            wait_at<CONSUMERS * WARPGROUP>(scores_full(turn));
            begin_products();
            start_part(turn);
            start_keys(turn);
            wait_for_products<1>();
            pin(part);
            hand_over_part();
            wait_for_products<0>();
        } else {
            tell<CONSUMERS * WARPGROUP>(scores_full(turn));
            pin(ds);
            begin_products();
            start_sums(sum_k, ds, at.queries(turn));
            wait_for_products<1>();
            pin(sum_v);
            release_both(at.grads_empty + turn % STAGES);
            wait_for_products<0>();
        }
        pin(sum_k);
        arrive(at.queries_empty + turn % STAGES);
        release_at_other(at.queries_empty + turn % STAGES);
    };

    int turn = 0;
    unsigned full = 0;  // phase; not kept over the steps, which need every register
    while (true) {
        wait_for(at.keys_full, full);
        const int head = __shfl_sync(WHOLE_WARP, at.next_tile[0], 0);
        if (head < 0) return;
        first_key = __shfl_sync(WHOLE_WARP, at.next_tile[1], 0) * KEYS;
        step_offset = __shfl_sync(WHOLE_WARP, at.next_tile[3], 0) - turn;
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sum_k[i] = sum_v[i] = 0.0f;
        pin(sum_k);  // zero before a product starts
        pin(sum_v);
        bool is_first = true;
        if constexpr (HELD > 0) {
            wait_for(at.values_full, full);
            hold_rows<KEYS, FIRST_HELD>(held, at.keys + At::VALUES_AT);
        }
        do {
            make_powers(turn, is_first, full);
            is_first = false;
            // Read in each step, because no register is left for it.
            if (turn + step_offset + 1 == at.next_tile[4]) release(at.values_empty);
            make_scores(turn);
            make_gradients(turn);
            ++turn;
        } while (turn + step_offset != at.next_tile[4]);
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
