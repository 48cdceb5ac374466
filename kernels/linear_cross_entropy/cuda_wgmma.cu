// A linear layer's cross-entropy on Hopper's tensor cores by TMA and wgmma (sm_90a only): logits stay in registers.
//
// Formula: loss[r] = log(sum_c exp(x[r] . w[c])) - x[r] . w[label[r]]; 2 rows vocab hidden FLOP.
// Mapping: that of shared/wgmma_matmul.cuh in the parts of shared/wgmma_tiles.cuh. Where a product would store its
//   tile, a thread has 64 logits of each of two rows (of 256 columns): their maximum and the sum of their powers meet
//   those of three other lanes and go to memory, 8 bytes for 512. The lane that has the label's logit stores it too. A
//   second kernel joins the tiles of a row. Where the last round of pairs of blocks would be filled in part, all pairs
//   share its tiles equally: shared/tile_shares.cuh. Few rows of x meet a w whose rows begin anywhere by mma.sync:
//   few_rows.cuh; where blocks share its rows along hidden, their parts of logits meet in memory, in join_parts. A few
//   rows of x and a small w have no tensor cores: small_weights.cuh. Tiles of rows of w that begin anywhere: residues.cuh.
//   Tiles of products with w across, of few rows of x, and in clusters that share x: leaves.cuh.
// Idea: the tiles and the second kernel of triton_persistent_tma, with what follows a product done in the registers
//   that hold its sums. Wijmans et al., "Cut Your Losses in Large-Vocabulary Language Models", arXiv:2411.09009; see
//   shared/wgmma_matmul.cuh.
#include "linear_cross_entropy/join.cuh"

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define B_OF_16_BITS_ALONG_K
#include "linear_cross_entropy/few_rows.cuh"
#include "linear_cross_entropy/leaves.cuh"
#include "linear_cross_entropy/small_weights.cuh"
#include "shared/overlap.cuh"
#include "shared/wgmma_tiles.cuh"
#include "linear_cross_entropy/residues.cuh"

// The blocks of a cluster take tiles one above the other.
template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER>
__device__ __forceinline__ void statistics_of_tiles(const CUtensorMap& x, const CUtensorMap& w, const Rest& rest) {
    using Tiles = TilesOfMatrix<CONSUMERS * 64, BLOCK_N, CLUSTER>;
    const Tiles tiles(rest.rows, rest.vocab, rank_among<CLUSTER>());
    const int steps = static_cast<int>((rest.hidden + STEP_K - 1) / STEP_K);
    let_next_start();  // all blocks run at once, so that those of the next kernel keep none away
    const auto compute = [&](Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER>& ring, const typename Tiles::Position& at,
                             unsigned&, int warpgroup) {
        float logits[BLOCK_N / 2] = {};
        ring.add_products(logits, steps, warpgroup);
        leave_statistics(logits, 0, at.row + warpgroup * 64, {at.in_b}, rest, at.in_b / BLOCK_N, tiles.columns);
    };
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(x, w, steps, tiles, compute);
}

// The same by pairs of blocks. Where the last round of the grid would be filled in part, all pairs share its tiles equally.
template <int BLOCK_N, int STAGES>
__device__ __forceinline__ void statistics_of_shares(
    const CUtensorMap& x, const CUtensorMap& w, const Rest& rest, const TileParts& parts, long long alone
) {
    constexpr int CONSUMERS = 2, CLUSTER = 2;
    using Tiles = TilesOfMatrix<CONSUMERS * 64, BLOCK_N, CLUSTER>;
    extern __shared__ __align__(1024) unsigned char stages[];
    Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER> ring(stages, rank_in_cluster());
    const auto own_warpgroup = [] { return __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0); };
    const int steps = static_cast<int>((rest.hidden + STEP_K - 1) / STEP_K);
    let_next_start();
    wait_for_previous();
    if (own_warpgroup() == CONSUMERS) {
        give_registers<40>();
        if (threadIdx.x % WARPGROUP == 0) {
            const Tiles tiles(rest.rows, rest.vocab, ring.rank);
            Turns<CLUSTER, EQUAL> turns(tiles.count(), steps, static_cast<unsigned>(alone));
            while (turns.next()) {
                const auto at = tiles.at(turns.tile);
                for (int step = turns.first; step < turns.last; ++step) ring.fill(x, w, step, at.row, at.in_b);
            }
        }
    } else {
        take_registers<232>();
        const int warpgroup = own_warpgroup();  // again, or it waits on the stack
        const Tiles tiles(rest.rows, rest.vocab, ring.rank);
        Turns<CLUSTER, EQUAL> turns(tiles.count(), steps, static_cast<unsigned>(alone));
        const auto index = [&](unsigned place) { return (place * CLUSTER + ring.rank) * CONSUMERS + warpgroup; };
        while (turns.next()) {
            float logits[BLOCK_N / 2] = {};
            ring.add_products(logits, turns.last - turns.first, warpgroup);
            if (turns.first > 0) {
                parts.leave(logits, index(turns.place()), warpgroup);
                continue;
            }
            if (turns.last < steps) {
                for (unsigned other = turns.place() + 1; turns.begin_of(other) < turns.end_of_tile(); ++other) {
                    if (turns.begin_of(other) < turns.begin_of(other + 1)) parts.add(logits, index(other), warpgroup);
                }
            }
            const auto at = tiles.at(turns.tile);
            leave_statistics(logits, 0, at.row + warpgroup * 64, {at.in_b}, rest, at.in_b / BLOCK_N, tiles.columns);
        }
    }
    // No block may leave while another still arrives at its barriers.
    meet_cluster();
}

