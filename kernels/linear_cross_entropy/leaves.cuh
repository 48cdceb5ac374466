// Tiles of shared/wgmma_matmul.cuh that leave the statistics of their logits where others store these: leaves.py chooses.
//
// Mapping: most have w across, so that a tile has few rows of x, as many as there are or a little more. A warp then holds
//   all rows of 16 columns, a lane those of two: of each row lanes pair theirs with those of the lanes beside them, each
//   time half of the rows, until a row is one lane's, and the four warps of a warpgroup meet in shared memory. So a row
//   has a piece for each 64 columns; of other tiles one for each, as in statistics.cuh.
#pragma once

#include "linear_cross_entropy/statistics.cuh"
#include "shared/wgmma_kernels.cuh"

// What takes the place of a finish: nothing is made of sums one by one.
struct Leaves {
    Rest rest;
    long long count;  // pieces of a row
    __device__ __forceinline__ float2 operator()(float2 sums, int) const { return sums; }
};

// In place of stores of tiles that have rows of x for each warpgroup.
template <int AT_ONCE = BOXES, int FIRST = 0, int COUNT>
__device__ __forceinline__ void store_tile_by_warps(
    float (&logits)[COUNT], const CUtensorMap&, unsigned char*, unsigned&, int row0, int column0, const Leaves& leaves,
    const Loose&
) {
    settle(logits);
    const unsigned piece = column0 / (COUNT * 2), count = static_cast<unsigned>(leaves.count);
    leave_statistics(logits, 0, row0, {column0}, leaves.rest, piece, count);
}

// Of a row without a number, so that differences of maxima are numbers: no logit in its place, or minus infinity, adds anything.
constexpr float LOWEST = -3.402823466e38f;

// Of logits of a row. What is no number stays none.
template <int COUNT>
__device__ __forceinline__ Statistics statistics_of_row(const float (&logits)[COUNT]) {
    float highest = logits[0];
#pragma unroll
    for (int i = 1; i < COUNT; ++i) highest = fmaxf(highest, logits[i]);
    highest = fmaxf(highest * LOG2_E, LOWEST);
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) total += fast_exp2(logits[i] * LOG2_E - highest);
    return {highest, total};
}

// As `joined`, of maxima that are not below LOWEST: by one power, of what is lower.
__device__ __forceinline__ Statistics joined_by_one(const Statistics& one, const Statistics& other) {
    const float above = one.highest - other.highest, power = fast_exp2(-fabsf(above));
    const bool is_higher = above > 0.0f;
    const float higher = is_higher ? one.total : other.total, lower = is_higher ? other.total : one.total;
    return {fmaxf(one.highest, other.highest), higher + lower * power};
}

__device__ __forceinline__ Statistics with_lane(const Statistics& own, const Statistics& given, int distance) {
    return joined_by_one(
        own, {__shfl_xor_sync(WHOLE_WARP, given.highest, distance), __shfl_xor_sync(WHOLE_WARP, given.total, distance)}
    );
}

// The statistics of COUNT rows, from a lane's number `first` on, with those of the lanes that have the same rows, to `to`:
// each gives half of what it has to the lane `DISTANCE` on, and has the other half from there. Of an odd number both have
// all, and one of them `leads`.
template <int DISTANCE, int COUNT>
__device__ __forceinline__ void join_lanes(Statistics (&mine)[COUNT], int first, bool leads, Statistics* to) {
    const bool is_upper = threadIdx.x & DISTANCE;
    if constexpr (DISTANCE < 4) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int number = first + i;
            if (leads) to[number / 2 * 8 + threadIdx.x % 4 * 2 + number % 2] = mine[i];
        }
    } else if constexpr (COUNT % 2 == 0) {
        constexpr int HALF = COUNT / 2;
        Statistics kept[HALF];
#pragma unroll
        for (int i = 0; i < HALF; ++i) {
            const Statistics given = is_upper ? mine[i] : mine[i + HALF], own = is_upper ? mine[i + HALF] : mine[i];
            kept[i] = with_lane(own, given, DISTANCE);
        }
        join_lanes<DISTANCE / 2>(kept, first + (is_upper ? HALF : 0), leads, to);
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) mine[i] = with_lane(mine[i], mine[i], DISTANCE);
        join_lanes<DISTANCE / 2>(mine, first, leads && !is_upper, to);
    }
}

