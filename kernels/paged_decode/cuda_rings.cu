// Decoding with a paged cache, every warp with a ring of keys and values of its own (sm_80 and later).
//
// Formula: o[b, h] = sum over keys l of p[l] v[l], p the softmax of q[b, h] k[l] / sqrt(dim); key l of sequence b lies
//   in page table[b, l / page], row l % page. 4 keys dim FLOP a query head; the cache is read once.
// Mapping: block (kv head, 8 or 16 of its query heads, sequence, part of the sequence). Its warps take tiles of 16 keys
//   in turn and never wait for each other: a lane looks up where one key of a tile lies, a tile ahead of the copies,
//   and cp.async fills the warp's ring. The products are turned round, scores^T = k q^T and o^T += v^T p^T, so that
//   keys and then elements of a head are the 16 rows of mma.sync and query heads its 8 columns: eight heads in a group
//   waste nothing, where query heads as rows would waste half. movmatrix turns the powers from a result into an
//   operand. Each warp has its own maximum and sums; they meet once, at the end. Where there are few sequences, each is
//   split into parts, whose results a second kernel joins, or, of a few parts, the blocks of a cluster (joins.cuh).
// Idea: triton_split's parts of sequences, with copies under way while a tile is multiplied, and operands turned round
//   because groups of eight leave half of its 16 rows empty: split-KV decoding, Dao et al., "Flash-Decoding" (2023);
//   swapped operands as in small-batch products.
#if !defined(SCALAR_IS_FLOAT32)

#include "paged_decode/joins.cuh"

struct Sizes {  // 32 bits count all: blocks divide by them before they can ask for anything
    int batch, kv_heads, group, pool, pages, page, splits;
    bool is_cluster;  // the parts of a sequence are a cluster, which joins them
};

template <int DIM>
__device__ __forceinline__ int place(int row, int chunk) {
    return row * DIM * 2 + (chunk ^ row % 8) * CHUNK_BYTES;  // bytes; 8 rows of a matrix fall in different banks
}

__device__ __forceinline__ float over_rows(float value, bool is_maximum) {  // lanes of one column
#pragma unroll
    for (int distance = 4; distance < WARP; distance *= 2) {
        const float other = __shfl_xor_sync(WHOLE_WARP, value, distance);
        value = is_maximum ? fmaxf(value, other) : value + other;
    }
    return value;
}

// Brings a line into L2; nothing is read yet, so that it may be written still.
__device__ __forceinline__ void ask_l2_for(const int* address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// What a warp knows of TILES x 8 query heads. With g = lane / 4, i = lane % 4 a lane has columns 2 i and 2 i + 1 of each
// 8, and of o^T rows g and g + 8 of each 16.
template <int DIM, int TILES>
struct Warp {
    unsigned query[TILES][DIM / 16][2];
    float sum[TILES][DIM / 16][4] = {};
    float highest[TILES][2], total[TILES][2] = {};
    float scale;

    __device__ __forceinline__ Warp(const SCALAR* q, int heads) : scale(LOG2_E * rsqrtf(DIM)) {
        const int lane = threadIdx.x % WARP;
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
            const int head = tile * 8 + lane / 4;
            highest[tile][0] = highest[tile][1] = NEGATIVE_INFINITY;
#pragma unroll
            for (int word = 0; word < DIM / 8; ++word) {
                const SCALAR* from = q + static_cast<long long>(head) * DIM + word * 8 + lane % 4 * 2;
                query[tile][word / 2][word % 2] = head < heads ? *reinterpret_cast<const unsigned*>(from) : 0;
            }
        }
    }

    // Takes in a tile, of which the first `left` keys count.
    __device__ __forceinline__ void add(const unsigned char* keys, const unsigned char* values, int left) {
        const int lane = threadIdx.x % WARP;
        float s[TILES][2][4] = {};  // of even and odd parts: two chains of products instead of a long one
#pragma unroll
        for (int part = 0; part < DIM / 16; ++part) {
            unsigned a[4];
            load_matrices(a, keys + place<DIM>(lane % 16, part * 2 + lane / 16));
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                multiply_add(s[tile][part % 2], a, query[tile][part][0], query[tile][part][1]);
            }
        }
        unsigned p[TILES][2];
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
            float score[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                score[i] = lane / 4 + i / 2 * 8 < left ? s[tile][0][i] + s[tile][1][i] : NEGATIVE_INFINITY;
            }
            float rescale[2];
#pragma unroll
            for (int column = 0; column < 2; ++column) {
                const float raised =
                    fmaxf(highest[tile][column], over_rows(fmaxf(score[column], score[column + 2]), true));
                const float shift = raised == NEGATIVE_INFINITY ? 0.0f : raised * scale;
                rescale[column] = fast_exp2(highest[tile][column] * scale - shift);
                highest[tile][column] = raised;
                score[column] = fast_exp2(score[column] * scale - shift);
                score[column + 2] = fast_exp2(score[column + 2] * scale - shift);
                total[tile][column] = total[tile][column] * rescale[column] + score[column] + score[column + 2];
            }
#pragma unroll
            for (int i = 0; i < DIM / 4; ++i) sum[tile][i / 4][i % 4] *= rescale[i % 2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                unsigned word;
                from_floats(score[half * 2], score[half * 2 + 1], reinterpret_cast<SCALAR*>(&word));
                p[tile][half] = transposed(word);
            }
        }
