// Attention and its gradients on the tensor cores by warp-wide mma.sync (sm_80 and later), float16 or bfloat16.
//
// Formula: three kernels of one pattern,
//
//   attend     own q; tiles of k, v: s = q k^T, o += softmax(s) v         2 products, a step 64 keys, 16 beyond dim 128
//   queries    own q, do; tiles of k, v: s, dp = do v^T, dq += ds k             3 products, a step 32 keys
//   keys       own k, v; tiles of q, do: s^T = k q^T, dp^T = v do^T, dv += p^T do, dk += ds^T q
//                                                                              4 products, a step 32 queries
//
//   with p = 2^(s log2(e) / sqrt(dim) - lse log2(e)), ds = p (dp - delta) / sqrt(dim), delta the rows of do o.
//   FLOPs are 4 seq seq dim a head forward. Backward does 14, of which 10 are counted: p and dp are computed twice, so
//   that every sum stays in one warp and results are the same every time. Causal halves each.
// Mapping: a warp owns 16 rows of a head as first operands. The rows of two other tensors pass in tiles through shared
//   memory, and every product of own rows with a tile's stays in registers, where it becomes the first operand of the
//   next. A tile is stored row by row in chunks of 16 bytes; a chunk's position is XORed with its row's number, so that
//   the 8 rows of a phase of ldmatrix fall in different banks. cp.async fills one of two stages during the products of
//   the other.
// Idea: Dao, "FlashAttention-2", arXiv:2307.08691. wgmma on Hopper is faster still.
#pragma once

#include "shared/attention.cuh"

constexpr int WARPS = 8;
constexpr int THREADS = WARPS * WARP;
constexpr int OWN = WARPS * 16;  // rows of a block, as in the launchers

// ---- Tiles ---------------------------------------------------------------------------------------

template <int DIM>
__device__ __forceinline__ int swizzled_offset(int row, int chunk) {
    // Rows of half as many chunks more, as those of 96 elements have, fall in two halves of the banks by turns.
    return row * DIM * 2 + (chunk ^ (DIM % 64 == 0 ? row % 8 : row / 2 % 4)) * CHUNK_BYTES;  // bytes
}

// Starts to copy ROWS rows, zeros for those beyond the end.
template <int DIM, int ROWS>
__device__ __forceinline__ void copy_tile(unsigned char* to, const SCALAR* from, int first, int seq) {
    constexpr int CHUNKS = DIM / CHUNK;
#pragma unroll
    for (int i = threadIdx.x; i < ROWS * CHUNKS; i += THREADS) {
        const int row = i / CHUNKS;
        const int chunk = i % CHUNKS;
        const bool inside = first + row < seq;
        const SCALAR* source = from + (inside ? static_cast<long long>(first + row) * DIM + chunk * CHUNK : 0);
        copy_chunk(to + swizzled_offset<DIM>(row, chunk), source, inside);
    }
}

// Calls step(first row, tiles of x, tiles of y) for each ROWS rows from `first` to `last`, both tiles there.
template <int DIM, int ROWS, class Step>
__device__ __forceinline__ void for_each_tile(
    const SCALAR* x, const SCALAR* y, int first, int last, int seq, const Step& step
) {
    constexpr int TILE = ROWS * DIM * 2;
    extern __shared__ __align__(128) unsigned char stages[];
    const auto fill = [&](int stage, int row) {
        unsigned char* const to = stages + stage * 2 * TILE;
        copy_tile<DIM, ROWS>(to, x, row, seq);
        copy_tile<DIM, ROWS>(to + TILE, y, row, seq);
        commit_copies();
    };
    fill(0, first);
    int stage = 0;
    for (int row = first; row < last; row += ROWS, stage ^= 1) {
        if (row + ROWS < last) {
            fill(stage ^ 1, row + ROWS);
            wait_for_copies<1>();
        } else {
            wait_for_copies<0>();
        }
        __syncthreads();
        step(row, stages + stage * 2 * TILE, stages + stage * 2 * TILE + TILE);
        __syncthreads();
    }
}

// ---- Products ------------------------------------------------------------------------------------

// A warp's 16 rows as first operands, zeros beyond the end. With g = lane / 4, i = lane % 4: elements 2 i, 2 i + 1, and
// 8 further on, of rows g and g + 8, of every 16.
template <int DIM>
__device__ __forceinline__ void load_own(unsigned (&own)[DIM / 4], const SCALAR* from, int row, int seq) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int word = 0; word < DIM / 4; ++word) {
        const int at = row + lane / 4 + word % 2 * 8;
        const int element = word / 4 * 16 + word / 2 % 2 * 8 + lane % 4 * 2;
        own[word] = 0;
        if (at < seq) own[word] = *reinterpret_cast<const unsigned*>(from + static_cast<long long>(at) * DIM + element);
    }
}

