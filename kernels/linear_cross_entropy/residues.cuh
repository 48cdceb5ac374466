// Tiles of logits from rows of w that begin anywhere, without a copy of w: long_rows.cuh tells how.
//
// Idea: a loss does not ask for the order of its classes.
#pragma once

#include "linear_cross_entropy/long_rows.cuh"

template <int CONSUMERS, int BLOCK_N, int STAGES>
__device__ __forceinline__ void statistics_of_residues(const CUtensorMap& x, const LongRows& w, const Rest& rest) {
    extern __shared__ __align__(1024) unsigned char stages[];
    Ring<CONSUMERS, BLOCK_N, STAGES> ring(stages, 0);
    const TilesOfResidues<CONSUMERS * 64, BLOCK_N> tiles(rest, w);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    let_next_start();
    wait_for_previous();
    for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
        const auto at = tiles.at(tile);
        if (warpgroup == CONSUMERS) {
            if (threadIdx.x % WARPGROUP) break;
            const CUtensorMap& of_w = at.in_last ? w.with_last : w.without;
            for (int step = 0; step < at.steps; ++step) {
                const int along = at.along(step);
                ring.fill_from(x, of_w, along, at.in_x, at.begin + along, at.columns.first);
            }
        } else {
            float logits[BLOCK_N / 2] = {};
            const Clearing<decltype(at), CONSUMERS * WARPGROUP, BLOCK_N> clearing{at, tiles.hidden};
            ring.add_products(logits, at.steps, warpgroup, clearing);
            leave_statistics(logits, 0, at.row + warpgroup * 64, at.columns, rest, at.piece, tiles.pieces());
        }
    }
}

// The blocks of a cluster share a tile along hidden; of its columns each has a part, which is a piece by itself.
template <int CONSUMERS, int STAGES, int PARTS>
__device__ __forceinline__ void parts_of_residues(const CUtensorMap& x, const LongRows& w, const Rest& rest) {
    constexpr int SLICE = 32 / PARTS;
    const TilesOfResidues<CONSUMERS * 64, 64> tiles(rest, w);
    const auto at = tiles.at(blockIdx.x / PARTS);
    const CUtensorMap& of_w = at.in_last ? w.with_last : w.without;
    const auto fill = [&](Ring<CONSUMERS, 64, STAGES>& ring, int step) {
        const int along = at.along(step);
        ring.fill_from(x, of_w, along, at.in_x, at.begin + along, at.columns.first);
    };
    const auto finish = [&](float (&own)[SLICE], int part, int warpgroup) {
        const unsigned piece = at.piece * PARTS + part, count = tiles.pieces() * PARTS;
        leave_statistics(own, part * SLICE, at.row + warpgroup * 64, at.columns, rest, piece, count);
    };
    const Clearing<decltype(at), CONSUMERS * WARPGROUP, 64> clearing{at, tiles.hidden};
    by_parts<STAGES, PARTS, CONSUMERS>(at.steps, fill, clearing, finish);
}

#define OF_RESIDUES(NAME, CONSUMERS, CLUSTER, ...)                                                                \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap with_last,                \
             const __grid_constant__ CUtensorMap without, const long long* __restrict__ labels,                   \
             Statistics* __restrict__ pieces, float* __restrict__ at_label, long long rows, long long vocab,      \
             long long hidden, long long shift) {                                                                 \
        const Rest rest{labels, pieces, at_label, rows, vocab, hidden};                                           \
        const LongRows w{with_last, without, static_cast<int>(shift)};                                            \
        __VA_ARGS__;                                                                                              \
    }
#define TILES_OF_RESIDUES(NAME, CONSUMERS, BLOCK_N, STAGES)                                                       \
    OF_RESIDUES(NAME, CONSUMERS, 1, statistics_of_residues<CONSUMERS, BLOCK_N, STAGES>(x, w, rest))
#define PARTS_OF_RESIDUES(NAME, CONSUMERS, STAGES, PARTS)                                                         \
    OF_RESIDUES(NAME, CONSUMERS, PARTS, parts_of_residues<CONSUMERS, STAGES, PARTS>(x, w, rest))
TILES_OF_RESIDUES(residues_64x64, 1, 64, 8)
TILES_OF_RESIDUES(residues_64x128, 1, 128, 8)
TILES_OF_RESIDUES(residues_128x128, 2, 128, 6)
PARTS_OF_RESIDUES(residues_64x64_by_2, 1, 8, 2)
PARTS_OF_RESIDUES(residues_64x64_by_4, 1, 8, 4)
