// Causal attention over packed sequences on Hopper's tensor cores (sm_90a only), sums in float32.
//
// Formula: o[t] = sum over u of p[u] v[u], p the softmax of q[t] k[u] / sqrt(dim), u from the first token of t's
//   sequence to t. 4 dim FLOP a pair; q is read and o written once, k and v again from L2 for every tile.
// Mapping: a tile is 128 queries of a sequence and a head at dim 128, 192 at dim 64. What a block does with it is
//   `attend` of shared/wgmma_attention.cuh. But here nobody on the host knows which tiles there are. A first kernel
//   sorts the sequences, the longest first, and writes how many tiles come before each. Blocks, one a multiprocessor,
//   take the next tile from a counter; the copying warp looks up which it is and tells the others, while they still
//   work on the one before.
//   A box that TMA copies has rows of the next sequence where a tile's end lies beyond its own. Causality hides those
//   keys, and such queries are not stored; a warpgroup that has no others passes the tile over. Such values would come
//   in with weight 0, which spoils the sums where one is infinite or NaN: the consumers overwrite them with zeros
//   before they multiply.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Longest first, so that at the end no block has much left
//   while others have none; Graham, 1969. A sequence's heads go in groups whose keys and values fit in L2. Goes on from
//   cuda_naive, which reads its keys for one query alone and has no tensor cores.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "attention_varlen/tiles.cuh"
#include "shared/overlap.cuh"
#include "shared/wgmma_attention.cuh"

// The sequences, longest first, and the counter at 0. A thread a sequence counts those that come before its own.
extern "C" __global__ void __launch_bounds__(256) sort(
    const int* __restrict__ offsets, int4* __restrict__ sorted, int* __restrict__ counter, long long batch,
    long long tokens, long long heads, long long queries
) {
    let_next_start();
    sort_sequences(
        offsets, sorted, counter, static_cast<int>(batch), static_cast<int>(tokens), static_cast<int>(heads),
        static_cast<int>(queries)
    );
}

