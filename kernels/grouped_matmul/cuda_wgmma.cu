// The products of experts on Hopper's tensor cores by TMA and wgmma (sm_90a only).
//
// Formula: C[t, j] = sum over l of X[t, l] W[e, j, l], e the expert of token t; 2 tokens n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh in the parts of shared/wgmma_tiles.cuh, with the tiles of one expert after
//   another. No tile has rows of two experts: each walks along `offsets` by itself, so that nothing waits for the host.
//   A run's last tile also multiplies rows of the next expert, which are stored by nobody: its sums go by shared memory
//   too, and from there row by row. Which expert a tile is of: runs.cuh. Two warpgroups may have tiles in turns: in_turns.cuh.
//   Few tokens have kernels without tiles, few_tokens.cuh, and one_turn.cuh where k is short.
// Idea: matmul/cuda_wgmma with tiles that are numbered expert by expert, as CUTLASS's grouped products are; see
//   shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define B_OF_16_BITS_ALONG_K
#include "grouped_matmul/few_tokens.cuh"
#include "grouped_matmul/one_turn.cuh"
#include "grouped_matmul/in_turns.cuh"

template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER>
__device__ __forceinline__ void multiply_runs(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& to, SCALAR* c, const int* offsets, long long tokens,
    long long experts, long long n, long long k, bool is_loose
) {
    const int steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
    const auto compute = [&](Ring<CONSUMERS, BLOCK_N, STAGES, CLUSTER>& ring, const RunPosition& at, unsigned& stored,
                             int warpgroup) {
        const int row = at.row + warpgroup * 64, left = at.end - row;
        if (left <= 0) {  // these rows are of nobody: their half of the tensor cores is for the others
            // One warp waits for all four, which meet before and after: without products nothing else keeps a warp from
            // falling two phases behind, or ahead, where it would mistake one for another.
            const bool waits = __shfl_sync(WHOLE_WARP, threadIdx.x % WARPGROUP, 0) == 0;
            meet_warpgroup(warpgroup);
            for (int step = 0; step < steps; ++step, ring.advance()) {
                unsigned long long tile_a, tile_b;
                if (!waits) continue;
                ring.wait(warpgroup, tile_a, tile_b);
                ring.release(ring.stage);
            }
            meet_warpgroup(warpgroup);
            return;
        }
        float sum[BLOCK_N / 2] = {};
        ring.add_products(sum, steps, warpgroup);
        unsigned char* const boxes = ring.boxes_of(warpgroup);
        const Loose loose{is_loose ? c : nullptr, static_cast<unsigned>(tokens), static_cast<unsigned>(n)};
        const auto as_they_are = [](float2 sums, int) { return sums; };
        if (left >= 64) store_tile(sum, to, boxes, stored, row, at.column, as_they_are, loose);
        else store_rows(sum, c, n, loose, boxes, stored, row, at.column, left, warpgroup);
    };
    const TilesOfRuns<CONSUMERS * 64, BLOCK_N, CLUSTER> tiles(offsets, experts, tokens, n, rank_among<CLUSTER>());
    for_each_tile<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(a, b, steps, tiles, compute);
}

#define MULTIPLY_RUNS(NAME, CONSUMERS, BLOCK_N, STAGES, CLUSTER, AT_ONCE)                                         \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)                                                    \
        __launch_bounds__((CONSUMERS + 1) * WARPGROUP, AT_ONCE)                                                   \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap to, SCALAR* __restrict__ c, const int* __restrict__ offsets,     \
             long long tokens, long long experts, long long n, long long k, long long is_loose) {                 \
        multiply_runs<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(                                                       \
            a, b, to, c, offsets, tokens, experts, n, k, is_loose                                                 \
        );                                                                                                        \
    }
MULTIPLY_RUNS(tile_128x256_pair, 2, 256, 4, 2, 1)
MULTIPLY_RUNS(tile_128x192, 2, 192, 4, 1, 1)
MULTIPLY_RUNS(tile_64x128, 1, 128, 8, 1, 1)
MULTIPLY_RUNS(tile_64x64, 1, 64, 8, 1, 1)
MULTIPLY_RUNS(tile_128x128_pair, 2, 128, 6, 2, 1)
MULTIPLY_RUNS(tile_128x192_pair, 2, 192, 4, 2, 1)
MULTIPLY_RUNS(tile_64x64_thrice, 1, 64, 3, 1, 3)

WHOLE_ROWS_KERNEL

// The same; of the experts' matrices those that have a token. Tiles at the end of one read on into the next,
// which gives columns that nobody stores.
extern "C" __global__ void whole_rows_of_runs(
    const unsigned char* a, uint4* whole_a, long long a_rows, long long a_units, long long a_bytes,
    const unsigned char* b, uint4* whole_b, long long b_rows, long long b_units, long long b_bytes,
    const int* __restrict__ offsets, long long tokens, long long n
) {
    const auto wants = [&](unsigned row) {
        const int expert = row / static_cast<unsigned>(n), most = static_cast<int>(tokens);
        return min(max(offsets[expert], 0), most) < min(max(offsets[expert + 1], 0), most);
    };
    make_whole_rows(
        rows_of(a, whole_a, a_rows, a_units, a_bytes), rows_of(b, whole_b, b_rows, b_units, b_bytes), wants
    );
}

#endif
