// A linear layer's cross-entropy and its gradients on Hopper's tensor cores by TMA and wgmma (sm_90a only), with each
// logit made once.
//
// Formula: loss[r] = lse[r] - x[r] . w[label[r]], lse[r] = log(sum_c exp(x[r] . w[c]));
//   d[r, c] = dloss[r] (exp(x[r] . w[c] - lse[r]) - (c = label[r])); dx = d w, dw = d^T x; 6 rows vocab hidden FLOP.
// Mapping: for as many rows at a time as have room. A product with the first 1024 columns of the vocabulary gives each row
//   the maximum of a sample. The product with all of them has the tiles of shared/wgmma_tiles.cuh. A thread has 64
//   logits of each of two rows of a tile: their powers leave in 16 bits, relative to a base somewhat above the sample's
//   maximum, and their sum. Where a tile's own maximum is too far above, in the rows of an outlier, or where 16 bits have
//   few for the exponent, it is the base. A warp a row joins the sums, and tells whether the row's powers have one base. Such powers
//   are d but for a factor of the row, and for the label, which is stored again: rows of x take the factor for dw, and
//   rows of dx in the end. Of other rows another kernel makes d where the powers lie, a warp a row of a tile. The products
//   are those of linear_cross_entropy_backward/products.cuh; what dw has of the rows so far is kept in float32. Without a
//   sample one kernel joins the sums and makes d. Where pairs of blocks would have few tiles, logits and products have tiles
//   of 64 x 64, which the blocks of a cluster may share along hidden. Few rows have kernels of their own: few_powers.cuh,
//   which has more of them in linear_cross_entropy_backward/few_rows.cuh.
//   Where rows of w begin anywhere those are linear_cross_entropy_backward/residues.cuh and, of fewer rows,
//   linear_cross_entropy_backward/loose_few.cuh.
// Idea: linear_cross_entropy/cuda_wgmma and linear_cross_entropy_backward/cuda_wgmma make the logits once each, a
//   quarter of all products. Here the powers of the first pass stay, at 2 bytes each: Hsu et al., "Liger Kernel",
//   arXiv:2410.10989, which keeps logits. A power in 16 bits is closer than the power of a logit in 16 bits, and a base
//   that is known before spares a pass over all of them.
#include "linear_cross_entropy/join.cuh"

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define B_OF_16_BITS_ALONG_K
#include "linear_cross_entropy_backward/loose_few.cuh"
#include "linear_cross_entropy_training/few_powers.cuh"

// ---- The powers of logits -----------------------------------------------------------------------

constexpr int SAMPLED_TILES = 4;  // of a row, as in cuda_wgmma.py

// The maxima of rows in some first columns, for which `w` ends there.
extern "C" __global__ void
__cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) maxima_of_sample(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w, float* __restrict__ maxima,
    long long rows, long long columns, long long hidden
) {
    const Tiles tiles(rows, columns, rank_among<CLUSTER>());
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    const auto compute = [&](Steps& ring, const Tiles::Position& at, unsigned&, int warpgroup) {
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);
        hide_beyond(logits, static_cast<int>(min(columns - at.in_b, 1ll * BLOCK_N)));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = at.row + warpgroup * 64 + own_row() + half * 8;
            const float highest = LOG2_E * highest_of(logits, half);
            if (row < rows && threadIdx.x % 4 == 0) maxima[row * SAMPLED_TILES + at.in_b / BLOCK_N] = highest;
        }
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(x, w, steps, tiles, compute);
}

// The base that a row's sample gives; -inf where there is none.
__device__ __forceinline__ float base_of(const float* maxima, long long row) {
    if (!maxima) return NEGATIVE_INFINITY;
    const float4 four = reinterpret_cast<const float4*>(maxima)[row];
    return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w)) + BASE_ABOVE_SAMPLE;
}

template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER>
__device__ __forceinline__ void make_powers_of_tiles(
    const CUtensorMap& x, const CUtensorMap& w, const CUtensorMap& powers, const long long* labels, const float* maxima,
    Statistics* pieces, float* at_label, long long rows, long long vocab, long long hidden
) {
    using Tiles = TilesOfMatrix<CONSUMERS * 64, BLOCK_N, CLUSTER>;
    const Tiles tiles(rows, vocab, rank_among<CLUSTER>());
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    const auto compute = [&](Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER>& ring, const typename Tiles::Position& at,
                             unsigned& stored, int warpgroup) {
        const int left = static_cast<int>(min(vocab - at.in_b, 1ll * BLOCK_N)), top = at.row + warpgroup * 64;
        // Of the thread's two rows, while the first products run.
        int wanted[2];
        float bases[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = top + own_row() + half * 8;
            const long long label = row < rows ? labels[row] - at.in_b : -1;
            wanted[half] = label >= 0 && label < left ? static_cast<int>(label) : -1;
            bases[half] = row < rows ? base_of(maxima, row) : NEGATIVE_INFINITY;
        }
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);

        hide_beyond(logits, left);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = top + own_row() + half * 8;
            if (wanted[half] >= 0) {
#pragma unroll
                for (int i = half * 2; i < BLOCK_N / 2; i += 4) {
                    if (column_of(i) == wanted[half]) at_label[row] = logits[i] * LOG2_E;
                    if (column_of(i + 1) == wanted[half]) at_label[row] = logits[i + 1] * LOG2_E;
                }
            }
            const Statistics mine = make_powers(logits, half, bases[half]);
            if (row < rows && threadIdx.x % 4 == 0) pieces[1ll * row * tiles.columns + at.in_b / BLOCK_N] = mine;
        }
        store_tile(logits, powers, ring.boxes_of(warpgroup), stored, top, at.in_b, as_they_are);
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(x, w, steps, tiles, compute);
}