#pragma unroll
        for (int part = 0; part < DIM / 16; ++part) {
            unsigned a[4];
            load_transposed(a, values + place<DIM>(lane % 8 + lane / 16 * 8, part * 2 + lane / 8 % 2));
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) multiply_add(sum[tile][part], a, p[tile][0], p[tile][1]);
        }
    }
};

// Joins the warps of a block. `store(head, element, mean of it and the next, maximum + log2 of the total)`.
template <int DIM, int TILES, class Store>
__device__ __forceinline__ void join_warps(Warp<DIM, TILES>& mine, float* sums, int heads, const Store& store) {
    constexpr int HEADS = TILES * 8, WIDTH = DIM + 4;  // so that lanes of a column fall in different banks
    __shared__ float maxima[WARPS][HEADS], totals[WARPS][HEADS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
        const float total = over_rows(mine.total[i / 2][i % 2], false);
        const int head = i / 2 * 8 + lane % 4 * 2 + i % 2;
        if (lane < 4) maxima[warp][head] = mine.highest[i / 2][i % 2] * mine.scale, totals[warp][head] = total;
    }
    __syncthreads();  // nobody needs the rings from here on either
    const auto top_of = [&](int head) {
        float top = maxima[0][head];
#pragma unroll
        for (int other = 1; other < WARPS; ++other) top = fmaxf(top, maxima[other][head]);
        return top;
    };
#pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
        const int head = i / 2 * 8 + lane % 4 * 2 + i % 2;
        const float rescale = relative_power(maxima[warp][head], top_of(head));
        float* const to = sums + (warp * HEADS + head) * WIDTH + lane / 4;
#pragma unroll
        for (int part = 0; part < DIM / 16; ++part) {
            to[part * 16] = mine.sum[i / 2][part][i % 2] * rescale;
            to[part * 16 + 8] = mine.sum[i / 2][part][i % 2 + 2] * rescale;
        }
    }
    __syncthreads();
    for (int pair = threadIdx.x; pair < heads * (DIM / 2); pair += THREADS) {
        const int head = pair / (DIM / 2), element = pair % (DIM / 2) * 2;
        const float top = top_of(head);
        float total = 0.0f;
        float2 mean = {};
#pragma unroll
        for (int other = 0; other < WARPS; ++other) {
            const float2 one = *reinterpret_cast<float2*>(sums + (other * HEADS + head) * WIDTH + element);
            mean.x += one.x, mean.y += one.y;
            total += totals[other][head] * relative_power(maxima[other][head], top);
        }
        const float factor = total == 0.0f ? 0.0f : 1.0f / total;
        store(head, element, make_float2(mean.x * factor, mean.y * factor), top + log2f(total));
    }
}