// Where a warp's 16 columns, from number `first` of the warpgroup's on, have the labels of some of a tile's rows, those
// logits.
template <int COUNT>
__device__ __forceinline__ void leave_at_labels(
    const float (&logits)[COUNT], int row0, const Columns& columns, int first, long long left, const Rest& rest
) {
    constexpr int ROWS = COUNT * 2, AT_ONCE = (ROWS + WARP - 1) / WARP;
    const int lane = threadIdx.x % WARP;
    int wanted[AT_ONCE];  // of a row for each lane the column of its label behind the warp's first, or -1
    bool are_here = false;
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
        const int row = i * WARP + lane;
        const bool is_row = row < ROWS && row0 + row < rest.rows;
        const long long place = is_row ? place_of(rest.labels[row0 + row], columns) : -1;
        const bool is_here = place >= first && place < first + 16 && place < left;
        wanted[i] = is_here ? static_cast<int>(place) - first : -1;
        are_here |= is_here;
    }
    if (!__any_sync(WHOLE_WARP, are_here)) return;
#pragma unroll
    for (int i = 0; i < COUNT / 2; ++i) {
        const int row = i / 2 * 8 + lane % 4 * 2 + i % 2, at = i / 2 * 4 + i % 2;
        const int column = __shfl_sync(WHOLE_WARP, wanted[i / 2 * 8 / WARP], row % WARP);
        if (column == lane / 4) rest.at_label[row0 + row] = logits[at] * LOG2_E;
        if (column == lane / 4 + 8) rest.at_label[row0 + row] = logits[at + 2] * LOG2_E;
    }
}

// The statistics of a lane's rows of two columns, with those of the lanes that have the same rows, to `to`. First a lane
// gives the logits of half of its rows to the lane 16 on, as two are fewer than statistics are worth.
template <int COUNT>
__device__ __forceinline__ void join_columns(const float (&logits)[COUNT], Statistics* to) {
    constexpr int HALF = COUNT / 4;  // of a lane's rows
    const bool is_upper = threadIdx.x & 16;
    Statistics mine[HALF];
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        float of_row[4];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const auto place = [&](int number) { return number / 2 * 4 + number % 2 + j * 2; };
            const float one = logits[place(i)], other = logits[place(i + HALF)];
            of_row[j] = is_upper ? other : one;
            of_row[j + 2] = __shfl_xor_sync(WHOLE_WARP, is_upper ? one : other, 16);
        }
        mine[i] = statistics_of_row(of_row);
    }
    join_lanes<8>(mine, is_upper ? HALF : 0, true, to);
}

// In place of stores across, of 64 columns of a warpgroup. With g = lane / 4 and q = lane % 4 a thread holds rows 8 j + 2 q
// and the next of columns g and g + 8 of its warp's 16.
template <int CONSUMERS, int AT_ONCE, int C_ROWS, int COUNT>
__device__ __forceinline__ void store_tile_across(
    float (&logits)[COUNT], const CUtensorMap&, unsigned char* boxes, unsigned&, int row0, int column0, int warpgroup,
    const Leaves& leaves, const Loose&
) {
    constexpr int ROWS = COUNT * 2, WARPS = WARPGROUP / WARP;
    static_assert(ROWS * WARPS * sizeof(Statistics) <= AT_ONCE * BOX);
    settle(logits);
    const Rest& rest = leaves.rest;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x % WARPGROUP / WARP;
    const Columns columns{column0 + warpgroup * 64};
    const long long left = left_of(columns, rest.vocab);
    Statistics* const of_warps = reinterpret_cast<Statistics*>(boxes + warpgroup * AT_ONCE * BOX);
    leave_at_labels(logits, row0, columns, warp * 16, left, rest);
    if (left < 64) {
        const int column = warp * 16 + lane / 4;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if (column + i % 4 / 2 * 8 >= left) logits[i] = NEGATIVE_INFINITY;
        }
    }
    meet_warpgroup(warpgroup);  // all have read what the tile before left here
    join_columns(logits, of_warps + warp * ROWS);
    meet_warpgroup(warpgroup);
    for (int i = threadIdx.x % WARPGROUP; i < ROWS && row0 + i < rest.rows; i += WARPGROUP) {
        Statistics all = of_warps[i];
#pragma unroll
        for (int other = 1; other < WARPS; ++other) all = joined_by_one(all, of_warps[other * ROWS + i]);
        rest.pieces[(row0 + i) * leaves.count + columns.first / 64] = all;
    }
}

