// The powers and the gradient of the logits of few rows, by blocks alone: the second block of a pair would have no row.
#pragma once

#include "linear_cross_entropy_training/weights.cuh"
#include "shared/loose_ring.cuh"

// The statistics and the powers of a thread's logits number `first_sum` and on of a tile, which become piece
// number `piece` of `count` of a row.
struct FewRows {
    const long long* labels;
    Statistics* pieces;
    float* at_label;
    long long rows, vocab;

    template <int COUNT>
    __device__ __forceinline__ void make_powers_at(
        float (&logits)[COUNT], int first_sum, int top, int column0, long long piece, long long count
    ) const {
        const int left = static_cast<int>(min(vocab - column0, 1ll * BLOCK_N));
        const auto place = [&](int i) {
            return (first_sum + i) / 4 * 8 + static_cast<int>(threadIdx.x % 4) * 2 + i % 2;
        };
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if (place(i) >= left) logits[i] = NEGATIVE_INFINITY;
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = top + own_row() + half * 8;
            const long long wanted = row < rows ? labels[row] - column0 : -1;
            if (wanted >= 0 && wanted < left) {
#pragma unroll
                for (int i = half * 2; i < COUNT; i += 4) {
                    if (place(i) == wanted) at_label[row] = logits[i] * LOG2_E;
                    if (place(i + 1) == wanted) at_label[row] = logits[i + 1] * LOG2_E;
                }
            }
            const Statistics mine = make_powers(logits, half, NEGATIVE_INFINITY);
            if (row < rows && threadIdx.x % 4 == 0) pieces[row * count + piece] = mine;
        }
    }
};

__device__ __forceinline__ void make_powers_of_few(
    const CUtensorMap& x, const CUtensorMap& w, const CUtensorMap& powers, const FewRows& few, long long hidden
) {
    const TilesOfMatrix<BLOCK_M, BLOCK_N> tiles(few.rows, few.vocab, 0);
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    using Position = TilesOfMatrix<BLOCK_M, BLOCK_N>::Position;  // NVRTC 13.0 takes a lambda with `auto` for the host's
    const auto compute = [&](Ring<CONSUMERS, BLOCK_N, STAGES>& ring, const Position& at, unsigned& stored,
                             int warpgroup) {
        const int top = at.row + warpgroup * 64;
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);
        few.make_powers_at(logits, 0, top, at.in_b, at.in_b / BLOCK_N, tiles.columns);
        store_tile(logits, powers, ring.boxes_of(warpgroup), stored, top, at.in_b, as_they_are);
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, 1>(x, w, steps, tiles, compute);
}

extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1) powers_of_few(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,
    const __grid_constant__ CUtensorMap powers, const long long* __restrict__ labels, Statistics* __restrict__ pieces,
    float* __restrict__ at_label, long long rows, long long vocab, long long hidden
) {
    make_powers_of_few(x, w, powers, {labels, pieces, at_label, rows, vocab}, hidden);
}

// Of a tile's columns each block of a cluster has a part, which is a piece by itself.
constexpr int SMALL_PARTS = 8, SMALL_STAGES = 8;  // as in few_rows.py

// Powers of 8 columns from `column0` on.
__device__ __forceinline__ void store_slice(
    const float (&own)[4], SCALAR* powers, int top, int column0, long long rows, long long width
) {
    const int column = column0 + threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = top + own_row() + half * 8;
        if (row < rows) from_floats(own[half * 2], own[half * 2 + 1], powers + row * width + column);
    }
}

__device__ __forceinline__ void make_powers_of_parts(
    const CUtensorMap& x, const CUtensorMap& w, SCALAR* powers, const FewRows& few, long long hidden, long long width
) {
    using Tiles = TilesOfMatrix<64, 64>;
    constexpr int SLICE = 32 / SMALL_PARTS;
    static_assert(SLICE == 4);  // 8 columns
    const Tiles tiles(few.rows, few.vocab, 0);
    const int steps = static_cast<int>((hidden + STEP_K - 1) / STEP_K);
    const auto finish = [&](float (&own)[SLICE], int part, const Tiles::Position& at) {
        few.make_powers_at(own, part * SLICE, at.row, at.in_b, at.in_b / 8 + part, width / 8);
        store_slice(own, powers, at.row, at.in_b + part * 8, few.rows, width);
    };
    by_parts_of_tile<SMALL_STAGES, SMALL_PARTS>(x, w, steps, tiles, finish);
}

extern "C" __global__ void __cluster_dims__(SMALL_PARTS, 1, 1) __launch_bounds__(2 * WARPGROUP, 1) powers_of_parts(
    const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w, SCALAR* __restrict__ powers,
    const long long* __restrict__ labels, Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows,
    long long vocab, long long hidden, long long width
) {
    make_powers_of_parts(x, w, powers, {labels, pieces, at_label, rows, vocab}, hidden, width);
}

// ---- Rows of x and w that begin anywhere ----------------------------------------------------------

