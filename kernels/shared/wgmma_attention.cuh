// Attention on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: o = sum over j of 2^(s_j - m) v_j / sum over j of 2^(s_j - m), s_j = q k_j log2(e) / sqrt(dim), m their
//   maximum, found as the keys go by: a higher one scales the sums so far. 4 seq seq dim FLOP a head, half of it where
//   causal; q is read and o written once, k and v again from L2 for every 128 queries.
// Mapping: a tile is 128 queries of a head from dim 128 on, 192 below, by warpgroups of 64 queries. A block a
//   multiprocessor takes tiles in turn, and 128 keys a step, fewer where heads are longer, the last ones, which need a
//   mask, first. One more warpgroup, which gives up its registers, has TMA copy keys and values into a ring of stages and
//   fill in zeros beyond the head's end, and tells the others which tile it is. A warpgroup's products q k^T stay in
//   registers; turned into weights they are the first operand of its product with v as they lie. At dim 128 the queries
//   too are held in registers: wgmma reads shared memory nearly as fast as there is.
//   A step starts the next q k^T and the present p v together, and takes the powers of the former while the latter
//   runs, relative to a maximum of earlier steps: shared/wgmma_attention_softmax.cuh. Its keys stay until then, because
//   where powers come out too high the step is taken again. Warpgroups fall out of step by themselves, so that the powers
//   of one run during the products of another; making them take turns, as FlashAttention-3 does, changes nothing. The
//   next tile's queries, keys and values come in while a warpgroup ends its last step and stores.
//   Where a last round of tiles, not causal, would leave most blocks idle, a second kernel gives each block an equal
//   share of its steps, and a third puts together what they found: shared/wgmma_attention_pieces.cuh. Causal tiles are
//   so divided, all of them, where the longest would keep one block at work after most others.
//   Slower: a part of the powers by polynomials, because here instructions are what there is least time for. Not possible:
//   the weights made before the product before them ends, which the assembler does not allow.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Causal tiles take unequally long: those of several heads go
//   longest first, and blocks draw them from a counter, or are dealt them to and fro where a counter would not pay. With a
//   window a tile takes the steps in which one of its queries sees a key, and a warpgroup of it those in which one of its
//   own does.
#pragma once

#include "shared/wgmma_attention_ring.cuh"
#include "shared/wgmma_attention_softmax.cuh"
#include "shared/wgmma_attention_widths.cuh"

// ---- The warpgroups that multiply -----------------------------------------------------------------

