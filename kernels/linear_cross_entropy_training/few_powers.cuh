// The powers of logits of few rows, or by clusters that share small tiles; and the gradient without a sample.
#pragma once

#include "linear_cross_entropy_backward/residues.cuh"
#include "linear_cross_entropy_training/weights.cuh"

// The statistics and the powers of a thread's logits, which become piece number `piece` of `count` of a row.
struct FewRows {
    const long long* labels;
    Statistics* pieces;
    float* at_label;
    long long rows, vocab;

    // `all_left` columns of the vocabulary are left, and `place(label)` tells how far behind the first of them a label is.
    template <int COUNT, class Place>
    __device__ __forceinline__ void make_powers_of(
        float (&logits)[COUNT], int top, long long all_left, const Place& place, long long piece, long long count
    ) const {
        const int left = static_cast<int>(min(all_left, COUNT * 2ll));
        hide_beyond(logits, left);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = top + own_row() + half * 8;
            const long long wanted = row < rows ? place(labels[row]) : -1;
            if (wanted >= 0 && wanted < left) {
#pragma unroll
                for (int i = half * 2; i < COUNT; i += 4) {
                    if (column_of(i) == wanted) at_label[row] = logits[i] * LOG2_E;
                    if (column_of(i + 1) == wanted) at_label[row] = logits[i + 1] * LOG2_E;
                }
            }
            const Statistics mine = make_powers(logits, half, NEGATIVE_INFINITY);
            if (row < rows && threadIdx.x % 4 == 0) pieces[row * count + piece] = mine;
        }
    }
    // The same of neighbouring columns from `column0` on.
    template <int COUNT>
    __device__ __forceinline__ void make_powers_at(
        float (&logits)[COUNT], int top, int column0, long long piece, long long count
    ) const {
        const auto place = [&](long long label) { return label - column0; };
        make_powers_of(logits, top, vocab - column0, place, piece, count);
    }
};

extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) powers_of_few(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,
    const __grid_constant__ CUtensorMap powers, const long long* __restrict__ labels, Statistics* __restrict__ pieces,
    float* __restrict__ at_label, long long rows, long long vocab, long long hidden
) {
    const FewRows few{labels, pieces, at_label, rows, vocab};
    const long long count = (vocab + BLOCK_N - 1) / BLOCK_N;
    for_logits_of_few(x, w, powers, rows, vocab, hidden, [&](float (&logits)[BLOCK_N / 2], int top, int column0) {
        few.make_powers_at(logits, top, column0, column0 / BLOCK_N, count);
    });
}

// What a block of a cluster has of a tile is a piece by itself.
extern "C" __global__ void __cluster_dims__(SMALL_PARTS, 1, 1) __launch_bounds__(2 * WARPGROUP, 1) powers_of_parts(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w, SCALAR* __restrict__ powers,
    const long long* __restrict__ labels, Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows,
    long long vocab, long long hidden, long long width
) {
    const FewRows few{labels, pieces, at_label, rows, vocab};
    for_parts_of_logits(
        x, w, powers, rows, vocab, hidden, width, [&](float (&logits)[SMALL_SUMS], int top, int column0) {
            few.make_powers_at(logits, top, column0, column0 / 8, width / 8);
        }
    );
}

#define POWERS_OF_RESIDUES(NAME, CONSUMERS, COLUMNS, STAGES)                                                      \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) NAME(                            \
        const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap with_last,                     \
        const __grid_constant__ CUtensorMap without, const __grid_constant__ CUtensorMap powers,                  \
        const long long* __restrict__ labels, Statistics* __restrict__ pieces, float* __restrict__ at_label,      \
        long long rows, long long vocab, long long hidden, long long shift, long long stride                      \
    ) {                                                                                                           \
        const FewRows few{labels, pieces, at_label, rows, vocab};                                                 \
        const auto make = [&](float (&logits)[COLUMNS / 2], int top, const Columns& columns, int column0) {        \
            few.make_powers_of(                                                                                   \
                logits, top, left_of(columns, vocab), [&](long long label) { return place_of(label, columns); },  \
                column0 / COLUMNS, (stride << shift) / COLUMNS                                                    \
            );                                                                                                    \
        };                                                                                                        \
        const LongRows longer{with_last, without, static_cast<int>(shift)};                                       \
        const Rest rest{labels, pieces, at_label, rows, vocab, hidden};                                           \
        for_logits_of_residues<CONSUMERS, COLUMNS, STAGES>(x, longer, powers, rest, stride, make);                \
    }
POWERS_OF_RESIDUES(powers_of_residues_64x128, 1, 128, 8)
POWERS_OF_RESIDUES(powers_of_residues_128x128, 2, 128, 6)

// What join and make_weights do where there is a sample, for a row by so many warps: each block of a row joins its sums.
template <int WARPS>
__device__ __forceinline__ void join_and_make_d(
    SCALAR* powers, const Statistics* pieces, const float* at_label, const long long* labels, const SCALAR* dloss,
    SCALAR* loss, long long rows, long long vocab, long long width, long long count, long long blocks_of_row,
    long long log2_piece, const OrderOfColumns& order
) {
    const long long row = WARPS == 1 ? thread_of_grid() / WARP : blockIdx.x / blocks_of_row;
    if (row >= rows) return;
    const int thread = threadIdx.x % (WARPS * WARP);
    pieces += row * count;
    wait_for_previous();
    let_next_start();
    // Under way beside the pieces: the compiler moves no load up across a barrier.
    const long long label = labels[row];
    const float logit = at_label[row], scale = to_float(dloss[row]);
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (long long piece = thread; piece < count; piece += WARPS * WARP) mine = joined(mine, pieces[piece]);
    mine = over_warp(mine);
    if constexpr (WARPS > 1) {
        __shared__ Statistics of_warps[WARPS];
        if (thread % WARP == 0) of_warps[thread / WARP] = mine;
        __syncthreads();
        mine = of_warps[0];
#pragma unroll
        for (int i = 1; i < WARPS; ++i) mine = joined(mine, of_warps[i]);
    }

    const float lse = mine.highest + log2f(mine.total);
    if (blockIdx.x % blocks_of_row == 0 && thread == 0) from_float(loss_of(mine, logit, label, vocab), loss[row]);
    const RowResult result = {lse, (fast_exp2(logit - lse) - 1.0f) * scale};
    const long long place = label >= 0 && label < vocab ? order.place_of(label) : label == IGNORED ? IGNORED : -1;
    PartOfRow<WARPS>{width, blocks_of_row, log2_piece}.make_weights(powers + row * width, pieces, result, scale, place);
}

#define JOIN_AND_MAKE(NAME, WARPS)                                                                                \
    extern "C" __global__ void __launch_bounds__(WARPS_OF_ROWS* WARP) NAME(                                       \
        SCALAR* __restrict__ powers, const Statistics* __restrict__ pieces, const float* __restrict__ at_label,   \
        const long long* __restrict__ labels, const SCALAR* __restrict__ dloss, SCALAR* __restrict__ loss,        \
        long long rows, long long vocab, long long width, long long count, long long blocks_of_row,               \
        long long log2_piece, long long shift, long long stride                                                   \
    ) {                                                                                                           \
        join_and_make_d<WARPS>(                                                                                   \
            powers, pieces, at_label, labels, dloss, loss, rows, vocab, width, count, blocks_of_row, log2_piece,  \
            {static_cast<int>(shift), stride}                                                                     \
        );                                                                                                        \
    }
JOIN_AND_MAKE(join_and_make_weights, WARPS_OF_ROWS)
JOIN_AND_MAKE(join_and_make_short, 1)
