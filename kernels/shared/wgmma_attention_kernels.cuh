// Kernels of attention on Hopper where every head has as many keys: whole tiles, divided ones, and what puts these together.
#pragma once

#include "shared/wgmma_attention.cuh"

// By what copies, in front of its first copy. All blocks run at once, so that those of the next kernel keep none away; and
// nothing is stored before something was copied.
__device__ __forceinline__ void begin_copies(const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v) {
    prefetch_map(q), prefetch_map(k), prefetch_map(v);
    let_next_start();
    wait_for_previous();
}

// The first `whole` tiles, and all where causal, into `o` and `lse`.
template <int DIM, bool CAUSAL, bool WINDOWED = false>
__device__ __forceinline__ void attend_tiles(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, SCALAR* __restrict__ o, float* __restrict__ lse,
    int seq, int heads, int group, int* counter, int whole, int sharing = 1, int window = 0
) {
    constexpr int KEYS = KEYS_OF<DIM, WINDOWED>;
    using Source = WholeTiles<CONSUMERS<DIM> * 64, KEYS, CAUSAL, WINDOWED>;
    attend<DIM, KEYS, Source>(
        q, k, v, sharing, window,
        [&] {
            begin_copies(q, k, v);
            return Source(seq, heads, group, whole, counter, window);
        },
        [&](const Piece& piece, int half, int query, const float (&sum)[DIM / 2], float factor, float logarithm) {
            const long long index = static_cast<long long>(piece.head) * seq + query;
            store_row(sum, half, factor, o + index * DIM, query < seq);
            if (query < seq && threadIdx.x % 4 == 0) lse[index] = logarithm;
        }
    );
}

// The other tiles, divided, into `means` and `logarithms`.
template <int DIM, bool CAUSAL>
__device__ __forceinline__ void attend_divided(
    const CUtensorMap& q, const CUtensorMap& k, const CUtensorMap& v, float* __restrict__ means,
    float* __restrict__ logarithms, int seq, int heads, const Division& division, int sharing = 1
) {
    constexpr int KEYS = KEYS_OF<DIM>, QUERIES = CONSUMERS<DIM> * 64;
    using Source = DividedTiles<QUERIES, KEYS, CAUSAL>;
    attend<DIM, KEYS, Source>(
        q, k, v, sharing, 0,
        [&] {
            begin_copies(q, k, v);
            return Source(seq, heads, division);
        },
        [&](const Piece& piece, int half, int query, const float (&sum)[DIM / 2], float factor, float logarithm) {
            const long long at = static_cast<long long>(piece.place) * QUERIES + query - piece.first_query;
            if (threadIdx.x % 4 == 0) logarithms[at] = logarithm;
            float2* const to = reinterpret_cast<float2*>(means + at * DIM) + threadIdx.x % 4;
#pragma unroll
            for (int j = 0; j < DIM / 8; ++j) {
                to[j * 4] = make_float2(sum[j * 4 + half * 2] * factor, sum[j * 4 + half * 2 + 1] * factor);
            }
        }
    );
}

#define ATTENTION_KERNEL(DIM, CAUSAL)                                                                    \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) attention_##DIM(   \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, int* __restrict__ counter, long long whole) {   \
        attend_tiles<DIM, CAUSAL>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(heads),       \
                                  static_cast<int>(group), counter, static_cast<int>(whole));            \
    }
#define SHARING_ATTENTION_KERNEL(DIM)                                                                    \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) attention_##DIM(   \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, int* __restrict__ counter, long long sharing) { \
        attend_tiles<DIM, true>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(heads),         \
                                static_cast<int>(group), counter, 0, static_cast<int>(sharing));         \
    }
// The same with a window.
#define WINDOWED_ATTENTION_KERNEL(DIM)                                                                   \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) attention_##DIM(   \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, SCALAR* __restrict__ o, float* __restrict__ lse,          \
        long long seq, long long heads, long long group, int* __restrict__ counter, long long sharing,   \
        long long window) {                                                                              \
        attend_tiles<DIM, true, true>(q, k, v, o, lse, static_cast<int>(seq), static_cast<int>(heads),   \
                                      static_cast<int>(group), counter, 0, static_cast<int>(sharing),    \
                                      static_cast<int>(window));                                         \
    }
// `sharing` is 1 where every head has its own keys. Causal ones of 256 elements would need more registers than there are.
#define DIVIDED_ATTENTION_KERNELS(DIM, CAUSAL)                                                           \
    extern "C" __global__ void __launch_bounds__((CONSUMERS<DIM> + 1) * WARPGROUP, 1) divided_##DIM(     \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                    \
        const __grid_constant__ CUtensorMap v, float* __restrict__ means, float* __restrict__ logarithms, \
        long long seq, long long heads, long long whole, long long chunks, long long sharing) {          \
        const Division division{static_cast<int>(whole), static_cast<int>(chunks)};                      \
        attend_divided<DIM, CAUSAL>(q, k, v, means, logarithms, static_cast<int>(seq),                   \
                                    static_cast<int>(heads), division,                                   \
                                    CAUSAL ? static_cast<int>(sharing) : 1);                             \
    }                                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) combine_##DIM(                                     \
        const float* __restrict__ means, const float* __restrict__ logarithms, SCALAR* __restrict__ o,   \
        float* __restrict__ lse, long long seq, long long heads, long long whole, long long chunks) {    \
        const Division division{static_cast<int>(whole), static_cast<int>(chunks)};                      \
        combine<DIM, CONSUMERS<DIM> * 64, KEYS_OF<DIM>, CAUSAL>(                                         \
            means, logarithms, o, lse, static_cast<int>(seq), static_cast<int>(heads), division          \
        );                                                                                               \
    }
