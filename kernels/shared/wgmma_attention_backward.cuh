// Gradients of attention on Hopper's tensor cores by TMA and wgmma (sm_90a only), float16 or bfloat16, sums in float32.
//
// Formula: with p = 2^(k q^T log2(e) / sqrt(dim) - lse log2(e)) and ds = p (v do^T - rows of do o), keys going down:
//   dv = p do, dk = ds q / sqrt(dim), dq = ds^T k / sqrt(dim). Five products, 10 seq seq dim FLOP a head, half of it
//   where causal.
// Mapping: a tile is 128 keys of a head, 64 for each of two warpgroups, whose dk and dv stay in registers while the
//   queries go by, 64 a step at dim 128 and 128 at dim 64. p and ds come out of their products as the first operands of
//   the next ones. Powers are taken while v do^T is made, and ds while dv is. dq's product needs the ds of all 128 keys: it
//   goes through shared memory, and the warpgroups take turns: one makes a step's whole dq, by products of 128 columns,
//   which read less a column than those of 64, and the other one that of the next step. So only one waits for the other's
//   ds, and the other is at its next powers meanwhile.
//   Tiles of a head share its dq. Each step is added to float32 sums in memory, by the copy engine, from where a last
//   kernel makes dq. So dq may differ in its last bits from call to call; triton_flash and cuda_mma, which make p and
//   ds twice, give the same every time.
//   A block a multiprocessor takes tile by tile; shared/attention_backward_copies.cuh and _spare.cuh have what its third
//   warpgroup does, _divided.cuh the tiles of a last round that would leave most blocks idle. Long heads of dim 128 are
//   taken by pairs of blocks, which read each step from L2 once: at the limit of power, what is moved costs time.
//   Descriptors of tiles are the same for a whole warp, and the compiler must see it: taken from registers they cost
//   time. One body for all steps of a tile is faster at dim 64 than the last step after the loop. Not faster, while both
//   warpgroups met in each step and each made a half of dq: 80 queries a step at dim 128 where not causal, as
//   FlashAttention-3 has them; dk before the part of dq, that part a step later, the next k q^T before it is handed over,
//   and parts of dq added by the threads that have them. Nor dk a step later, its ds from shared memory, while powers are
//   taken, and a pair's parts of dq added to each other before they go to memory. Nor warpgroups that never meet, each with
//   dq of its own keys, which the second one adds to the first one's before it goes to memory.
// Idea: Shah et al., "FlashAttention-3", arXiv:2407.08608, and its code for gradients.
#pragma once

#include "shared/attention_backward_copies.cuh"
#include "shared/attention_backward_products.cuh"

// Whether each kernel lets the next one start before it ends. At dim 64 that took longer.
template <int DIM>
constexpr bool STARTS_EARLY = DIM == 128;

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
        SCALAR* __restrict__ dk, SCALAR* __restrict__ dv, long long seq, long long first_head, long long halves,      \
        long long whole) {                                                                                            \
        if (blockIdx.x < halves) {                                                                                     \
            finish<DIM>(sums, dq, static_cast<int>(seq), static_cast<int>(first_head));                               \
        } else {                                                                                                      \
            finish_divided<DIM>(divided_sums, dk, dv, static_cast<int>(blockIdx.x - halves), static_cast<int>(whole), \
                                static_cast<int>(seq));                                                               \
        }                                                                                                             \
    }                                                                                                                 \
    BACKWARD_PRODUCTS(propagate_##DIM, DIM, CAUSAL, false)
