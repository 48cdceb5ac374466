// Attention on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: o = sum over j of 2^(s_j - m) v_j / sum over j of 2^(s_j - m), s_j = q k_j log2(e) / sqrt(dim), m their
//   maximum, found as the keys go by: a higher one scales the sums so far. 4 seq seq dim FLOP a head, half of it where
//   causal; q is read and o written once, k and v again from L2 for every 128 queries.
// Mapping: a tile is 128 queries of a head from dim 128 on, 192 below, by warpgroups of 64 queries. A block a
//   multiprocessor takes tiles in turn, and 128 keys a step, fewer where heads are longer, the last ones, which need a
//   mask, first. One more warpgroup, which gives up its registers, has TMA copy keys and values into a ring of two stages and fill in zeros
//   beyond the head's end. A warpgroup's products q k^T stay in registers; turned into weights they are the first
//   operand of its product with v as they lie.
//   A step starts the next q k^T and the present p v together, and takes the powers of the former while the latter
//   runs. Warpgroups fall out of step by themselves, so that the powers of one run during the products of another;
//   making them take turns, as FlashAttention-3 does, changes nothing. The next tile's queries, keys and values come in
//   while a warpgroup ends its last step and stores. Starting the next q k^T before the store too takes some of that
//   back.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608. Sums are scaled only where some query of the warp has a new
//   maximum, which is rare after the first steps. Causal tiles take unequally long: those of several heads go longest
//   first and are dealt to the blocks to and fro, so that the block with the longest tile of one turn has the shortest
//   of the next. With a window a tile takes the steps in which one of its queries sees a key, and a warpgroup of it those
//   in which one of its own does.
#pragma once

#include "shared/attention.cuh"
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

// ---- The tiles: QUERIES of a head each, and the order in which blocks take them ------------------

struct TileOrigin {
    int head;
    int first_query;
};

// Heads are in groups; in a group the tiles that see most keys come first, of every head in turn. The first group also
// has the remaining heads, so that the last one is whole.
template <int QUERIES, bool CAUSAL, int KEYS = 128>
struct Tiles {
    int seq;
    int of_head;
    int count;
    int group;  // heads
    int remaining;

    __device__ __forceinline__ Tiles(int seq, int heads, int group)
        : seq(seq), of_head((seq + QUERIES - 1) / QUERIES), count(heads * of_head), group(group),
          remaining(heads % group) {}

    // This block's tile of a turn: dealt to and fro where some take longer.
    __device__ __forceinline__ int of_turn(int turn) const {
        const int blocks = gridDim.x, block = blockIdx.x;
        return turn * blocks + (CAUSAL && turn % 2 == 1 ? blocks - 1 - block : block);
    }
    __device__ __forceinline__ TileOrigin origin(int tile) const {
        const int number = (tile - remaining * of_head) / (group * of_head);  // of the group; division rounds to 0
        const int heads = number == 0 ? remaining + group : group;
        const int first_head = number == 0 ? 0 : remaining + number * group;
        const int rest = tile - first_head * of_head;
        return {first_head + rest % heads, (of_head - 1 - rest / heads) * QUERIES};
    }
    // The last step of KEYS keys that any of these queries sees.
    __device__ __forceinline__ int last_step(int first_query) const {
        return (CAUSAL ? min(first_query + QUERIES, seq) - 1 : seq - 1) / KEYS;
    }
    // The first one of a window in which a query sees `window` keys, its own the last of them.
    __device__ __forceinline__ int first_step(int first_query, int window) const {
        return max(first_query - window + 1, 0) / KEYS;
    }
};

// ---- The block -------------------------------------------------------------------------------------

// `sharing` query heads in a row have one head of keys and values; `window` counts only where WINDOWED.
template <int DIM, bool CAUSAL, bool WINDOWED = false>
__device__ __forceinline__ void attend(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, SCALAR* __restrict__ o, float* __restrict__ lse,
    int seq, int heads, int group, int sharing = 1, int window = 0
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
    // A constant 1 saves divisions; tiles of a window are all but equal.
    const Tiles<QUERIES, CAUSAL, KEYS> tiles(seq, heads, CAUSAL && !WINDOWED ? group : 1);
    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == CONSUMERS<DIM>) {
        give_registers<CONSUMERS<DIM> == 3 ? 32 : 24>();
        if (threadIdx.x % WARPGROUP != 0) return;
        for (int turn = 0, tile = blockIdx.x; tile < tiles.count; tile = tiles.of_turn(++turn)) {
            const TileOrigin origin = tiles.origin(tile);
            wait_for(queries_empty, turn % 2 ^ 1);
            copy_rows<WIDTH<DIM>, QUERIES>(queries, q, origin.first_query, origin.head, queries_full);
            const int head = origin.head / sharing;
            const int first = WINDOWED ? tiles.first_step(origin.first_query, window) : 0;
            for (int step = tiles.last_step(origin.first_query); step >= first; --step, next_stage()) {
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

    for (int turn = 0, tile = blockIdx.x; tile < tiles.count; tile = tiles.of_turn(++turn)) {
        const TileOrigin origin = tiles.origin(tile);
        int last = tiles.last_step(origin.first_query), first = 0;
        const int of_tile = WINDOWED ? tiles.first_step(origin.first_query, window) : 0;
        const int own = origin.first_query + warpgroup * 64;  // this warpgroup's first query
        if constexpr (WINDOWED) {
            const int seen = min(own + 63, seq - 1) / KEYS;  // where a warpgroup has no query, it takes the last step
            for (; last > seen; --last) pass();
            first = min(tiles.first_step(own, window), last);
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
        wait_for(queries_full, turn % 2);
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
            for (int step = first; step > of_tile; --step) pass();
        }

#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int query = row + half * 8;
            const long long index = static_cast<long long>(origin.head) * seq + query;
            float factor, logarithm;
            softmax.finish(half, factor, logarithm);
            store_row(sum, half, factor, o + index * DIM, query < seq);
            if (query < seq && lane % 4 == 0) lse[index] = logarithm;
        }
    }
}

#define ATTENTION_KERNEL(NAME, DIM, CAUSAL)                                                              \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) NAME(              \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group) {                                               \
        attend<DIM, CAUSAL>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(heads),             \
                            static_cast<int>(group));                                                    \
    }
#define SHARING_ATTENTION_KERNEL(NAME, DIM, CAUSAL)                                                      \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) NAME(              \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, long long sharing) {                            \
        attend<DIM, CAUSAL>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(heads),             \
                            static_cast<int>(group), static_cast<int>(sharing));                         \
    }
// The same with a window, causal.
#define WINDOWED_ATTENTION_KERNEL(NAME, DIM)                                                             \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) NAME(              \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, long long sharing, long long window) {          \
        attend<DIM, true, true>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(heads),         \
                                static_cast<int>(group), static_cast<int>(sharing),                      \
                                static_cast<int>(window));                                               \
    }
