// Attention on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: o = sum over j of 2^(s_j - m) v_j / sum over j of 2^(s_j - m), s_j = q k_j log2(e) / sqrt(dim), m their
//   maximum, found as the keys go by: a higher one scales the sums so far. 4 seq seq dim FLOP a head, half of it where
//   causal; q is read and o written once, k and v again from L2 for every 128 queries.
// Mapping: a tile is 128 queries of a head from dim 128 on, 192 below, by warpgroups of 64 queries. A block a
//   multiprocessor takes tiles in turn, and 128 keys a step, fewer where heads are longer, the last ones, which need a
//   mask, first. One more warpgroup, which gives up its registers, has TMA copy keys and values into a ring of two
//   stages and fill in zeros beyond the head's end. A warpgroup's products q k^T stay in registers; turned into weights
//   they are the first operand of its product with v as they lie.
//   A step starts the next q k^T and the present p v together, and takes the powers of the former while the latter
//   runs. Warpgroups fall out of step by themselves, so that the powers of one run during the products of another;
//   making them take turns, as FlashAttention-3 does, changes nothing. The next tile's queries, keys and values come in
//   while a warpgroup ends its last step and stores. Starting the next q k^T before the store too takes some of that
//   back, and so does showing the compiler that descriptors are the same for a whole warp, which pays for gradients.
//   Where a last round of tiles, not causal, would leave most blocks idle, a second kernel gives each block an equal
//   share of its steps, and a third puts together what they found: shared/wgmma_attention_pieces.cuh.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Sums are scaled only where some query of the warp has a new
//   maximum, which is rare after the first steps. Causal tiles take unequally long: those of several heads go longest
//   first and are dealt to the blocks to and fro, so that the block with the longest tile of one turn has the shortest
//   of the next. With a window a tile takes the steps in which one of its queries sees a key, and a warpgroup of it those
//   in which one of its own does.
#pragma once

#include "shared/wgmma_attention_pieces.cuh"
#include "shared/wgmma_attention_widths.cuh"

constexpr int KEYS = 128;  // of a step, where neither shared memory nor registers allow fewer only
constexpr int STAGES = 2;

// As in the launcher. Warpgroups that multiply, 64 queries each: as many as registers allow.
template <int DIM>
constexpr int CONSUMERS = DIM < 128 ? 3 : 2;
// Keys of a step: two stages of them and of their values beside the queries, in 227 KiB. A window takes registers too.
template <int DIM, bool WINDOWED = false>
constexpr int KEYS_OF = DIM == 64    ? (WINDOWED ? 96 : KEYS)
                        : DIM == 96  ? (WINDOWED ? 96 : 112)
                        : DIM == 128 ? KEYS
                        : DIM == 192 ? (WINDOWED ? 96 : 112)
                                     : (WINDOWED ? 64 : 80);
// Elements of a row in shared memory, in whole bands: TMA writes zeros behind a shorter row.
template <int DIM>
constexpr int WIDTH = (DIM + 63) / 64 * 64;

// ---- The block -------------------------------------------------------------------------------------