// 16 elements of own rows.
template <int DIM>
__device__ __forceinline__ void own_part(unsigned (&a)[4], const unsigned (&own)[DIM / 4], int part) {
#pragma unroll
    for (int word = 0; word < 4; ++word) a[word] = own[part * 4 + word];
}
template <int DIM>
__device__ __forceinline__ void own_part(unsigned (&a)[4], const unsigned char* own, int part) {
    const int lane = threadIdx.x % WARP;
    load_matrices(a, own + swizzled_offset<DIM>(threadIdx.x / WARP * 16 + lane % 16, part * 2 + lane / 16));
}

// s = own rows times a tile's rows: 16 x ROWS. Own rows are in registers, or in shared memory where those do not
// suffice.
template <int DIM, int ROWS, class Own>
__device__ __forceinline__ void multiply(float (&s)[ROWS / 2], const Own& own, const unsigned char* tile) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < ROWS / 2; ++i) s[i] = 0.0f;
#pragma unroll
    for (int part = 0; part < DIM / 16; ++part) {
        unsigned a[4];
        own_part<DIM>(a, own, part);
#pragma unroll
        for (int j = 0; j < ROWS / 16; ++j) {
            unsigned b[4];
            load_matrices(b, tile + swizzled_offset<DIM>(j * 16 + lane / 16 * 8 + lane % 8, part * 2 + lane / 8 % 2));
            multiply_add(s + j * 8, a, b[0], b[1]);
            multiply_add(s + j * 8 + 4, a, b[2], b[3]);
        }
    }
}

// sum += p times a tile: 16 x DIM, p 16 x ROWS.
template <int DIM, int ROWS>
__device__ __forceinline__ void accumulate(
    float (&sum)[DIM / 2], const unsigned (&p)[ROWS / 4], const unsigned char* tile
) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int part = 0; part < ROWS / 16; ++part) {
#pragma unroll
        for (int j = 0; j < DIM / 16; ++j) {
            unsigned b[4];
            load_transposed(b, tile + swizzled_offset<DIM>(part * 16 + lane % 16, j * 2 + lane / 16));
            multiply_add(sum + j * 8, p + part * 4, b[0], b[1]);
            multiply_add(sum + j * 8 + 4, p + part * 4, b[2], b[3]);
        }
    }
}

// The head and which of its blocks; blocks with the longest loop start first.
struct BlockIndex {
    int head;
    int block;

    __device__ __forceinline__ BlockIndex(int seq, bool last_is_longest) {
        const int blocks = (seq + OWN - 1) / OWN;
        head = blockIdx.x / blocks;
        block = blockIdx.x % blocks;
        if (last_is_longest) block = blocks - 1 - block;
    }
};

// ---- Forward -------------------------------------------------------------------------------------

// Keys and values of a step, as in the launcher: as many as registers allow beside the sums.
template <int DIM>
constexpr int ROWS_OF = DIM <= 128 ? 64 : 16;

// `sharing` query heads in a row have one head of keys and values; `window` counts only where WINDOWED.
template <int DIM, bool CAUSAL, bool WINDOWED = false>
__device__ __forceinline__ void attend(
    const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v, SCALAR* __restrict__ o,
    float* __restrict__ lse, int seq, int sharing = 1, int window = 0
) {
    constexpr int ROWS = ROWS_OF<DIM>;
    const int lane = threadIdx.x % WARP;
    const BlockIndex index(seq, CAUSAL);
    const long long head = static_cast<long long>(index.head) * seq;
    const int first = index.block * OWN + threadIdx.x / WARP * 16;  // query of this warp
    const int query = first + lane / 4;                             // and 8 more
    const int end = CAUSAL ? min((index.block + 1) * OWN, seq) : seq;
    const int start = WINDOWED ? max(index.block * OWN - window + 1, 0) / ROWS * ROWS : 0;

    unsigned own[DIM / 4];
    load_own<DIM>(own, q + head * DIM, first, seq);
    float sum[DIM / 2] = {};
    Softmax softmax(LOG2_E * ROOT<DIM>);
    const auto step = [&](int key0, const unsigned char* keys, const unsigned char* values) {
        if (CAUSAL && key0 >= first + 16) return;  // this warp sees none of them
        if (WINDOWED && key0 + ROWS <= first - window + 1) return;
        float s[ROWS / 2];
        multiply<DIM, ROWS>(s, own, keys);
        const bool leaves = WINDOWED && key0 <= first + 15 - window;  // the window of some of its queries
        if (key0 + ROWS > seq || (CAUSAL && key0 + ROWS > first + 1) || leaves) {
#pragma unroll
            for (int i = 0; i < ROWS / 2; ++i) {
                const int key = key0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
                const int row = query + i / 2 % 2 * 8;
                const bool visible = key < seq && (!CAUSAL || key <= row) && (!WINDOWED || key > row - window);
                s[i] = visible ? s[i] : NEGATIVE_INFINITY;
            }
        }
        softmax.exponentiate(s);
        softmax.rescale_sums(sum);
        unsigned p[ROWS / 4];
        to_operand(s, p);
        accumulate<DIM, ROWS>(sum, p, values);
    };
    const long long kv_head = static_cast<long long>(index.head / sharing) * seq;
    for_each_tile<DIM, ROWS>(k + kv_head * DIM, v + kv_head * DIM, start, end, seq, step);
    long long done = head;
    if constexpr (DIM > 192 && !CAUSAL) {  // on sm_100 no register is left to keep it in: it is made again
        int block;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        done = static_cast<long long>(block / ((seq + OWN - 1) / OWN)) * seq;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = query + half * 8;
        float factor, logarithm;
        softmax.finish(half, factor, logarithm);
        store_row(sum, half, factor, o + (done + row) * DIM, row < seq);
        if (row < seq && lane % 4 == 0) lse[done + row] = logarithm;
    }
}

