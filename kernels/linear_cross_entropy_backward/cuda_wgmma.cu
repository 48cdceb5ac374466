// Gradients of a linear layer's cross-entropy on Hopper's tensor cores by TMA and wgmma (sm_90a only), a part of the
// vocabulary after the other.
//
// Formula: d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])); dx = d w, dw = d^T x; 6 rows vocab hidden FLOP.
// Mapping: of some columns of the vocabulary at a time one kernel makes d, whose logits it computes again, and leaves it
//   in 16 bits. Two more products follow: what these columns add to dx, and their rows of dw. All three have the tiles
//   and the ring of shared/wgmma_tiles.cuh; wgmma transposes w and x, and d for dw, as they lie in shared memory. What
//   the columns so far add to dx is kept in float32 in the order of the threads that have it.
// Idea: the three products of triton_chunks, with d read across for dw as TMA brought it; see shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define B_OF_16_BITS_ALONG_K
#include "shared/wgmma_tiles.cuh"

constexpr long long IGNORED = -100;  // torch's ignore_index

constexpr int CONSUMERS = 2, BLOCK_M = 128, BLOCK_N = 256, STAGES = 4, CLUSTER = 2;  // as in cuda_wgmma.py
constexpr int BAND_BYTES = BAND * ROW;                                               // of 64 columns of a step

using Tiles = TilesOfMatrix<BLOCK_M, BLOCK_N, CLUSTER>;
using Steps = Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER>;

__device__ __forceinline__ float2 as_they_are(float2 sums, int) { return sums; }

// ---- d ----------------------------------------------------------------------------------------------

// `w` begins with column `first` of the vocabulary.
extern "C" __global__ void
__cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) make_weights(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w, const __grid_constant__ CUtensorMap d,
    const long long* __restrict__ labels, const float* __restrict__ lse, const SCALAR* __restrict__ dloss,
    long long rows, long long columns, long long hidden, long long first
) {
    const Tiles tiles(rows, columns, rank_among<CLUSTER>());
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    const auto compute = [&](Steps& ring, const Tiles::Position& at, unsigned& stored, int warpgroup) {
        const int lane = threadIdx.x % WARP;
        const int top = at.row + warpgroup * 64 + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = top + half * 8;
            const long long label = row < rows ? labels[row] : IGNORED;
            const float scale = label == IGNORED ? 0.0f : to_float(dloss[row]);
            const float shift = row < rows ? lse[row] * LOG2_E : 0.0f;
            const long long here = label - first - at.in_b - lane % 4 * 2;
            const int wanted = here >= 0 && here < BLOCK_N ? static_cast<int>(here) : -1;
#pragma unroll
            for (int i = half * 2; i < BLOCK_N / 2; i += 4) {
#pragma unroll
                for (int side = 0; side < 2; ++side) {
                    const float power = fast_exp2(logits[i + side] * LOG2_E - shift);
                    const float weight = wanted == i / 4 * 8 + side ? power - 1.0f : power;
                    logits[i + side] = label == IGNORED ? 0.0f : weight * scale;
                }
            }
        }
        store_tile(logits, d, ring.boxes_of(warpgroup), stored, at.row + warpgroup * 64, at.in_b, as_they_are);
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(x, w, steps, tiles, compute);
}

// ---- Products with d ----------------------------------------------------------------------------------

// sum (64 x 256) += a b: rows of b lie across what is summed, and where A_ACROSS those of a too.
template <bool A_ACROSS>
__device__ __forceinline__ void multiply_across(float (&sum)[128], unsigned long long a, unsigned long long b) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256" PRODUCTS " {" NAMES_128 "}, %128, %129, add, 1, 1, %130, 1;\n}"
                 : SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)
                 : "l"(a), "l"(b), "n"(static_cast<int>(A_ACROSS)));
}

// The sums of a warpgroup's part of a tile, 16 bytes of each thread side by side.
template <bool STORES>
__device__ __forceinline__ void exchange(float (&sum)[128], float* sums, long long tile, int warpgroup) {
    float4* const at =
        reinterpret_cast<float4*>(sums) + (tile * CONSUMERS + warpgroup) * 32 * WARPGROUP + threadIdx.x % WARPGROUP;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        if constexpr (STORES) {
            at[i * WARPGROUP] = make_float4(sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]);
        } else {
            const float4 four = at[i * WARPGROUP];
            sum[4 * i] += four.x, sum[4 * i + 1] += four.y, sum[4 * i + 2] += four.z, sum[4 * i + 3] += four.w;
        }
    }
}