// Of a tile's columns each block has a part, which is a piece by itself.
template <int CONSUMERS, int STAGES, int PARTS>
__device__ __forceinline__ void statistics_of_parts(const CUtensorMap& x, const CUtensorMap& w, const Rest& rest) {
    using Tiles = TilesOfMatrix<CONSUMERS * 64, 64>;
    constexpr int SLICE = 32 / PARTS;
    const Tiles tiles(rest.rows, rest.vocab, 0);
    const int steps = static_cast<int>((rest.hidden + STEP_K - 1) / STEP_K);
    const auto finish = [&](float (&own)[SLICE], int part, const typename Tiles::Position& at, int warpgroup) {
        const unsigned piece = at.in_b / 64 * PARTS + part, count = tiles.columns * PARTS;
        leave_statistics(own, part * SLICE, at.row + warpgroup * 64, {at.in_b}, rest, piece, count);
    };
    by_parts_of_tile<STAGES, PARTS, CONSUMERS>(x, w, steps, tiles, finish);
}

#define STATISTICS(NAME, THREADS, CLUSTER, ...)                                                                   \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)                      \
        NAME(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,                        \
             const long long* __restrict__ labels, Statistics* __restrict__ pieces, float* __restrict__ at_label, \
             long long rows, long long vocab, long long hidden, float* sums, Flag* flags, Flag ticket,            \
             long long alone) {                                                                                   \
        const Rest rest{labels, pieces, at_label, rows, vocab, hidden};                                           \
        __VA_ARGS__;                                                                                              \
    }
#define STATISTICS_OF_TILES(NAME, CONSUMERS, BLOCK_N, STAGES, CLUSTER)                                            \
    STATISTICS(                                                                                                   \
        NAME, (CONSUMERS + 1) * WARPGROUP, CLUSTER,                                                               \
        statistics_of_tiles<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(x, w, rest)                                      \
    )
#define STATISTICS_OF_SHARES(NAME, BLOCK_N, STAGES)                                                               \
    STATISTICS(                                                                                                   \
        NAME, 3 * WARPGROUP, 2,                                                                                   \
        statistics_of_shares<BLOCK_N, STAGES>(x, w, rest, TileParts{sums, flags, ticket}, alone)                  \
    )
#define STATISTICS_OF_PARTS(NAME, CONSUMERS, STAGES, PARTS)                                                       \
    STATISTICS(                                                                                                   \
        NAME, (CONSUMERS + 1) * WARPGROUP, PARTS, statistics_of_parts<CONSUMERS, STAGES, PARTS>(x, w, rest)       \
    )
STATISTICS_OF_SHARES(tile_128x256_pair, 256, 4)
STATISTICS_OF_SHARES(tile_128x192_pair, 192, 4)
STATISTICS_OF_SHARES(tile_128x160_pair, 160, 4)
STATISTICS_OF_TILES(tile_128x256, 2, 256, 4, 1)
STATISTICS_OF_TILES(tile_128x128, 2, 128, 6, 1)
STATISTICS_OF_TILES(tile_64x128, 1, 128, 8, 1)
STATISTICS_OF_TILES(tile_64x128_pair, 1, 128, 8, 2)
STATISTICS_OF_TILES(tile_128x128_four, 2, 128, 6, 4)
STATISTICS_OF_TILES(tile_64x64, 1, 64, 8, 1)
STATISTICS_OF_PARTS(tile_64x64_by_2, 1, 8, 2)
STATISTICS_OF_PARTS(tile_64x64_by_4, 1, 8, 4)
STATISTICS_OF_PARTS(tile_64x64_by_8, 1, 8, 8)
STATISTICS_OF_PARTS(tile_128x64_by_4, 2, 8, 4)