// ---- Backward ------------------------------------------------------------------------------------

// delta = rows of do o, a warp a row.
template <int DIM>
__device__ __forceinline__ void make_delta(
    const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, float* __restrict__ delta, long long rows
) {
    const long long row = static_cast<long long>(blockIdx.x) * WARPS + threadIdx.x / WARP;
    if (row >= rows) return;
    float total = 0.0f;
#pragma unroll
    for (int i = threadIdx.x % WARP; i < DIM; i += WARP) {
        total += to_float(o[row * DIM + i]) * to_float(grad[row * DIM + i]);
    }
    total = warp_sum(total);
    if (threadIdx.x % WARP == 0) delta[row] = total;
}

template <int DIM, bool CAUSAL>
__device__ __forceinline__ void queries(
    const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,
    const float* __restrict__ lse, const SCALAR* __restrict__ grad, const float* __restrict__ delta,
    SCALAR* __restrict__ dq, int seq
) {
    constexpr int ROWS = 32;
    constexpr float SCALE = LOG2_E * ROOT<DIM>;
    const int lane = threadIdx.x % WARP;
    const BlockIndex index(seq, CAUSAL);
    const long long head = static_cast<long long>(index.head) * seq;
    const int first = index.block * OWN + threadIdx.x / WARP * 16;
    const int query = first + lane / 4;
    const int end = CAUSAL ? min((index.block + 1) * OWN, seq) : seq;

    unsigned own_q[DIM / 4], own_grad[DIM / 4];
    load_own<DIM>(own_q, q + head * DIM, first, seq);
    load_own<DIM>(own_grad, grad + head * DIM, first, seq);
    float own_lse[2], own_delta[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = min(query + half * 8, seq - 1);
        own_lse[half] = lse[head + row] * LOG2_E;
        own_delta[half] = delta[head + row];
    }
    float sum[DIM / 2] = {};
    const auto step = [&](int key0, const unsigned char* keys, const unsigned char* values) {
        if (CAUSAL && key0 >= first + 16) return;
        float s[ROWS / 2], dp[ROWS / 2];
        multiply<DIM, ROWS>(s, own_q, keys);
        multiply<DIM, ROWS>(dp, own_grad, values);
        if (key0 + ROWS > seq || (CAUSAL && key0 + ROWS > first + 1)) {
#pragma unroll
            for (int i = 0; i < ROWS / 2; ++i) {
                const int key = key0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
                const bool visible = key < seq && (!CAUSAL || key <= query + i / 2 % 2 * 8);
                s[i] = visible ? s[i] : NEGATIVE_INFINITY;
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS / 2; ++i) {
            s[i] = fast_exp2(s[i] * SCALE - own_lse[i / 2 % 2]) * (dp[i] - own_delta[i / 2 % 2]);
        }
        unsigned ds[ROWS / 4];
        to_operand(s, ds);
        accumulate<DIM, ROWS>(sum, ds, keys);
    };
    for_each_tile<DIM, ROWS>(k + head * DIM, v + head * DIM, 0, end, seq, step);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = query + half * 8;
        store_row(sum, half, ROOT<DIM>, dq + (head + row) * DIM, row < seq);
    }
}

