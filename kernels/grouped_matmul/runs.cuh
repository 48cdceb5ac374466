// Tiles of runs of rows, each of an expert's: which tile a block takes, and how it stores one that a run's end cuts.
#pragma once

#include "shared/wgmma_tiles.cuh"

// A tile of a run of rows, and the run's end.
struct RunPosition {
    int row, column, in_b, end;
};

// The tiles of an expert in groups of about 2048 rows, each column by column, so that blocks which run together share bands
// of tokens and of its matrix; then those of the next. `offsets` is data: no run begins or ends beyond the tokens.
// Each lane of a warp has an expert: one after another they would be a chain of reads, each with a wait.
template <int BLOCK_M, int BLOCK_N, int CLUSTER>
struct TilesOfRuns {
    static constexpr int CLUSTER_M = BLOCK_M * CLUSTER;
    const int* offsets;
    int experts, tokens, n;
    unsigned columns, rank;
    int next = 0;               // expert behind those that the lanes have
    unsigned before = 0;        // tiles of the experts in front of them
    unsigned all = 0, own = 0;  // tiles of all that the lanes have, and of those in front of a lane's own
    int begin = 0, end = 0;     // of a lane's run

    __device__ __forceinline__
    TilesOfRuns(const int* offsets, long long experts, long long tokens, long long n, unsigned rank)
        : offsets(offsets), experts(static_cast<int>(experts)), tokens(static_cast<int>(tokens)),
          n(static_cast<int>(n)), columns((n + BLOCK_N - 1) / BLOCK_N), rank(rank) {}

    // No expert behind the last one has a token.
    __device__ __forceinline__ int offset_of(int expert) const {
        return min(max(__ldg(offsets + min(expert, experts)), 0), tokens);
    }
    static __device__ __forceinline__ unsigned height_of(int begin, int end) {
        return (max(end - begin, 0) + CLUSTER_M - 1) / CLUSTER_M;
    }

    __device__ __forceinline__ unsigned count() const {
        unsigned rows = 0;
        for (int i = threadIdx.x % WARP; i < experts; i += WARP) rows += height_of(offset_of(i), offset_of(i + 1));
        return __reduce_add_sync(WHOLE_WARP, rows) * columns;
    }

    // Of tiles below `count()`, in their order; of one as often as you like.
    __device__ __forceinline__ RunPosition at(unsigned tile) {
        while (tile - before >= all) take_next();
        const int lane = __ffs(__ballot_sync(WHOLE_WARP, tile - before < own + height_of(begin, end) * columns)) - 1;
        const unsigned first = before + __shfl_sync(WHOLE_WARP, own, lane);
        const int top = __shfl_sync(WHOLE_WARP, begin, lane), bottom = __shfl_sync(WHOLE_WARP, end, lane);
        const TileIndex index = grouped_tile(tile - first, height_of(top, bottom), columns, 2048 / CLUSTER_M);
        const int column = index.column * BLOCK_N, expert = next - WARP + lane;
        const int row = top + index.row * CLUSTER_M + rank * BLOCK_M;
        return {row, column, expert * n + column, bottom};
    }

private:
    __device__ __forceinline__ void take_next() {
        const int lane = threadIdx.x % WARP;
        before += all;
        begin = offset_of(next + lane);
        end = offset_of(next + lane + 1);
        next += WARP;
        const unsigned tiles = height_of(begin, end) * columns;
        own = tiles;
#pragma unroll
        for (int distance = 1; distance < WARP; distance *= 2) {
            const unsigned more = __shfl_up_sync(WHOLE_WARP, own, distance);
            if (lane >= distance) own += more;
        }
        all = __shfl_sync(WHOLE_WARP, own, WARP - 1);
        own -= tiles;
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