// `sharing` query heads in a row have one head of keys and values; `window` counts only where WINDOWED. DIVIDES: of the
// divided tiles, into `means` and `logarithms`.
template <int DIM, bool CAUSAL, bool WINDOWED = false, bool DIVIDES = false>
__device__ __forceinline__ void attend(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, SCALAR* __restrict__ o, float* __restrict__ lse,
    float* __restrict__ means, float* __restrict__ logarithms, int seq, int heads, int group, const Division& division,
    int sharing = 1, int window = 0
) {
    constexpr int QUERIES = CONSUMERS<DIM> * 64;
    constexpr int KEYS = KEYS_OF<DIM, WINDOWED>;
    constexpr int TILE = KEYS * WIDTH<DIM> * 2;
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char* const queries = shared;
    unsigned char* const keys = queries + QUERIES * WIDTH<DIM> * 2;
    unsigned char* const values = keys + STAGES * TILE;
    Barrier* const queries_full = reinterpret_cast<Barrier*>(values + STAGES * TILE);
    Barrier* const queries_empty = queries_full + 1;
    Barrier* const keys_full = queries_empty + 1;
    Barrier* const values_full = keys_full + STAGES;
    Barrier* const keys_empty = values_full + STAGES;
    Barrier* const values_empty = keys_empty + STAGES;
    if (threadIdx.x == 0) {
        init_barrier(queries_full, 1);
        init_barrier(queries_empty, CONSUMERS<DIM>);
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(keys_full + stage, 1);
            init_barrier(values_full + stage, 1);
            init_barrier(keys_empty + stage, CONSUMERS<DIM>);
            init_barrier(values_empty + stage, CONSUMERS<DIM>);
        }
        publish_barriers();
    }
    __syncthreads();

    const int warpgroup = threadIdx.x / WARPGROUP;
    Pieces<QUERIES, KEYS, CAUSAL, WINDOWED, DIVIDES> pieces(seq, heads, group, window, division);
    Piece piece;
    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == CONSUMERS<DIM>) {
        give_registers<CONSUMERS<DIM> == 3 ? 32 : 24>();
        if (threadIdx.x % WARPGROUP != 0) return;
        while (pieces.take(piece)) {
            const TileOrigin origin = piece.origin;
            wait_for(queries_empty, pieces.turn % 2);
            copy_rows<WIDTH<DIM>, QUERIES>(queries, q, origin.first_query, origin.head, queries_full);
            const int head = origin.head / sharing;
            for (int step = piece.last; step >= piece.first; --step, next_stage()) {
                wait_for(keys_empty + stage, phase ^ 1);
                copy_rows<WIDTH<DIM>, KEYS>(keys + stage * TILE, k, step * KEYS, head, keys_full + stage);
                wait_for(values_empty + stage, phase ^ 1);
                copy_rows<WIDTH<DIM>, KEYS>(values + stage * TILE, v, step * KEYS, head, values_full + stage);
            }
        }
        return;
    }

    take_registers<CONSUMERS<DIM> == 3 ? 160 : 240>();
    const int lane = threadIdx.x % WARP;
    const unsigned long long tile_q = swizzled_tile(queries + warpgroup * 64 * ROW, ATOM, 0);
    float s[KEYS / 2];
    unsigned p[KEYS / 4];
    float sum[DIM / 2];

    const auto start_products = [&] {  // s = q k^T
        const unsigned long long tile_k = swizzled_tile(keys + stage * TILE, ATOM, 0);
#pragma unroll
        for (int part = 0; part < DIM / 16; ++part) {  // 32 bytes along a row, then on to the next band
            const int band = part / 4 * ROW, offset = part % 4 * 32;
            multiply(s, tile_q + (band * QUERIES + offset >> 4), tile_k + (band * KEYS + offset >> 4), part > 0);
        }
        commit_products();
    };
    const auto start_means = [&](int stage) {  // sum += p v
        const unsigned long long tile_v = swizzled_tile(values + stage * TILE, ATOM, KEYS * ROW);
#pragma unroll
        for (int part = 0; part < KEYS / 16; ++part) {  // 16 rows
            multiply(sum, p + part * 4, tile_v + (part * 16 * ROW >> 4));
        }
        commit_products();
    };
    const auto mask = [&](int step, int row) {
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) {
            const int key = step * KEYS + i / 4 * 8 + lane % 4 * 2 + i % 2;
            const int query = row + i / 2 % 2 * 8;
            const bool visible = key < seq && (!CAUSAL || key <= query) && (!WINDOWED || key > query - window);
            s[i] = visible ? s[i] : NEGATIVE_INFINITY;
        }
    };
    const auto release = [&](Barrier* empty) {
        if (threadIdx.x % WARPGROUP == 0) arrive(empty);
    };

    const auto pass = [&] {  // a step of the tile in which this warpgroup sees no key
        wait_for(keys_full + stage, phase);
        release(keys_empty + stage);
        wait_for(values_full + stage, phase);
        release(values_empty + stage);
        next_stage();
    };

    while (pieces.take(piece)) {
        const TileOrigin origin = piece.origin;
        int first = DIVIDES ? piece.first : 0, last = piece.last;
        const int own = origin.first_query + warpgroup * 64;  // this warpgroup's first query
        if constexpr (WINDOWED) {
            const int seen = min(own + 63, seq - 1) / KEYS;  // where a warpgroup has no query, it takes the last step
            for (; last > seen; --last) pass();
            first = min(pieces.tiles.first_step(own, window), last);
        }
        // The diagonal of the tile may cross more steps than the first one taken, as the other end of a window does.
        const auto is_cut = [&](int step) {
            if constexpr (!CAUSAL) return false;
            else if constexpr (WINDOWED) return step * KEYS + KEYS > own + 1 || step * KEYS <= own + 63 - window;
            else if constexpr (KEYS == 128) return QUERIES > KEYS && step == last - 1;
            else return step * KEYS + KEYS > own + 1;
        };
        const int row = origin.first_query + threadIdx.x / WARP * 16 + lane / 4;  // and 8 more
        Softmax softmax(LOG2_E * ROOT<DIM>);
        wait_for(queries_full, pieces.turn % 2 ^ 1);
        wait_for(keys_full + stage, phase);
        begin_products();
        start_products();
        wait_for_products<0>();
        pin(s);
        release(keys_empty + stage);
        if (last == first) release(queries_empty);
        mask(last, row);
        softmax.exponentiate(s);
        to_operand(s, p);
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sum[i] = 0.0f;

        int before = 0;
        unsigned phase_before = 0;
        const auto next_keys = [&] {
            before = stage;
            phase_before = phase;
            next_stage();
            wait_for(keys_full + stage, phase);
        };
        if (last > first) next_keys();
        for (int step = last - 1; step >= first; --step) {
            pin(p);
            pin(sum);
            begin_products();
            start_products();
            wait_for(values_full + before, phase_before);
            if constexpr (DIVIDES) begin_products();  // where the compiler cannot tell that warps do the same
            start_means(before);
            wait_for_products<1>();
            pin(s);
            release(keys_empty + stage);
            if (step == first) release(queries_empty);
            if (is_cut(step)) mask(step, row);
            softmax.exponentiate(s);
            pin(s);
            const int read = before;
            if (step > first) next_keys();
            wait_for_products<0>();
            pin(sum);
            release(values_empty + read);
            softmax.rescale_sums(sum);
            to_operand(s, p);
        }
        wait_for(values_full + stage, phase);
        pin(p);
        pin(sum);
        begin_products();
        start_means(stage);
        wait_for_products<0>();
        pin(sum);
        release(values_empty + stage);
        next_stage();
        if constexpr (WINDOWED) {
            for (int step = first; step > piece.first; --step) pass();
        }

#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int query = row + half * 8;
            float factor, logarithm;
            softmax.finish(half, factor, logarithm);
            if constexpr (DIVIDES) {
                const long long at = static_cast<long long>(piece.number) * QUERIES + query - origin.first_query;
                if (lane % 4 == 0) logarithms[at] = logarithm;
                float2* const to = reinterpret_cast<float2*>(means + at * DIM) + lane % 4;
#pragma unroll
                for (int j = 0; j < DIM / 8; ++j) {
                    to[j * 4] = make_float2(sum[j * 4 + half * 2] * factor, sum[j * 4 + half * 2 + 1] * factor);
                }
            } else {
                const long long index = static_cast<long long>(origin.head) * seq + query;
                store_row(sum, half, factor, o + index * DIM, query < seq);
                if (query < seq && lane % 4 == 0) lse[index] = logarithm;
            }
        }
    }
}