template <class Ring, int COLUMNS>
__device__ __forceinline__ void make_powers_of_loose(
    const LooseMatrix& x, const LooseMatrix& w, const CUtensorMap& powers, const FewRows& few
) {
    using Tiles = TilesOfMatrix<Ring::ROWS_A, COLUMNS>;
    using Position = typename Tiles::Position;
    const Tiles tiles(few.rows, few.vocab, 0);
    let_next_start();
    for_each_loose_tile<Ring>(
        x, w, tiles, [&](Ring& ring, const Position& at, int steps, unsigned& stored, int warpgroup) {
            const int top = at.row + warpgroup * 64;
            float logits[COLUMNS / 2] = {};
            ring.add_products(logits, 0, steps, warpgroup);
            few.make_powers_at(logits, 0, top, at.in_b, at.in_b / COLUMNS, tiles.columns);
            store_tile(logits, powers, ring.boxes_of(warpgroup), stored, top, at.in_b, as_they_are);
        }
    );
}

#define LOOSE_POWERS(CONSUMERS_HERE, COLUMNS, STAGES_HERE, STEPS)                                                 \
    extern "C" __global__ void __launch_bounds__((CONSUMERS_HERE + 2) * WARPGROUP, 1)                             \
        loose_powers_##CONSUMERS_HERE##_##COLUMNS(                                                                \
            const unsigned short* __restrict__ x, const unsigned short* __restrict__ w,                           \
            const __grid_constant__ CUtensorMap powers, const long long* __restrict__ labels,                     \
            Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows, long long vocab,       \
            long long hidden                                                                                      \
        ) {                                                                                                       \
        const int columns = static_cast<int>(hidden);                                                             \
        make_powers_of_loose<LooseRing<CONSUMERS_HERE, COLUMNS, STAGES_HERE, STEPS, 2>, COLUMNS>(                 \
            {x, static_cast<int>(rows), columns}, {w, static_cast<int>(vocab), columns}, powers,                  \
            {labels, pieces, at_label, rows, vocab}                                                               \
        );                                                                                                        \
    }
LOOSE_POWERS(1, 64, 6, 2)
LOOSE_POWERS(1, 128, 4, 2)
LOOSE_POWERS(2, 128, 6, 1)

extern "C" __global__ void
__cluster_dims__(SMALL_PARTS, 1, 1) __launch_bounds__(3 * WARPGROUP, 1) loose_powers_of_parts(
    const unsigned short* __restrict__ x, const unsigned short* __restrict__ w, SCALAR* __restrict__ powers,
    const long long* __restrict__ labels, Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows,
    long long vocab, long long hidden, long long width
) {
    using Tiles = TilesOfMatrix<64, 64>;
    constexpr int SLICE = 32 / SMALL_PARTS;
    const FewRows few{labels, pieces, at_label, rows, vocab};
    const Tiles tiles(rows, vocab, 0);
    const int columns = static_cast<int>(hidden);
    by_parts_of_loose_tile<LooseRing<1, 64, 6, 2, 2>, SMALL_PARTS>(
        {x, static_cast<int>(rows), columns}, {w, static_cast<int>(vocab), columns}, tiles,
        [&](float (&own)[SLICE], int part, const Tiles::Position& at) {
            few.make_powers_at(own, part * SLICE, at.row, at.in_b, at.in_b / 8 + part, width / 8);
            store_slice(own, powers, at.row, at.in_b + part * 8, rows, width);
        }
    );
}

// What join and make_weights do of few rows: each block of a row joins its sums.
extern "C" __global__ void __launch_bounds__(WARPS_OF_ROWS* WARP) join_and_make_weights(
    SCALAR* __restrict__ powers, const Statistics* __restrict__ pieces, const float* __restrict__ at_label,
    const long long* __restrict__ labels, const SCALAR* __restrict__ dloss, SCALAR* __restrict__ loss, long long vocab,
    long long width, long long count, long long blocks_of_row, long long log2_piece
) {
    __shared__ Statistics of_warps[WARPS_OF_ROWS];
    const long long row = blockIdx.x / blocks_of_row;
    pieces += row * count;
    wait_for_previous();
    let_next_start();
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    for (long long piece = threadIdx.x; piece < count; piece += blockDim.x) mine = joined(mine, pieces[piece]);
    const float highest = warp_max(mine.highest);
    mine = {highest, warp_sum(mine.total * rescale(mine.highest, highest))};
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    mine = of_warps[0];
#pragma unroll
    for (int i = 1; i < WARPS_OF_ROWS; ++i) mine = joined(mine, of_warps[i]);

    const long long label = labels[row];
    const float lse = mine.highest + log2f(mine.total), scale = to_float(dloss[row]);
    if (blockIdx.x % blocks_of_row == 0 && threadIdx.x == 0)
        from_float(loss_of(mine, at_label[row], label, vocab), loss[row]);
    const RowResult result = {lse, (fast_exp2(at_label[row] - lse) - 1.0f) * scale};
    PartOfRow{width, blocks_of_row, log2_piece}.make_weights(powers + row * width, pieces, result, scale, label);
}