template <int DIM, int TILES>
__device__ __forceinline__ void decode(
    const SCALAR* q, const SCALAR* k, const SCALAR* v, const int* table, const int* lengths, SCALAR* o, float* means,
    float* logarithms, const Sizes& sizes
) {
    constexpr int TILE = KEYS * DIM * 2, STAGES = RING_BYTES / (2 * TILE), CHUNKS = DIM / CHUNK;
    extern __shared__ __align__(128) unsigned char rings[];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const unsigned head_tiles = (sizes.group + TILES * 8 - 1) / (TILES * 8);

    // Neighbouring blocks read neighbouring heads of the same pages, those of a cluster other parts of a sequence.
    unsigned index = sizes.is_cluster ? blockIdx.x / sizes.splits : blockIdx.x;
    const int kv_head = index % sizes.kv_heads;
    index /= sizes.kv_heads;
    const int first_head = index % head_tiles * TILES * 8;
    index /= head_tiles;
    const int sequence = index % sizes.batch;
    const int split = sizes.is_cluster ? blockIdx.x % sizes.splits : index / sizes.batch;
    const int heads = min(sizes.group - first_head, TILES * 8);
    const long long query = (sequence * sizes.kv_heads + kv_head) * sizes.group + first_head;

    if (sizes.splits == 1 || sizes.is_cluster) {
        // Few keys, so that each wait counts: the page that is looked up first, were the sequence as long as its row.
        const int capacity = sizes.pages * sizes.page;
        const int guess = Part(capacity, split, sizes.splits).begin + warp * KEYS + lane % KEYS;
        const int* const entry = table + static_cast<long long>(sequence) * sizes.pages + guess / sizes.page;
        if (guess < capacity) ask_l2_for(entry);
        ask_l2_for(lengths + sequence);
    }
    wait_for_previous();  // all before this overlaps the end of the kernel in front
    const Pages of_sequence(
        table + static_cast<long long>(sequence) * sizes.pages, lengths[sequence], sizes.pool, sizes.pages, sizes.page
    );
    const Part part(of_sequence.length, split, sizes.splits);
    if (sizes.splits > 1 && !sizes.is_cluster && part.begin == part.end) return;  // the kernel that joins knows

    unsigned char* const ring = rings + warp * RING_BYTES;
    const int first = part.begin + warp * KEYS;
    const int tiles = first < part.end ? (part.end - first + BLOCK_KEYS - 1) / BLOCK_KEYS : 0;
    bool is_missing = false;  // a key whose page is not in the pool

    const auto row_of = [&](int tile) {  // of this lane's key of the warp's tile, -1 for none
        const int key = first + tile * BLOCK_KEYS + lane % KEYS;
        if (tile >= tiles || key >= part.end) return -1;
        const int row = of_sequence.row(key);
        is_missing |= row < 0;
        return row;
    };
    const auto fill = [&](int stage, int row) {
        unsigned char* const to = ring + stage * 2 * TILE;
#pragma unroll
        for (int i = 0; i < KEYS * CHUNKS / WARP; ++i) {
            const int key = i * (WARP / CHUNKS) + lane / CHUNKS, chunk = lane % CHUNKS;
            const int from = __shfl_sync(WHOLE_WARP, row, key);
            const long long at =
                (static_cast<long long>(max(from, 0)) * sizes.kv_heads + kv_head) * DIM + chunk * CHUNK;
            copy_chunk(to + place<DIM>(key, chunk), k + at, from >= 0);
            copy_chunk(to + TILE + place<DIM>(key, chunk), v + at, from >= 0);
        }
    };

    int rows[STAGES];
#pragma unroll
    for (int stage = 0; stage < STAGES; ++stage) rows[stage] = row_of(stage);
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        if (stage < tiles) fill(stage, rows[stage]);
        commit_copies();
    }
    Warp<DIM, TILES> mine(q + query * DIM, heads);
    int next = rows[STAGES - 1], stage = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        wait_for_copies<STAGES - 2>();
        __syncwarp();  // all lanes' copies are there, and all have read the stage that is filled next
        if (tile + STAGES - 1 < tiles) fill(stage == 0 ? STAGES - 1 : stage - 1, next);
        commit_copies();
        next = row_of(tile + STAGES);
        const unsigned char* const keys = ring + stage * 2 * TILE;
        mine.add(keys, keys + TILE, part.end - first - tile * BLOCK_KEYS);
        if (++stage == STAGES) stage = 0;
    }
    wait_for_copies<0>();
    let_next_start();
    if (__any_sync(WHOLE_WARP, is_missing)) {
#pragma unroll
        for (int i = 0; i < TILES * 2; ++i) mine.total[i / 2][i % 2] = not_a_number();
    }