// Tiles, of which only the first `whole` where not causal.
#define ATTENTION_KERNEL(DIM, CAUSAL)                                                                    \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) attention_##DIM(   \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, long long whole) {                              \
        attend<DIM, CAUSAL>(q, k, v, o, lse, nullptr, nullptr, static_cast<int>(seq),                    \
                            static_cast<int>(heads), static_cast<int>(group),                            \
                            Division{static_cast<int>(whole), 0});                                       \
    }
#define SHARING_ATTENTION_KERNEL(DIM, CAUSAL)                                                            \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) attention_##DIM(   \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, long long sharing) {                            \
        attend<DIM, CAUSAL>(q, k, v, o, lse, nullptr, nullptr, static_cast<int>(seq),                    \
                            static_cast<int>(heads), static_cast<int>(group), Division{},                \
                            static_cast<int>(sharing));                                                  \
    }
// The same with a window, causal.
#define WINDOWED_ATTENTION_KERNEL(DIM)                                                                   \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) attention_##DIM(   \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, long long sharing, long long window) {          \
        attend<DIM, true, true>(q, k, v, o, lse, nullptr, nullptr, static_cast<int>(seq),                \
                                static_cast<int>(heads), static_cast<int>(group), Division{},            \
                                static_cast<int>(sharing), static_cast<int>(window));                    \
    }
// The other tiles, not causal, and what puts them together.
#define DIVIDED_ATTENTION_KERNELS(DIM)                                                                   \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) divided_##DIM(     \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, float* __restrict__ means, float* __restrict__ logarithms, \
        long long seq, long long heads, long long whole, long long chunks) {                             \
        wait_for_previous();                                                                             \
        const Division division{static_cast<int>(whole), static_cast<int>(chunks)};                      \
        attend<DIM, false, false, true>(q, k, v, nullptr, nullptr, means, logarithms,                     \
                                        static_cast<int>(seq), static_cast<int>(heads), 1, division);    \
    }                                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) combine_##DIM(                                     \
        const float* __restrict__ means, const float* __restrict__ logarithms, SCALAR* __restrict__ o,   \
        float* __restrict__ lse, long long seq, long long heads, long long whole, long long chunks) {    \
        const Division division{static_cast<int>(whole), static_cast<int>(chunks)};                      \
        combine<DIM, CONSUMERS<DIM> * 64, KEYS_OF<DIM>>(means, logarithms, o, lse,                       \
                                                        static_cast<int>(seq), static_cast<int>(heads),  \
                                                        division);                                       \
    }
