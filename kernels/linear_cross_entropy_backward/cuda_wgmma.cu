// Gradients of a linear layer's cross-entropy on Hopper's tensor cores by TMA and wgmma (sm_90a only), a part of the
// vocabulary after the other.
//
// Formula: d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])); dx = d w, dw = d^T x; 6 rows vocab hidden FLOP.
// Mapping: of some columns of the vocabulary at a time one kernel makes d, whose logits it computes again, and leaves it
//   in 16 bits. Two more products follow: what these columns add to dx, and their rows of dw. All three have the tiles
//   and the ring of shared/wgmma_tiles.cuh, the last two as in linear_cross_entropy_backward/products.cuh. What the
//   columns so far add to dx is kept in float32 in the order of the threads that have it. Few rows have the whole vocabulary
//   at once, by kernels of their own: few_rows.cuh, and where rows of w begin anywhere loose_few.cuh or residues.cuh.
// Idea: the three products of triton_chunks, with d read across for dw as TMA brought it; see shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define B_OF_16_BITS_ALONG_K
#include "linear_cross_entropy_backward/few_rows.cuh"
#include "linear_cross_entropy_backward/loose_few.cuh"
#include "linear_cross_entropy_backward/residues.cuh"

struct Gradient {
    const long long* labels;
    const float* lse;
    const SCALAR* dloss;
    long long rows, columns, first;  // the first column of the vocabulary

    // Makes d of a thread's logits, whose warpgroup's rows begin at `top`. `left` columns of the vocabulary are left, and
    // `place(label)` tells how far behind the first of them a label is.
    template <int COUNT, class Place>
    __device__ __forceinline__ void make_weights_of(
        float (&logits)[COUNT], int top, long long left, const Place& place
    ) const {
        const int lane = threadIdx.x % WARP;
        // Columns that only fill up rows of d meet zeros in the place of w, and infinity times zero is no number.
        hide_beyond(logits, static_cast<int>(min(left, COUNT * 2ll)));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = top + own_row() + half * 8;
            const long long label = row < rows ? labels[row] : IGNORED;
            const float scale = label == IGNORED ? 0.0f : to_float(dloss[row]);
            const float shift = row < rows ? lse[row] * LOG2_E : 0.0f;
            const long long here = place(label) - lane % 4 * 2;
            const int wanted = here >= 0 && here < COUNT * 2 ? static_cast<int>(here) : -1;
#pragma unroll
            for (int i = half * 2; i < COUNT; i += 4) {
#pragma unroll
                for (int side = 0; side < 2; ++side) {
                    const float power = fast_exp2(logits[i + side] * LOG2_E - shift);
                    const float weight = wanted == i / 4 * 8 + side ? power - 1.0f : power;
                    logits[i + side] = label == IGNORED ? 0.0f : weight * scale;
                }
            }
        }
    }
    // The same of neighbouring columns from `column0` on.
    template <int COUNT>
    __device__ __forceinline__ void make_weights_of(float (&logits)[COUNT], int top, int column0) const {
        make_weights_of(logits, top, columns - column0, [&](long long label) { return label - first - column0; });
    }
};

// `w` begins with column `first` of the vocabulary.
extern "C" __global__ void
__cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) make_weights(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w, const __grid_constant__ CUtensorMap d,
    const long long* __restrict__ labels, const float* __restrict__ lse, const SCALAR* __restrict__ dloss,
    long long rows, long long columns, long long hidden, long long first
) {
    const Tiles tiles(rows, columns, rank_among<CLUSTER>());
    const Gradient gradient{labels, lse, dloss, rows, columns, first};
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    const auto compute = [&](Steps& ring, const Tiles::Position& at, unsigned& stored, int warpgroup) {
        const int top = at.row + warpgroup * 64;
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);
        gradient.make_weights_of(logits, top, at.in_b);
        store_tile(logits, d, ring.boxes_of(warpgroup), stored, top, at.in_b, as_they_are);
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(x, w, steps, tiles, compute);
}

extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) weights_of_few(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w, const __grid_constant__ CUtensorMap d,
    const long long* __restrict__ labels, const float* __restrict__ lse, const SCALAR* __restrict__ dloss,
    long long rows, long long vocab, long long hidden
) {
    const Gradient gradient{labels, lse, dloss, rows, vocab, 0};
    let_next_start();  // all blocks run at once
    for_logits_of_few(x, w, d, rows, vocab, hidden, [&](float (&logits)[BLOCK_N / 2], int top, int column0) {
        gradient.make_weights_of(logits, top, column0);
    });
}

extern "C" __global__ void __cluster_dims__(SMALL_PARTS, 1, 1) __launch_bounds__(2 * WARPGROUP, 1) weights_of_parts(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w, SCALAR* __restrict__ d,
    const long long* __restrict__ labels, const float* __restrict__ lse, const SCALAR* __restrict__ dloss,
    long long rows, long long vocab, long long hidden, long long width
) {
    const Gradient gradient{labels, lse, dloss, rows, vocab, 0};
    for_parts_of_logits(x, w, d, rows, vocab, hidden, width, [&](float (&logits)[SMALL_SUMS], int top, int column0) {
        gradient.make_weights_of(logits, top, column0);
    });
}

#define WEIGHTS_OF_RESIDUES(NAME, CONSUMERS, COLUMNS, STAGES)                                                     \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) NAME(                            \
        const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap with_last,                     \
        const __grid_constant__ CUtensorMap without, const __grid_constant__ CUtensorMap d,                       \
        const long long* __restrict__ labels, const float* __restrict__ lse, const SCALAR* __restrict__ dloss,    \
        long long rows, long long vocab, long long hidden, long long shift, long long stride                      \
    ) {                                                                                                           \
        const Gradient gradient{labels, lse, dloss, rows, vocab, 0};                                              \
        const auto make = [&](float (&logits)[COLUMNS / 2], int top, const Columns& columns, int) {                \
            gradient.make_weights_of(logits, top, left_of(columns, vocab), [&](long long label) {                 \
                return place_of(label, columns);                                                                  \
            });                                                                                                   \
        };                                                                                                        \
        const LongRows longer{with_last, without, static_cast<int>(shift)};                                       \
        const Rest rest{labels, nullptr, nullptr, rows, vocab, hidden};                                           \
        for_logits_of_residues<CONSUMERS, COLUMNS, STAGES>(x, longer, d, rest, stride, make);                     \
    }
WEIGHTS_OF_RESIDUES(weights_of_residues_64x128, 1, 128, 8)
WEIGHTS_OF_RESIDUES(weights_of_residues_128x128, 2, 128, 6)

#endif
