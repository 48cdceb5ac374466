// Walks along the rows of a slab, by the thread that has each: for softmax, the norms and others, where rows are short
// and many and begin on no 16 bytes.
//
// Lanes that share such a row have to find their elements, some of them have none, and they meet for what they have
// found, all of which takes longer than the row itself. A thread that has one alone reads it again from shared memory
// instead, and needs few registers however long it is.
#pragma once

#include "shared/overlap.cuh"
#include "shared/slab.cuh"

// Where the elements of a row are in shared memory, by accesses of WIDTH elements, on which all rows begin. A row of an odd
// number of 16-bit elements is whole words and one element, the first or the last, in every second row the other.
template <int WIDTH>
struct SlabRow {
    static constexpr bool HAS_SINGLE = WIDTH == 1 && sizeof(SCALAR) == 2;
    static constexpr int SINGLES = HAS_SINGLE ? 1 : 0, EACH = HAS_SINGLE ? 2 : WIDTH;  // elements of an access

    SCALAR* row;
    int cols, head, accesses;

    __device__ __forceinline__ SlabRow(SCALAR* row, int cols) : row(row), cols(cols) {
        head = HAS_SINGLE ? shared_address(row) / 2 % 2 : 0;
        accesses = static_cast<unsigned>(cols - SINGLES) / EACH;
    }
    __device__ __forceinline__ int single() const { return head ? 0 : cols - 1; }  // its column
    __device__ __forceinline__ int column(int access) const { return head + access * EACH; }
    __device__ __forceinline__ Access<EACH>& access(int number) const {
        return reinterpret_cast<Access<EACH>*>(row + head)[number];
    }
};

// What lies behind so many slabs of a block.
__device__ __forceinline__ Bits* behind_slabs(Bits* packs, int cols, int slabs) {
    return packs + slabs * (static_cast<int>(blockDim.x) * cols / PACK);
}

constexpr int WRITES_NONE = 0, WRITES_FIRST = 1, WRITES_SECOND = 2;  // what an act changes
constexpr int SLAB_AHEAD = 4;  // accesses that are read before any of them is written

// Calls act(column, element) for all elements of a row.
template <int WRITES, int WIDTH, typename Act>
__device__ __forceinline__ void for_elements(const SlabRow<WIDTH>& row, const Act& act) {
    using Row = SlabRow<WIDTH>;
    if constexpr (Row::HAS_SINGLE) {
        SCALAR element = row.row[row.single()];
        act(row.single(), element);
        if (WRITES & WRITES_FIRST) row.row[row.single()] = element;
    }
    for (int first = 0; first < row.accesses; first += SLAB_AHEAD) {
        Access<Row::EACH> some[SLAB_AHEAD];
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a < row.accesses) some[a] = row.access(first + a);
        }
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a >= row.accesses) break;
#pragma unroll
            for (int i = 0; i < Row::EACH; ++i) act(row.column(first + a) + i, some[a].element[i]);
            if (WRITES & WRITES_FIRST) row.access(first + a) = some[a];
        }
    }
}

// The same of two rows that begin alike: act(column, element, other).
template <int WRITES, int WIDTH, typename Act>
__device__ __forceinline__ void for_elements(const SlabRow<WIDTH>& row, const SlabRow<WIDTH>& other, const Act& act) {
    using Row = SlabRow<WIDTH>;
    if constexpr (Row::HAS_SINGLE) {
        SCALAR element = row.row[row.single()], beside = other.row[row.single()];
        act(row.single(), element, beside);
        if (WRITES & WRITES_FIRST) row.row[row.single()] = element;
        if (WRITES & WRITES_SECOND) other.row[row.single()] = beside;
    }
    for (int first = 0; first < row.accesses; first += SLAB_AHEAD) {
        Access<Row::EACH> some[SLAB_AHEAD], others[SLAB_AHEAD];
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a < row.accesses) {
                some[a] = row.access(first + a);
                others[a] = other.access(first + a);
            }
        }
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a >= row.accesses) break;
#pragma unroll
            for (int i = 0; i < Row::EACH; ++i) {
                act(row.column(first + a) + i, some[a].element[i], others[a].element[i]);
            }
            if (WRITES & WRITES_FIRST) row.access(first + a) = some[a];
            if (WRITES & WRITES_SECOND) other.access(first + a) = others[a];
        }
    }
}

// Stores a byte for each element of a slab. blockDim.x is a multiple of 16, so that each block's begin on 16 bytes.
__device__ __forceinline__ void store_bytes(const Slab& slab, const unsigned char* bytes, unsigned char* to) {
    __syncthreads();
    to += slab.first * slab.cols;
    for (int at = threadIdx.x * 16; at < slab.count; at += blockDim.x * 16) {
        if (at + 16 <= slab.count) {
            *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(bytes + at);
        } else {
            for (int i = at; i < slab.count; ++i) to[i] = bytes[i];
        }
    }
}