// C (m x n) = A B of k steps' elements, with `sums` added where `adds`, and left there instead where `keeps`.
template <bool A_ACROSS>
__device__ __forceinline__ void multiply_d(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, float* sums, long long m, long long n,
    long long k, bool adds, bool keeps
) {
    extern __shared__ __align__(1024) unsigned char stages[];
    Steps ring(stages, rank_among<CLUSTER>());
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    if (warpgroup == CONSUMERS) {
        give_registers<40>();
        if (threadIdx.x % WARPGROUP == 0) {
            const Tiles tiles(m, n, ring.rank);
            const int steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
            for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles.count(); tile += gridDim.x / CLUSTER) {
                const auto at = tiles.at(tile);
                for (int step = 0; step < steps; ++step, ring.advance()) {
                    Barrier* const full = ring.full + ring.stage;
                    unsigned char* const to = stages + ring.stage * Steps::STAGE;
                    wait_for(ring.empty + ring.stage, ring.phase ^ 1);
                    arrive_and_expect(full, Steps::STAGE);
                    if constexpr (A_ACROSS) {
#pragma unroll
                        for (int i = 0; i < CONSUMERS; ++i)
                            copy_box(to + i * BAND_BYTES, a, at.row + i * 64, step * STEP_K, full);
                    } else {
                        copy_box(to, a, step * STEP_K, at.row, full);
                    }
#pragma unroll
                    for (int i = 0; i < BLOCK_N / BAND / CLUSTER; ++i) {
                        const int band = ring.rank * (BLOCK_N / BAND / CLUSTER) + i;
                        unsigned char* const to_b = to + Steps::BYTES_A + band * BAND_BYTES;
                        copy_box_to((1 << CLUSTER) - 1, to_b, b, at.in_b + band * BAND, step * STEP_K, full);
                    }
                }
            }
        }
    } else {
        take_registers<232>();
        const Tiles tiles(m, n, ring.rank);
        const int steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
        unsigned stored = 0;
        for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles.count(); tile += gridDim.x / CLUSTER) {
            const auto at = tiles.at(tile);
            const long long place = 1ll * (at.row / BLOCK_M) * tiles.columns + at.in_b / BLOCK_N;
            float sum[BLOCK_N / 2] = {};
            int before = 0;
            for (int step = 0; step < steps; ++step, ring.advance()) {
                wait_for(ring.full + ring.stage, ring.phase);
                const unsigned char* const from = stages + ring.stage * Steps::STAGE;
                const unsigned long long tile_a =
                    swizzled_tile(from + warpgroup * (A_ACROSS ? BAND_BYTES : 64 * ROW), ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + Steps::BYTES_A, ATOM, BAND_BYTES);
                begin_products();
#pragma unroll
                for (int part = 0; part < 4; ++part) {
                    constexpr int ACROSS = 16 * ROW / 16;
                    multiply_across<A_ACROSS>(sum, tile_a + part * (A_ACROSS ? ACROSS : 2), tile_b + part * ACROSS);
                }
                commit_products();
                wait_for_products<1>();
                if (step > 0) ring.release(before);
                before = ring.stage;
            }
            wait_for_products<0>();
            settle(sum);
            if (steps > 0) ring.release(before);
            if (adds) exchange<false>(sum, sums, place, warpgroup);
            if (keeps) exchange<true>(sum, sums, place, warpgroup);
            else store_tile(sum, c, ring.boxes_of(warpgroup), stored, at.row + warpgroup * 64, at.in_b, as_they_are);
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    meet_cluster();
}

#define MULTIPLY_D(NAME, A_ACROSS)                                                                                    \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)      \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                            \
             const __grid_constant__ CUtensorMap c, float* __restrict__ sums, long long m, long long n, long long k, \
             long long adds, long long keeps) {                                                                       \
        multiply_d<A_ACROSS>(a, b, c, sums, m, n, k, adds, keeps);                                                    \
    }
MULTIPLY_D(add_to_dx, false)
MULTIPLY_D(make_dw, true)

#endif