__device__ __forceinline__ Leaves leaves_of(
    const long long* labels, Statistics* pieces, float* at_label, long long rows, long long vocab, long long hidden,
    long long count
) {
    return {{labels, pieces, at_label, rows, vocab, hidden}, count};
}

// The parameters of WGMMA_KERNEL in front of its finish.
#define LEAVES(...)                                                                                               \
    WGMMA_KERNEL(                                                                                                 \
        __VA_ARGS__, (leaves_of(labels, pieces, at_label, m, n, k, count)), const long long* __restrict__ labels, \
        Statistics* __restrict__ pieces, float* __restrict__ at_label, long long count                            \
    )
LEAVES(across_16x64_halves, 16, 64, 20, 1, 1, 2, true)
LEAVES(across_16x128_halves, 16, 128, 10, 1, 1, 2, true)
LEAVES(across_32x64_quarters, 32, 64, 16, 1, 1, 4, true)
LEAVES(across_64x64_1x8, 64, 64, 9, 1, 8, 1, true)
LEAVES(across_64x128_quarters, 64, 128, 8, 1, 1, 4, true)
LEAVES(across_80x64_pair, 80, 64, 11, 1, 2, 1, true)
LEAVES(across_96x64_1x4, 96, 64, 9, 1, 4, 1, true)
LEAVES(across_96x128_1x4, 96, 128, 6, 1, 4, 1, true)
LEAVES(across_96x128_quarters, 96, 128, 6, 1, 1, 4, true)
LEAVES(across_96x192_above, 96, 192, 5, 2, 1, 1, true)
LEAVES(across_112x128_2x2, 112, 128, 6, 2, 2, 1, true)
LEAVES(across_128x64_1x8, 128, 64, 8, 1, 8, 1, true)
LEAVES(across_128x64_quarters, 128, 64, 8, 1, 1, 4, true)
LEAVES(across_128x128_quarters, 128, 128, 5, 1, 1, 4, true)
LEAVES(across_144x192_pair, 144, 192, 4, 1, 2, 1, true)
LEAVES(across_256x64_quarters, 256, 64, 5, 1, 1, 4, true)
LEAVES(tile_64x128_8x1, 64, 128, 8, 8, 1, 1, false)
LEAVES(tile_128x128_4x2, 128, 128, 6, 4, 2, 1, false)
LEAVES(across_160x64_halves, 160, 64, 6, 1, 1, 2, true)
LEAVES(across_160x128_1x4, 160, 128, 5, 1, 4, 1, true)
LEAVES(across_192x128_pair, 192, 128, 4, 1, 2, 1, true)
LEAVES(across_192x128_1x4, 192, 128, 4, 1, 4, 1, true)
LEAVES(across_192x192_pair, 192, 192, 4, 1, 2, 1, true)
LEAVES(across_80x128_2x2, 80, 128, 7, 2, 2, EQUAL, true)
LEAVES(across_144x128_2x2, 144, 128, 5, 2, 2, EQUAL, true)
LEAVES(across_160x128_pair, 160, 128, 5, 1, 2, EQUAL, true)
LEAVES(across_160x128_2x2, 160, 128, 5, 2, 2, EQUAL, true)
LEAVES(across_176x128_2x2, 176, 128, 5, 2, 2, EQUAL, true)
LEAVES(across_144x192_2x2, 144, 192, 4, 2, 2, 1, true)
LEAVES(across_160x192_2x1, 160, 192, 4, 2, 1, 1, true)