#ifdef HAS_CLUSTERS
    if (sizes.is_cluster) {
        // Behind the sums of the warps, which take half of the rings at most.
        float* const of_part = reinterpret_cast<float*>(rings + WARPS * RING_BYTES / 2);
        join_warps(
            mine, reinterpret_cast<float*>(rings), heads, [&](int head, int element, float2 mean, float logarithm) {
                float* const to = of_part + head * (DIM + 4);
                *reinterpret_cast<float2*>(to + element) = mean;
                if (element == 0) to[DIM] = logarithm;
            }
        );
        join_cluster<DIM>(of_part, heads, sizes.splits, o + query * DIM);
        return;
    }
#endif
    join_warps(mine, reinterpret_cast<float*>(rings), heads, [&](int head, int element, float2 mean, float logarithm) {
        if (sizes.splits == 1) {
            from_floats(mean.x, mean.y, o + (query + head) * DIM + element);
            return;
        }
        const long long result = (query + head) * sizes.splits + split;
        *reinterpret_cast<float2*>(means + result * DIM + element) = mean;
        if (element == 0) logarithms[result] = logarithm;
    });
}

#define DECODE(NAME, DIM, TILES)                                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME(                                                       \
        const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,                     \
        const int* __restrict__ table, const int* __restrict__ lengths, SCALAR* __restrict__ o,                       \
        float* __restrict__ means, float* __restrict__ logarithms, long long batch, long long kv_heads,               \
        long long group, long long pool, long long pages, long long page, long long splits, long long is_cluster      \
    ) {                                                                                                               \
        const Sizes sizes = {static_cast<int>(batch), static_cast<int>(kv_heads), static_cast<int>(group),            \
                             static_cast<int>(pool),  static_cast<int>(pages),    static_cast<int>(page),             \
                             static_cast<int>(splits), is_cluster != 0};                                              \
        decode<DIM, TILES>(q, k, v, table, lengths, o, means, logarithms, sizes);                                     \
    }
DECODE(decode_64, 64, 1)
DECODE(decode_64_wide, 64, 2)
DECODE(decode_128, 128, 1)
DECODE(decode_128_wide, 128, 2)

#define JOIN(DIM)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(JOINING) join_##DIM(                                                 \
        const float* __restrict__ means, const float* __restrict__ logarithms, const int* __restrict__ lengths,       \
        SCALAR* __restrict__ o, long long heads, long long capacity, long long splits                                 \
    ) {                                                                                                               \
        join<DIM>(means, logarithms, lengths, o, static_cast<int>(heads), static_cast<int>(capacity),                 \
                  static_cast<int>(splits));                                                                          \
    }
JOIN(64)
JOIN(128)

#endif
