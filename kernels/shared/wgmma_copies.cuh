// How a block of wgmma_matmul.cuh has TMA fill a stage: for itself, or its part of what several blocks of a cluster need.
#pragma once

#include "shared/wgmma_products.cuh"

// Of `count` bits each `distance` from the next.
__device__ constexpr unsigned bits_apart(int count, int distance) {
    unsigned bits = 0;
    for (int i = 0; i < count; ++i) bits |= 1u << i * distance;
    return bits;
}

// A copy for this block, or for all of a cluster whose bit is set.
struct CopyHere {
    const CUtensorMap& map;
    Barrier* full;
    __device__ __forceinline__ void operator()(unsigned char* to, int x, int y) const { copy_box(to, map, x, y, full); }
};
struct CopyToSeveral {
    const CUtensorMap& map;
    Barrier* full;
    unsigned short blocks;
    __device__ __forceinline__ void operator()(unsigned char* to, int x, int y) const {
        copy_box_to(blocks, to, map, x, y, full);
    }
};

constexpr int MOST_OF_A_BOX = 256;  // rows, of which TMA copies no more at once

// Part `part` of a stage of A, of ROWS rows; of B, one of PARTS.
template <int ROWS, class Copy>
__device__ __forceinline__ void copy_part_of_a(
    const Copy& copy, unsigned char* to, unsigned part, int row, int along_k
) {
    constexpr int BOX_ROWS = ROWS > MOST_OF_A_BOX ? ROWS / 2 : ROWS;
#pragma unroll
    for (int i = 0; i < ROWS; i += BOX_ROWS) {
        copy(to + (part * ROWS + i) * ROW, along_k, row + part * ROWS + i);
    }
}
template <int COLUMNS, int PARTS, class Copy>
__device__ __forceinline__ void copy_part_of_b(
    const Copy& copy, unsigned char* to, unsigned part, int column, int along_k
) {
    if constexpr (B_LIES_ALONG_K) {
        constexpr int PART = COLUMNS / PARTS;
        copy(to + part * PART * ROW, along_k, column + part * PART);
    } else if constexpr (COLUMNS % (PARTS * BAND) == 0) {
        constexpr int PART = COLUMNS / PARTS;
#pragma unroll
        for (int i = 0; i < PART; i += BAND) copy(to + (part * PART + i) * ROW, column + part * PART + i, along_k);
    } else {
        constexpr int PART = STEP_K / PARTS;  // of each band
#pragma unroll
        for (int i = 0; i < COLUMNS; i += BAND) copy(to + (i + part * PART) * ROW, column + i, along_k + part * PART);
    }
}
