// The products of experts on Hopper's tensor cores by TMA and wgmma (sm_90a only).
//
// Formula: C[t, j] = sum over l of X[t, l] W[e, j, l], e the expert of token t; 2 tokens n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh in the parts of shared/wgmma_tiles.cuh, with the tiles of one expert after
//   another. No tile has rows of two experts: each walks along `offsets` by itself, so that nothing waits for the host.
//   A run's last tile also multiplies rows of the next expert, which are stored by nobody: its sums go by shared memory
//   too, and from there row by row. Few tokens have a kernel without tiles, few_tokens.cuh.
// Idea: matmul/cuda_wgmma with tiles that are numbered expert by expert, as CUTLASS's grouped products are; see
//   shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define B_OF_16_BITS_ALONG_K
#include "grouped_matmul/few_tokens.cuh"
#include "shared/wgmma_tiles.cuh"

// A tile of a run of rows, and the run's end.
struct RunPosition {
    int row, column, in_b, end;
};

// The tiles of an expert in groups of about 2048 rows, each column by column, so that blocks which run together share bands
// of tokens and of its matrix; then those of the next. `offsets` is data: no run begins or ends beyond the tokens.
template <int BLOCK_M, int BLOCK_N, int CLUSTER>
struct TilesOfRuns {
    static constexpr int CLUSTER_M = BLOCK_M * CLUSTER;
    const int* offsets;
    int experts, tokens, n;
    unsigned columns, rank;
    int expert = -1, begin = 0, end = 0;  // of the run that has the tile asked for last
    unsigned first = 0, height = 0;       // its first tile, and its tiles one above the other

    __device__ __forceinline__
    TilesOfRuns(const int* offsets, long long experts, long long tokens, long long n, unsigned rank)
        : offsets(offsets), experts(static_cast<int>(experts)), tokens(static_cast<int>(tokens)),
          n(static_cast<int>(n)), columns((n + BLOCK_N - 1) / BLOCK_N), rank(rank) {}

    __device__ __forceinline__ int offset_of(int expert) const { return min(max(offsets[expert], 0), tokens); }
    static __device__ __forceinline__ unsigned height_of(int begin, int end) {
        return (max(end - begin, 0) + CLUSTER_M - 1) / CLUSTER_M;
    }

    // By a whole warp.
    __device__ __forceinline__ unsigned count() const {
        unsigned rows = 0;
        for (int i = threadIdx.x % WARP; i < experts; i += WARP) rows += height_of(offset_of(i), offset_of(i + 1));
        return __reduce_add_sync(WHOLE_WARP, rows) * columns;
    }

    // Of tiles below `count()`, in their order; of one as often as you like.
    __device__ __forceinline__ RunPosition at(unsigned tile) {
        while (tile >= first + height * columns) {
            first += height * columns;
            ++expert;
            begin = offset_of(expert);
            end = offset_of(expert + 1);
            height = height_of(begin, end);
        }
        const TileIndex index = grouped_tile(tile - first, height, columns, 2048 / CLUSTER_M);
        const int column = index.column * BLOCK_N;
        const int row = begin + index.row * CLUSTER_M + rank * BLOCK_M;
        return {row, column, expert * n + column, end};
    }
};

// The first `left` of a warpgroup's 64 rows, by accesses of their own: TMA would write the other rows too. Rows of C are of
// whole 16 bytes unless it is `loose`.
template <int COUNT>
__device__ __forceinline__ void store_rows(
    const float (&sum)[COUNT], SCALAR* c, long long n, const Loose& loose, unsigned char* boxes, unsigned& stored,
    int row0, int column0, int left, int warpgroup
) {
#pragma unroll
    for (int first = 0; first < COUNT * 2; first += BOX_N) {
        unsigned char* const box = boxes + stored++ % BOXES * BOX;
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
        meet_warpgroup(warpgroup);
        fill_box(sum, box, first, column0, [](float2 sums, int) { return sums; });
        meet_warpgroup(warpgroup);
        if (loose.c) {
            copy_loose(box, loose, min(left, 64), row0, column0 + first);
            continue;
        }
#pragma unroll
        for (int chunk = threadIdx.x % WARPGROUP; chunk < 64 * ROW / 16; chunk += WARPGROUP) {
            const int row = chunk / (ROW / 16), column = column0 + first + chunk % (ROW / 16) * PACK;
            if (row >= left || column >= n) continue;
            const Pack* from = reinterpret_cast<Pack*>(box + row * ROW + (chunk % (ROW / 16) ^ row % 8) * 16);
            store_pack(c + (row0 + row) * n + column, *from);
        }
    }
}

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

#define MULTIPLY_RUNS(NAME, CONSUMERS, BLOCK_N, STAGES, CLUSTER)                                                  \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap to, SCALAR* __restrict__ c, const int* __restrict__ offsets,     \
             long long tokens, long long experts, long long n, long long k, long long is_loose) {                 \
        multiply_runs<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(                                                       \
            a, b, to, c, offsets, tokens, experts, n, k, is_loose                                                 \
        );                                                                                                        \
    }
MULTIPLY_RUNS(tile_128x256_pair, 2, 256, 4, 2)
MULTIPLY_RUNS(tile_128x256, 2, 256, 4, 1)
MULTIPLY_RUNS(tile_128x192, 2, 192, 4, 1)
MULTIPLY_RUNS(tile_128x128, 2, 128, 6, 1)
MULTIPLY_RUNS(tile_64x128, 1, 128, 8, 1)
MULTIPLY_RUNS(tile_64x64, 1, 64, 8, 1)

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