template <int DIM, bool CAUSAL>
__device__ __forceinline__ void keys(
    const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,
    const float* __restrict__ lse, const SCALAR* __restrict__ grad, const float* __restrict__ delta,
    SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, int seq
) {
    constexpr int ROWS = 32;
    constexpr float SCALE = LOG2_E * ROOT<DIM>;
    const int lane = threadIdx.x % WARP;
    const BlockIndex index(seq, false);
    const long long head = static_cast<long long>(index.head) * seq;
    const int first = index.block * OWN + threadIdx.x / WARP * 16;
    const int key = first + lane / 4;
    const int start = CAUSAL ? index.block * OWN : 0;

    // Two sums take up to 128 registers a thread, so own rows stay in shared memory, behind the stages.
    extern __shared__ __align__(128) unsigned char stages[];
    unsigned char* const own_k = stages + 4 * ROWS * DIM * 2;
    unsigned char* const own_v = own_k + OWN * DIM * 2;
    copy_tile<DIM, OWN>(own_k, k + head * DIM, index.block * OWN, seq);
    copy_tile<DIM, OWN>(own_v, v + head * DIM, index.block * OWN, seq);
    commit_copies();
    float sum_k[DIM / 2] = {}, sum_v[DIM / 2] = {};
    const auto step = [&](int query0, const unsigned char* tile_q, const unsigned char* tile_grad) {
        if (CAUSAL && query0 + ROWS <= first) return;
        float s[ROWS / 2], dp[ROWS / 2];
        multiply<DIM, ROWS>(s, own_k, tile_q);
        float their_lse[ROWS / 4], their_delta[ROWS / 4];  // of two columns in eight
#pragma unroll
        for (int i = 0; i < ROWS / 4; ++i) {
            const int query = min(query0 + i / 2 * 8 + lane % 4 * 2 + i % 2, seq - 1);
            their_lse[i] = lse[head + query] * LOG2_E;
            their_delta[i] = delta[head + query];
        }
        multiply<DIM, ROWS>(dp, own_v, tile_grad);
        if (query0 + ROWS > seq || (CAUSAL && query0 < first + 16)) {
#pragma unroll
            for (int i = 0; i < ROWS / 2; ++i) {
                const int query = query0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
                const bool visible = query < seq && (!CAUSAL || key + i / 2 % 2 * 8 <= query);
                s[i] = visible ? s[i] : NEGATIVE_INFINITY;
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS / 2; ++i) {
            s[i] = fast_exp2(s[i] * SCALE - their_lse[i / 4 * 2 + i % 2]);
            dp[i] = s[i] * (dp[i] - their_delta[i / 4 * 2 + i % 2]);
        }
        unsigned p[ROWS / 4];
        to_operand(s, p);
        accumulate<DIM, ROWS>(sum_v, p, tile_grad);
        to_operand(dp, p);
        accumulate<DIM, ROWS>(sum_k, p, tile_q);
    };
    for_each_tile<DIM, ROWS>(q + head * DIM, grad + head * DIM, start, seq, seq, step);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = key + half * 8;
        store_row(sum_k, half, ROOT<DIM>, dk + (head + row) * DIM, row < seq);
        store_row(sum_v, half, 1.0f, dv + (head + row) * DIM, row < seq);
    }
}

#define FORWARD_KERNELS(DIM, CAUSAL)                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) attention_##DIM(                                     \
        const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,                 \
        SCALAR* __restrict__ o, float* __restrict__ lse, long long seq) {                                         \
        attend<DIM, CAUSAL>(q, k, v, o, lse, static_cast<int>(seq));                                              \
    }
// With `sharing` query heads in a row for one head of keys and values.
#define SHARING_FORWARD_KERNELS(DIM, CAUSAL)                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) attention_##DIM(                                     \
        const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,                 \
        SCALAR* __restrict__ o, float* __restrict__ lse, long long seq, long long sharing) {                      \
        attend<DIM, CAUSAL>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(sharing));                   \
    }
// The same with a window, causal.
#define WINDOWED_FORWARD_KERNELS(DIM)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) attention_##DIM(                                     \
        const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,                 \
        SCALAR* __restrict__ o, float* __restrict__ lse, long long seq, long long sharing, long long window) {    \
        attend<DIM, true, true>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(sharing),                \
                                static_cast<int>(window));                                                        \
    }
#define BACKWARD_KERNELS(DIM, CAUSAL)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS) delta_##DIM(                                            \
        const SCALAR* __restrict__ o, const SCALAR* __restrict__ grad, float* __restrict__ delta, long long rows) { \
        make_delta<DIM>(o, grad, delta, rows);                                                                    \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) queries_##DIM(                                       \
        const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,                 \
        const float* __restrict__ lse, const SCALAR* __restrict__ grad, const float* __restrict__ delta,          \
        SCALAR* __restrict__ dq, long long seq) {                                                                 \
        queries<DIM, CAUSAL>(q, k, v, lse, grad, delta, dq, static_cast<int>(seq));                               \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) keys_##DIM(                                          \
        const SCALAR* __restrict__ q, const SCALAR* __restrict__ k, const SCALAR* __restrict__ v,                 \
        const float* __restrict__ lse, const SCALAR* __restrict__ grad, const float* __restrict__ delta,          \
        SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, long long seq) {                                        \
        keys<DIM, CAUSAL>(q, k, v, lse, grad, delta, dk, dv, static_cast<int>(seq));                              \
    }