template <int DIM>
__device__ __forceinline__ void attend(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, SCALAR* __restrict__ o,
    const int4* __restrict__ sorted, int* __restrict__ counter, int batch, int heads, int sharing
) {
    constexpr int QUERIES = CONSUMERS<DIM> * 64;
    constexpr int TILE = KEYS * DIM * 2;
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char* const queries = shared;
    unsigned char* const keys = queries + QUERIES * DIM * 2;
    unsigned char* const values = keys + STAGES * TILE;
    Barrier* const queries_full = reinterpret_cast<Barrier*>(values + STAGES * TILE);
    Barrier* const queries_empty = queries_full + 1;
    Barrier* const keys_full = queries_empty + 1;
    Barrier* const values_full = keys_full + STAGES;
    Barrier* const keys_empty = values_full + STAGES;
    Barrier* const values_empty = keys_empty + STAGES;
    // Of this turn and the next: the first is read until its tile is stored.
    int4* const told = reinterpret_cast<int4*>(values_empty + STAGES);
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

    // By a shuffle, so that the compiler sees that a whole warp goes the same way.
    const int warp = __shfl_sync(WHOLE_WARP, threadIdx.x / WARP, 0);
    const int warpgroup = warp / 4;
    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == CONSUMERS<DIM>) {
        give_registers<DIM == 64 ? 32 : 24>();
        if (threadIdx.x % WARPGROUP >= WARP) return;
        if (threadIdx.x % WARP == 0) prefetch_map(q), prefetch_map(k), prefetch_map(v);
        wait_for_previous();
        const int lane = threadIdx.x % WARP;
        PackedTiles tiles(sorted, batch, heads, sharing);
        int number = blockIdx.x;
        for (int turn = 0;; ++turn) {
            const bool is_tile = tiles.find(number, lane);
            if (lane == 0) {
                const PackedTile tile = is_tile ? tiles.tile<QUERIES, DIM>(number) : PackedTile{};
                if (is_tile) number = gridDim.x + atomicAdd(counter, 1);
                wait_for(queries_empty, turn % 2 ^ 1);
                told[turn % 2] = make_int4(tile.begin, tile.length, tile.first_query, tile.head);
                if (!is_tile) {
                    arrive(queries_full);
                } else {
                    const int head = tile.head / sharing;
                    copy_rows<DIM, QUERIES>(queries, q, tile.head, tile.begin + tile.first_query, queries_full);
                    for (int step = tile.last_step<QUERIES, KEYS>(); step >= 0; --step, next_stage()) {
                        wait_for(keys_empty + stage, phase ^ 1);
                        copy_rows<DIM, KEYS>(keys + stage * TILE, k, head, tile.begin + step * KEYS, keys_full + stage);
                        wait_for(values_empty + stage, phase ^ 1);
                        copy_rows<DIM, KEYS>(
                            values + stage * TILE, v, head, tile.begin + step * KEYS, values_full + stage
                        );
                    }
                }
            }
            if (!is_tile) return;
            number = __shfl_sync(WHOLE_WARP, number, 0);
        }
    }

    take_registers<DIM == 64 ? 160 : 240>();
    const int lane = threadIdx.x % WARP;
    const unsigned long long tile_q = swizzled_tile(queries + warpgroup * 64 * ROW, ATOM, 0);
    float s[64];
    unsigned p[32];
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
    const auto mask = [&](int step, int row) {  // keys beyond the sequence are later than any query that is stored
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            const int key = step * KEYS + i / 4 * 8 + lane % 4 * 2 + i % 2;
            s[i] = key <= row + i / 2 % 2 * 8 ? s[i] : NEGATIVE_INFINITY;
        }
    };
    const auto release = [&](Barrier* empty) {
        if (threadIdx.x % WARPGROUP == 0) arrive(empty);
    };
    // A warpgroup none of whose queries are in the sequence. One warp waits for all four, which meet before and after:
    // nothing else here keeps a warp from falling two phases behind, or ahead, where it would mistake one for another.
    const auto pass_over = [&](int steps) {
        const bool waits = warp % 4 == 0;
        meet_warpgroup(warpgroup);
        release(queries_empty);
        for (; steps > 0; --steps, next_stage()) {
            if (!waits) continue;
            wait_for(keys_full + stage, phase);
            release(keys_empty + stage);
            wait_for(values_full + stage, phase);
            release(values_empty + stage);
        }
        meet_warpgroup(warpgroup);
    };
    // Every warpgroup does it for itself, and waits for none: the other one writes the same zeros.
    const auto clear_values_from = [&](int first_row) {
#pragma unroll
        for (int band = 0; band < DIM / 64; ++band) {
            unsigned char* const rows = values + stage * TILE + band * KEYS * ROW;
            for (int at = first_row * ROW + threadIdx.x % WARPGROUP * 16; at < KEYS * ROW; at += WARPGROUP * 16) {
                *reinterpret_cast<uint4*>(rows + at) = make_uint4(0, 0, 0, 0);
            }
        }
        publish_writes();
        meet_warpgroup(warpgroup);
    };

    for (int turn = 0;; ++turn) {
        wait_for(queries_full, turn % 2);
        const PackedTile tile = told_tile(told[turn % 2]);
        if (tile.length == 0) return;
        const int last = tile.last_step<QUERIES, KEYS>();
        const int row = tile.first_query + threadIdx.x / WARP * 16 + lane / 4;  // and 8 more
        if (tile.first_query + warpgroup * 64 >= tile.length) {
            pass_over(last + 1);
            continue;
        }
        Softmax softmax(LOG2_E * ROOT<DIM>);
        wait_for(keys_full + stage, phase);
        begin_products();
        start_products();
        wait_for_products<0>();
        pin(s);
        release(keys_empty + stage);
        if (last == 0) release(queries_empty);
        mask(last, row);
        softmax.exponentiate(s);
        to_operand(s, p);
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sum[i] = 0.0f;
        if (tile.length < (last + 1) * KEYS) {
            wait_for(values_full + stage, phase);
            clear_values_from(tile.length - last * KEYS);
        }

        int before = 0;
        unsigned phase_before = 0;
        const auto next_keys = [&] {
            before = stage;
            phase_before = phase;
            next_stage();
            wait_for(keys_full + stage, phase);
        };
        if (last > 0) next_keys();
        for (int step = last - 1; step >= 0; --step) {
            pin(p);
            pin(sum);
            begin_products();
            start_products();
            wait_for(values_full + before, phase_before);
            start_means(before);
            wait_for_products<1>();
            pin(s);
            release(keys_empty + stage);
            if (step == 0) release(queries_empty);
            // With 192 queries the diagonal may cross two steps.
            if (QUERIES > KEYS && step == last - 1) mask(step, row);
            softmax.exponentiate(s);
            pin(s);
            const int read = before;
            if (step > 0) next_keys();
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

        const PackedTile stored = told_tile(told[turn % 2]);  // again, rather than in registers all the while
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int query = stored.first_query + threadIdx.x / WARP * 16 + lane / 4 + half * 8;
            const long long index = static_cast<long long>(stored.begin + query) * heads + stored.head;
            float factor, logarithm;
            softmax.finish(half, factor, logarithm);
            store_row(sum, half, factor, o + index * DIM, query < stored.length);
        }
    }
}

#define PACKED_ATTENTION_KERNEL(NAME, DIM)                                                                      \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) NAME(                     \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                           \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, const int4* __restrict__ sorted,         \
        int* __restrict__ counter, long long batch, long long heads, long long sharing) {                       \
        attend<DIM>(q, k, v, o, sorted, counter, static_cast<int>(batch), static_cast<int>(heads),              \
                    static_cast<int>(sharing));                                                                 \
    }
PACKED_ATTENTION_KERNEL(attention_64, 64)
PACKED_ATTENTION_KERNEL(attention_128, 128)

#endif