#define POWERS_OF_TILES(NAME, CONSUMERS, BLOCK_N, STAGES, CLUSTER)                                                \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,                        \
             const __grid_constant__ CUtensorMap powers, const long long* __restrict__ labels,                    \
             const float* __restrict__ maxima, Statistics* __restrict__ pieces, float* __restrict__ at_label,     \
             long long rows, long long vocab, long long hidden) {                                                 \
        make_powers_of_tiles<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(                                                \
            x, w, powers, labels, maxima, pieces, at_label, rows, vocab, hidden                                   \
        );                                                                                                        \
    }
POWERS_OF_TILES(powers_of_tiles, CONSUMERS, BLOCK_N, STAGES, CLUSTER)
POWERS_OF_TILES(powers_of_small_tiles, 1, LEAST_TILE, LEAST_STAGES, 1)

// ---- The gradient of the logits ------------------------------------------------------------------

// A warp a row. The powers of a row whose tiles all have the base that the sample gives are d but for a factor and for
// the label: its factor goes to `scales`, and its label gets what times the factor is d. Others have the factor 1.
extern "C" __global__ void join(
    const Statistics* __restrict__ pieces, const float* __restrict__ at_label, const long long* __restrict__ labels,
    const SCALAR* __restrict__ dloss, const float* __restrict__ maxima, SCALAR* __restrict__ loss,
    RowResult* __restrict__ results, float* __restrict__ scales, SCALAR* __restrict__ powers, long long rows,
    long long count, long long vocab, long long width
) {
    const long long row = thread_of_grid() / WARP;
    if (row >= rows) return;
    wait_for_previous();
    const float base = base_of(maxima, row);
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    bool is_even = true;
    for (long long piece = threadIdx.x % WARP; piece < count; piece += WARP) {
        const Statistics one = pieces[row * count + piece];
        is_even &= one.highest == base;
        mine = joined(mine, one);
    }
    is_even = __all_sync(WHOLE_WARP, is_even);
    mine = over_warp(mine);
    if (threadIdx.x % WARP) return;
    const long long label = labels[row];
    const float lse = mine.highest + log2f(mine.total), power = fast_exp2(at_label[row] - lse);
    const float factor = label == IGNORED ? 0.0f : to_float(dloss[row]);
    from_float(loss_of(mine, at_label[row], label, vocab), loss[row]);
    results[row] = {lse, (power - 1.0f) * factor};
    scales[row] = is_even ? factor / mine.total : 1.0f;
    if (is_even && label >= 0 && label < vocab) from_float((power - 1.0f) * mine.total, powers[row * width + label]);
}

// x with its rows times their factors, a block a row.
extern "C" __global__ void scale_rows(
    const SCALAR* __restrict__ x, const float* __restrict__ scales, SCALAR* __restrict__ scaled, long long width
) {
    wait_for_previous();
    const float scale = scales[blockIdx.x];
    for (long long at = threadIdx.x * PACK; at < width; at += blockDim.x * PACK) {
        float values[PACK];
        unpack(load_pack(x + blockIdx.x * width + at), values);
#pragma unroll
        for (int i = 0; i < PACK; ++i) values[i] *= scale;
        store_pack(scaled + blockIdx.x * width + at, to_pack(values));
    }
}

// Makes d of the powers of rows that are not d but for a factor, a block a row; rows are `width` long.
extern "C" __global__ void __launch_bounds__(WARPS_OF_ROWS* WARP) make_weights(
    SCALAR* __restrict__ powers, const Statistics* __restrict__ pieces, const RowResult* __restrict__ results,
    const float* __restrict__ scales, const long long* __restrict__ labels, const SCALAR* __restrict__ dloss,
    long long width, long long count
) {
    wait_for_previous();
    const long long row = blockIdx.x;
    if (scales[row] != 1.0f) return;
    PartOfRow<WARPS_OF_ROWS>{width, 1, log2_of(BLOCK_N)}.make_weights(
        powers + row * width, pieces + row * count, results[row], to_float(dloss[row]), labels[row]
    );
}

#endif
