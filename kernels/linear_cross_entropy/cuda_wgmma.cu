// A linear layer's cross-entropy on Hopper's tensor cores by TMA and wgmma (sm_90a only): no logit leaves the registers.
//
// Formula: loss[r] = log(sum_c exp(x[r] . w[c])) - x[r] . w[label[r]]; 2 rows vocab hidden FLOP.
// Mapping: that of shared/wgmma_matmul.cuh in the parts of shared/wgmma_tiles.cuh. Where a product would store its
//   tile, a thread has 64 logits of each of two rows (of 256 columns): their maximum and the sum of their powers meet
//   those of three other lanes and go to memory, 8 bytes for 512. The lane that has the label's logit stores it too. A
//   second kernel joins the tiles of a row.
// Idea: the tiles and the second kernel of triton_persistent_tma, with what follows a product done in the registers
//   that hold its sums. Wijmans et al., "Cut Your Losses in Large-Vocabulary Language Models", arXiv:2411.09009; see
//   shared/wgmma_matmul.cuh.
#include "linear_cross_entropy/join.cuh"

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define B_OF_16_BITS_ALONG_K
#include "shared/overlap.cuh"
#include "shared/wgmma_tiles.cuh"

// The statistics of COUNT / 2 logits of one of a thread's two rows, with those of the other three lanes that have it.
template <int COUNT>
__device__ __forceinline__ Statistics statistics_of(const float (&logits)[COUNT], int half) {
    float highest = NEGATIVE_INFINITY;
#pragma unroll
    for (int i = half * 2; i < COUNT; i += 4) highest = fmaxf(highest, fmaxf(logits[i], logits[i + 1]));
    highest = fmaxf(highest, __shfl_xor_sync(WHOLE_WARP, highest, 1));
    highest = fmaxf(highest, __shfl_xor_sync(WHOLE_WARP, highest, 2));
    const float shift = highest == NEGATIVE_INFINITY ? 0.0f : highest * LOG2_E;
    float total[2] = {};
#pragma unroll
    for (int i = half * 2; i < COUNT; i += 4) {
        total[0] += fast_exp2(logits[i] * LOG2_E - shift);
        total[1] += fast_exp2(logits[i + 1] * LOG2_E - shift);
    }
    float sum = total[0] + total[1];
    sum += __shfl_xor_sync(WHOLE_WARP, sum, 1);
    sum += __shfl_xor_sync(WHOLE_WARP, sum, 2);
    return {highest * LOG2_E, sum};
}

template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER>
__device__ __forceinline__ void statistics_of_tiles(
    const CUtensorMap& x, const CUtensorMap& w, const long long* labels, Statistics* pieces, float* at_label,
    long long rows, long long vocab, long long hidden
) {
    using Tiles = TilesOfMatrix<CONSUMERS * 64, BLOCK_N, CLUSTER>;
    const Tiles tiles(rows, vocab, rank_among<CLUSTER>());
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    let_next_start();  // all blocks run at once, so that those of the next kernel keep none away
    const auto compute = [&](Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER>& ring, const typename Tiles::Position& at,
                             unsigned&, int warpgroup) {
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);

        const int lane = threadIdx.x % WARP, left = static_cast<int>(min(vocab - at.in_b, 1ll * BLOCK_N));
        const auto column_of = [&](int i) { return i / 4 * 8 + lane % 4 * 2 + i % 2; };
        if (left < BLOCK_N) {
#pragma unroll
            for (int i = 0; i < BLOCK_N / 2; ++i) {
                if (column_of(i) >= left) logits[i] = NEGATIVE_INFINITY;
            }
        }
        const int first = at.row + warpgroup * 64 + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first + half * 8;
            const long long wanted = row < rows ? labels[row] - at.in_b : -1;
            if (wanted >= 0 && wanted < left) {
#pragma unroll
                for (int i = half * 2; i < BLOCK_N / 2; i += 4) {
                    if (column_of(i) == wanted) at_label[row] = logits[i] * LOG2_E;
                    if (column_of(i + 1) == wanted) at_label[row] = logits[i + 1] * LOG2_E;
                }
            }
            const Statistics mine = statistics_of(logits, half);
            if (row < rows && lane % 4 == 0) pieces[1ll * row * tiles.columns + at.in_b / BLOCK_N] = mine;
        }
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(x, w, steps, tiles, compute);
}

#define STATISTICS(NAME, CONSUMERS, BLOCK_N, STAGES, CLUSTER)                                                     \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,                        \
             const long long* __restrict__ labels, Statistics* __restrict__ pieces, float* __restrict__ at_label, \
             long long rows, long long vocab, long long hidden) {                                                 \
        statistics_of_tiles<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(                                                 \
            x, w, labels, pieces, at_label, rows, vocab, hidden                                                   \
        );                                                                                                        \
    }
STATISTICS(tile_128x256_pair, 2, 256, 4, 2)
STATISTICS(tile_128x256, 2, 256, 4, 1)
STATISTICS(tile_128x128, 2, 128, 6, 1)
STATISTICS(tile_64x128, 1, 128, 8, 1)
STATISTICS(tile_64x64, 1, 64, 8, 1)

WHOLE_ROWS_KERNEL

// A warp a row.
extern "C" __global__ void join(
    const Statistics* __restrict__ pieces, const float* __restrict__ at_label, const long long* __restrict__ labels,
    SCALAR* __restrict__ loss, long long rows, long long count, long long vocab
) {
    const long long row = thread_of_grid() / WARP;
    if (row >= rows) return;
    wait_for_previous();
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (long long piece = threadIdx.x % WARP; piece < count; piece += WARP) {
        mine = joined(mine, pieces[row * count + piece]);
    }
    const float highest = warp_max(mine.highest);
    mine = {highest, warp_sum(mine.total * rescale(mine.highest, highest))};
    if (threadIdx.x % WARP == 0) from_float(loss_of(mine, at_label[row], labels[row], vocab), loss[row]);
}

#endif
