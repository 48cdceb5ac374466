// A chunk of the gated delta rule on wgmma: its products, its place in shared memory, and whose work a block does.
#pragma once

#include "shared/wgmma_attention_products.cuh"
#include "gated_delta_rule/inverse.cuh"

constexpr int STAGES = 3, BUFFERS = 2;  // chunks of q, k and v; and prepared ones, as in cuda_fused.py
constexpr float FORGOTTEN = -22.0f;     // a logarithm: 3e-10

// A box of 64 elements of 64 tokens: zeros beyond the sequence.
__device__ __forceinline__ void copy_tokens(
    unsigned char* to, const CUtensorMap& map, int x, int token, int batch, Barrier* barrier
) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to)), "l"(&map), "r"(x), "r"(token), "r"(batch),
                 "r"(shared_address(barrier))
                 : "memory");
}

// sum (64 x 64) (+)= a b: a from registers; b from shared memory, rows along what is summed.
#define MULTIPLY_ROWS(NAME, OUT, ADD)                                                                               \
    __device__ __forceinline__ void NAME(float (&sum)[32], const unsigned* a, unsigned long long b) {           \
        asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, " ADD ", 0;\n"                                      \
                     "wgmma.mma_async.sync.aligned.m64n64" PRODUCTS " {" NAMES_32 "}, {%32, %33, %34, %35}, %36" \
                     ", add, 1, 1, 0;\n}"                                                                      \
                     : OUT                                                                                     \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                    \
    }
MULTIPLY_ROWS(begin_rows, SUMS_32, "0")
MULTIPLY_ROWS(multiply_rows, SUMS_32, "1")

// From which chunk on the state of `begin` has to be made; `g` of the first token, others `stride` floats apart.
__device__ __forceinline__ int forgotten_before(const float* g, long long stride, int begin) {
    constexpr int AT_ONCE = 4;
    const int lane = threadIdx.x % WARP;
    float left = 0.0f;
    for (int last = begin; last > 0; last -= AT_ONCE) {
        float sums[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const long long token = (last - 1ll - i) * CHUNK + lane;
            sums[i] = token >= 0 ? g[token * stride] + g[(token + WARP) * stride] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            left += warp_sum(sums[i]);
            if (left <= FORGOTTEN) return max(last - 1 - i, 0);
        }
    }
    return 0;
}

// What a block knows of its work.
struct Segment {
    int batch, value_head, value_heads, head, seq;
    int first, begin, end;  // chunks: from where the state is made, from where o is stored

    __device__ __forceinline__
    Segment(const float* g, long long seq, long long heads, long long groups, long long chunks, long long length)
        : value_heads(static_cast<int>(heads * groups)), seq(static_cast<int>(seq)) {
        batch = blockIdx.x / value_heads;
        value_head = blockIdx.x % value_heads;
        head = value_head / static_cast<int>(groups);
        begin = static_cast<int>(blockIdx.y * length);
        end = static_cast<int>(min(begin + length, chunks));
        first = forgotten_before(g + batch * seq * value_heads + value_head, value_heads, begin);
    }
};

// Shared memory: stages of k, v, q; buffers of T, scores; boxes of o; factors; scratch; barriers.
template <int DIM>
struct Room {
    static constexpr int CONSUMERS = DIM / 64, TILE = CONSUMERS * BAND, STAGE = 3 * TILE;
    unsigned char *stages, *buffers, *boxes;
    float* factors;
    Scratch* scratch;
    Barrier *full, *empty, *prepared, *taken;

    __device__ __forceinline__ explicit Room(unsigned char* shared) : stages(shared) {
        buffers = stages + STAGES * STAGE;
        boxes = buffers + BUFFERS * 2 * BAND;
        scratch = reinterpret_cast<Scratch*>(boxes + CONSUMERS * BAND);
        factors = reinterpret_cast<float*>(scratch + 1);
        full = reinterpret_cast<Barrier*>(factors + BUFFERS * FACTORS);
        empty = full + STAGES;
        prepared = empty + STAGES;
        taken = prepared + BUFFERS;
    }
};