// `store` gets a piece, which half of its rows' sums a thread has, the row's query, the sums, the factor that makes them
// means and the logarithm of the sum of powers. Of a window, where the source has one, a query sees so many keys.
template <int DIM, int KEYS, class Source, class Store>
__device__ __forceinline__ void multiply_pieces(const Ring<DIM, KEYS>& at, int window, Store store) {
    using At = Ring<DIM, KEYS>;
    constexpr int QUERIES = At::QUERIES;
    constexpr bool CAUSAL = Source::CAUSAL, WINDOWED = Source::WINDOWED;
    constexpr bool HOLDS = DIM == 128;  // the queries
    const int warpgroup = threadIdx.x / WARPGROUP, lane = threadIdx.x % WARP;
    const unsigned long long tile_q = swizzled_tile(at.queries + warpgroup * 64 * ROW, ATOM, 0);
    Stage<At::STAGES> stage;
    int turn = 0;
    float s[KEYS / 2];
    unsigned p[KEYS / 4];
    float sum[DIM / 2];
    unsigned held[HOLDS ? DIM / 4 : 4];

    const auto start_products = [&] {  // s = q k^T
        const unsigned long long tile_k = swizzled_tile(at.keys + stage.number * At::TILE, ATOM, 0);
        begin_products();
#pragma unroll
        for (int part = 0; part < DIM / 16; ++part) {  // 32 bytes along a row, then on to the next band
            const int band = part / 4 * ROW, offset = part % 4 * 32;
            const unsigned long long b = tile_k + (band * KEYS + offset >> 4);
            if constexpr (HOLDS) {
                multiply_held(s, held + part * 4, b, part > 0);
            } else {
                multiply(s, tile_q + (band * QUERIES + offset >> 4), b, part > 0);
            }
        }
        commit_products();
    };
    const auto start_means = [&](int stage) {  // sum += p v
        const unsigned long long tile_v = swizzled_tile(at.values + stage * At::TILE, ATOM, KEYS * ROW);
        begin_products();
#pragma unroll
        for (int part = 0; part < KEYS / 16; ++part) {  // 16 rows
            multiply(sum, p + part * 4, tile_v + (part * 16 * ROW >> 4));
        }
        commit_products();
    };
    const auto release = [&](Barrier* empty) {
        if (threadIdx.x % WARPGROUP == 0) arrive(empty);
    };
    const auto release_queries = [&] {  // by each warp: their rows may be read for registers
        __syncwarp();
        if (arrives_for_warp(lane)) arrive(at.queries_empty);
    };
    // This thread's first query and 8 more; made again rather than kept over the steps.
    const auto own_row = [&] {
        return at.told[turn % 2].first_query + static_cast<int>(threadIdx.x) / WARP * 16 + lane / 4;
    };
    const auto mask = [&](int step) {
        const int first_key = step * KEYS + lane % 4 * 2, row = own_row(), end = at.told[turn % 2].length - 1;
        // The last keys that both rows see, counted from the first one. One beyond the end is later than any query of a
        // window that is stored.
        const int upper = (!CAUSAL ? end : WINDOWED ? row : min(row, end)) - first_key;
        const int lower = (!CAUSAL ? end : WINDOWED ? row + 8 : min(row + 8, end)) - first_key;
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) {
            const int key = i / 4 * 8 + i % 2, most = i / 2 % 2 ? lower : upper;
            const bool is_seen =
                WINDOWED ? static_cast<unsigned>(most - key) < static_cast<unsigned>(window) : key <= most;
            s[i] = is_seen ? s[i] : NEGATIVE_INFINITY;
        }
    };
    // Steps in which none of this warpgroup's queries sees a key. One warp waits for all four, which meet before and
    // after: nothing else here keeps a warp from falling two phases behind, or ahead, where it would mistake one for
    // another.
    const auto pass = [&](int steps) {
        if (steps <= 0) return;
        const bool waits = the_warps(threadIdx.x / WARP) % 4 == 0;
        meet_warpgroup(warpgroup);
        for (; steps > 0; --steps, stage.go_on()) {
            if (!waits) continue;
            wait_for(at.keys_full + stage.number, stage.phase);
            release(at.keys_empty + stage.number);
            wait_for(at.values_full + stage.number, stage.phase);
            release(at.values_empty + stage.number);
        }
        meet_warpgroup(warpgroup);
    };
    // Where rows of another sequence come in beyond the end, which have no weight, but may be infinite or NaN. Every
    // warpgroup does it for itself, and waits for none: the other one writes the same zeros.
    const auto clear_values_from = [&](int first_row) {
        wait_for(at.values_full + stage.number, stage.phase);
#pragma unroll
        for (int band = 0; band < WIDTH<DIM> / 64; ++band) {
            unsigned char* const rows = at.values + stage.number * At::TILE + band * KEYS * ROW;
            for (int to = first_row * ROW + threadIdx.x % WARPGROUP * 16; to < KEYS * ROW; to += WARPGROUP * 16) {
                *reinterpret_cast<uint4*>(rows + to) = make_uint4(0, 0, 0, 0);
            }
        }
        publish_writes();
        meet_warpgroup(warpgroup);
    };

    for (;; ++turn) {
        wait_for(at.queries_full, turn % 2);
        const Piece& piece = at.told[turn % 2];
        if (the_warps(piece.head) < 0) return;
        const int own = piece.first_query + warpgroup * 64;  // this warpgroup's first query
        int last = the_warps(piece.last), first = WINDOWED || Source::DIVIDES ? the_warps(piece.first) : 0;
        if (the_warps(own >= piece.length)) {
            release_queries();
            pass(last + 1 - first);
            continue;
        }
        if constexpr (WINDOWED) {
            const int seen = the_warps(min(own + 63, piece.length - 1) / KEYS);
            pass(last - seen);
            last = seen;
            first = the_warps(max(own - window + 1, 0) / KEYS);
        }
        // Steps that need a mask: the diagonal may cross more than the last one, as the other end of a window does.
        const int cut_from = CAUSAL ? the_warps((own + 1) / KEYS) : 0;
        const int cut_to = WINDOWED ? the_warps(own + 63 < window ? -1 : (own + 63 - window) / KEYS) : -1;
        const auto is_cut = [&](int step) {
            return CAUSAL && (WINDOWED || KEYS != QUERIES) && (step >= cut_from || (WINDOWED && step <= cut_to));
        };

        LazySoftmax softmax(LOG2_E * ROOT<DIM>);
        // Whether powers relative to the shift came out too high. Queries of another sequence, which are not stored,
        // have no say: a row has the same bits whatever lies behind its sequence.
        const auto is_high = [&] {
            const int end = Source::CLEARS ? at.told[turn % 2].length - own_row() : 9;
            return (softmax.is_high(0) && end > 0) || (softmax.is_high(1) && end > 8);
        };
        if constexpr (HOLDS) hold_rows<QUERIES, 0>(held, at.queries);
        wait_for(at.keys_full + stage.number, stage.phase);
        start_products();
        wait_for_products<0>();
        pin(s);
        release(at.keys_empty + stage.number);
        if (HOLDS || last == first) release_queries();
        mask(last);
        softmax.exponentiate(s);
        to_operand(s, p);
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sum[i] = 0.0f;
        if constexpr (Source::CLEARS) {
            if (piece.length < (last + 1) * KEYS) clear_values_from(piece.length - last * KEYS);
        }

        Stage<At::STAGES> before;
        const auto next_keys = [&] {
            before = stage;
            stage.go_on();
            wait_for(at.keys_full + stage.number, stage.phase);
        };
        if (last > first) next_keys();
        for (int step = last - 1; step >= first; --step) {
            pin(p);
            pin(sum);
            start_products();
            wait_for(at.values_full + before.number, before.phase);
            start_means(before.number);
            wait_for_products<1>();
            pin(s);
            const int read = before.number;
            const auto end_step = [&] {
                if (step > first) next_keys();
                wait_for_products<0>();
                pin(sum);
                release(at.values_empty + read);
            };
            const auto release_keys = [&] {
                release(at.keys_empty + stage.number);
                if (!HOLDS && step == first) release_queries();
            };
            bool is_taken = false;
            if (!is_cut(step)) {
                softmax.try_powers(s);
                pin(s);
                if (!any_of_warpgroup(is_high(), warpgroup)) {
                    is_taken = true;
                    release_keys();
                    softmax.take_powers();
                    end_step();
                } else {
                    wait_for_products<0>();
                    pin(sum);
                    start_products();
                    wait_for_products<0>();
                    pin(s);
                }
            }
            if (!is_taken) {
                if (is_cut(step)) mask(step);
                release_keys();
                softmax.exponentiate(s);
                pin(s);
                end_step();
                softmax.rescale_sums(sum);
            }
            to_operand(s, p);
        }
        wait_for(at.values_full + stage.number, stage.phase);
        pin(p);
        pin(sum);
        start_means(stage.number);
        wait_for_products<0>();
        pin(sum);
        release(at.values_empty + stage.number);
        stage.go_on();
        if constexpr (WINDOWED) pass(first - the_warps(piece.first));

#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float factor, logarithm;
            softmax.finish(half, factor, logarithm);
            store(piece, half, own_row() + half * 8, sum, factor, logarithm);
        }
    }
}

// ---- The block -------------------------------------------------------------------------------------

// `make_source` makes the source of pieces, on the threads that copy.
template <int DIM, int KEYS, class Source, class MakeSource, class Store>
__device__ __forceinline__ void attend(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, int sharing, int window, MakeSource make_source,
    Store store
) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const Ring<DIM, KEYS> at(shared);
    at.begin();
    if (threadIdx.x / WARPGROUP == CONSUMERS<DIM>) {
        give_registers<CONSUMERS<DIM> == 3 ? 32 : 24>();
        if (threadIdx.x % WARPGROUP >= Source::THREADS) return;
        copy_pieces(at, make_source(), q, k, v, sharing);
        return;
    }
    take_registers<CONSUMERS<DIM> == 3 ? 160 : 240>();
    multiply_pieces<DIM, KEYS, Source>(at, window, store);
}