WHOLE_ROWS_KERNEL

// Of a row, with a thread for each `threads`-th piece.
__device__ __forceinline__ Statistics of_pieces(const Statistics* pieces, long long count, int threads) {
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
#pragma unroll 4  // so many loads under way at once
    for (long long piece = threadIdx.x % threads; piece < count; piece += threads) mine = joined(mine, pieces[piece]);
    return over_warp(mine);
}

// A warp a row.
extern "C" __global__ void join(
    const Statistics* __restrict__ pieces, const float* __restrict__ at_label, const long long* __restrict__ labels,
    SCALAR* __restrict__ loss, long long rows, long long count, long long vocab
) {
    const long long row = thread_of_grid() / WARP;
    if (row >= rows) return;
    wait_for_previous();
    let_next_start();
    const long long label = labels[row];
    const float logit = at_label[row];  // on its way beside the pieces; of a label that is no column no one's
    const Statistics mine = of_pieces(pieces + row * count, count, WARP);
    if (threadIdx.x % WARP == 0) from_float(loss_of(mine, logit, label, vocab), loss[row]);
}

// A block a row of so many pieces that those of a warp would come one after another.
constexpr int WARPS_OF_ROW = 8;  // as in cuda_wgmma.py

extern "C" __global__ void __launch_bounds__(WARPS_OF_ROW* WARP) join_by_blocks(
    const Statistics* __restrict__ pieces, const float* __restrict__ at_label, const long long* __restrict__ labels,
    SCALAR* __restrict__ loss, long long rows, long long count, long long vocab
) {
    __shared__ Statistics of_warps[WARPS_OF_ROW];
    const long long row = blockIdx.x;
    wait_for_previous();
    let_next_start();
    const long long label = labels[row];
    const float logit = at_label[row];
    Statistics mine = of_pieces(pieces + row * count, count, WARPS_OF_ROW * WARP);
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x) return;
#pragma unroll
    for (int other = 1; other < WARPS_OF_ROW; ++other) mine = joined(mine, of_warps[other]);
    from_float(loss_of(mine, logit, label, vocab), loss[row]);
}

// A block a row, of whose logits each has several parts.
constexpr int JOINING_WARPS = 16, COLUMNS_AT_ONCE = 4;  // of a thread; as in cuda_wgmma.py and few_rows.py

extern "C" __global__ void __launch_bounds__(JOINING_WARPS* WARP) join_parts(
    const float* __restrict__ logits, const long long* __restrict__ labels, SCALAR* __restrict__ loss, long long vocab,
    long long parts, long long room
) {
    __shared__ Statistics of_warps[JOINING_WARPS];
    __shared__ float at_label;
    wait_for_previous();
    let_next_start();
    const long long label = labels[blockIdx.x];
    Statistics mine = {NEGATIVE_INFINITY, 0.0f};
    constexpr int THREADS = JOINING_WARPS * WARP;
    for (long long first = threadIdx.x; first < vocab; first += COLUMNS_AT_ONCE * THREADS) {
        float some[COLUMNS_AT_ONCE] = {};
#pragma unroll 4
        for (long long part = 0; part < parts; ++part) {
#pragma unroll
            for (int i = 0; i < COLUMNS_AT_ONCE; ++i) {
                const long long column = first + i * THREADS;
                if (column < vocab) some[i] += logits[(part * vocab + column) * room + blockIdx.x];
            }
        }
#pragma unroll
        for (int i = 0; i < COLUMNS_AT_ONCE; ++i) {
            const long long column = first + i * THREADS;
            if (column >= vocab) continue;
            mine = joined(mine, {some[i], 1.0f});
            if (column == label) at_label = some[i];
        }
    }
    mine = over_warp(mine);
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    mine = over_warp(threadIdx.x < JOINING_WARPS ? of_warps[threadIdx.x] : Statistics{NEGATIVE_INFINITY, 0.0f});
    if (threadIdx.x == 0) from_float(loss_of(mine, at_label, label, vocab), loss[blockIdx.x]);
}

#endif
