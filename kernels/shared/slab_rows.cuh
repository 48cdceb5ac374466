// Walks along the rows of a slab, by the thread or the lanes that have each: for softmax, the norms and others, where rows
// are short and many and begin on no 16 bytes.
//
// Lanes that share such a row meet for what they have found, and some of them have nothing, which takes longer than a very
// short row itself: a thread has that alone. It reads the row again from shared memory, and needs few registers however
// long it is. A longer row takes one thread long, and a block has room for few of them: lanes share it.
#pragma once

#include "shared/overlap.cuh"
#include "shared/slab.cuh"

// Where the elements of a row are in shared memory, by accesses of WIDTH elements, on which all rows begin. A row of an odd
// number of 16-bit elements is whole words and one element, the first or the last, in every second row the other. LANES
// neighbours have every so-manyth access each.
template <int WIDTH, int LANES = 1>
struct SlabRow {
    static constexpr bool HAS_SINGLE = WIDTH == 1 && sizeof(SCALAR) == 2;
    static constexpr int GROUP = LANES, SINGLES = HAS_SINGLE ? 1 : 0, EACH = HAS_SINGLE ? 2 : WIDTH;  // of an access

    SCALAR* row;
    int cols, head, accesses;
    bool has_single;  // this lane

    __device__ __forceinline__ SlabRow(SCALAR* row, int cols) : row(row), cols(cols) {
        head = HAS_SINGLE ? shared_address(row) / 2 % 2 : 0;
        accesses = static_cast<unsigned>(cols - SINGLES) / EACH;
        has_single = HAS_SINGLE && lane() == 0;
    }
    // The row of this thread; empty where the slab has none for it.
    __device__ __forceinline__ explicit SlabRow(const Slab& slab) : SlabRow(slab.row(threadIdx.x / LANES), slab.cols) {
        if (static_cast<int>(threadIdx.x) / LANES < slab.rows) return;
        accesses = 0;
        has_single = false;
    }
    static __device__ __forceinline__ int lane() { return threadIdx.x % LANES; }
    __device__ __forceinline__ int single() const { return head ? 0 : cols - 1; }  // its column
    __device__ __forceinline__ int column(int access) const { return head + access * EACH; }
    __device__ __forceinline__ Access<EACH>& access(int number) const {
        return reinterpret_cast<Access<EACH>*>(row + head)[number];
    }
};

// The same in the registers of its lanes, up to ACCESSES accesses each: read from shared memory once.
template <int WIDTH, int LANES, int ACCESSES>
struct HeldRow : SlabRow<WIDTH, LANES> {
    using Row = SlabRow<WIDTH, LANES>;

    Access<Row::EACH> held[ACCESSES];
    SCALAR held_single;

    __device__ __forceinline__ explicit HeldRow(const Slab& slab) : Row(slab) {
        if (this->has_single) held_single = this->row[this->single()];
#pragma unroll
        for (int a = 0; a < ACCESSES; ++a) {
            if (has(a)) held[a] = this->access(number(a));
        }
    }
    __device__ __forceinline__ int number(int a) const { return this->lane() + a * LANES; }
    __device__ __forceinline__ bool has(int a) const { return number(a) < this->accesses; }
};

// As the norms take rows: of 16 bits in registers, 16 elements a lane.
#ifdef SCALAR_IS_FLOAT32
template <int WIDTH, int LANES>
using NormRow = SlabRow<WIDTH, LANES>;
#else
template <int WIDTH, int LANES>
using NormRow = HeldRow<WIDTH, LANES, 16 / SlabRow<WIDTH, LANES>::EACH>;
#endif

// What lies behind so many slabs of a block.
__device__ __forceinline__ Bits* behind_slabs(Bits* packs, int cols, int slabs, int lanes = 1) {
    return packs + slabs * (static_cast<int>(blockDim.x) / lanes * cols / PACK);
}

constexpr int WRITES_NONE = 0, WRITES_FIRST = 1, WRITES_SECOND = 2;  // what an act changes
constexpr int SLAB_AHEAD = 4;  // accesses that are read before any of them is written

// Calls act(column, element) for all elements of a row.
template <int WRITES, int WIDTH, int LANES, typename Act>
__device__ __forceinline__ void for_elements(const SlabRow<WIDTH, LANES>& row, const Act& act) {
    using Row = SlabRow<WIDTH, LANES>;
    if (row.has_single) {
        SCALAR element = row.row[row.single()];
        act(row.single(), element);
        if (WRITES & WRITES_FIRST) row.row[row.single()] = element;
    }
    for (int first = row.lane(); first < row.accesses; first += SLAB_AHEAD * LANES) {
        Access<Row::EACH> some[SLAB_AHEAD];
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a * LANES < row.accesses) some[a] = row.access(first + a * LANES);
        }
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a * LANES >= row.accesses) break;
#pragma unroll
            for (int i = 0; i < Row::EACH; ++i) act(row.column(first + a * LANES) + i, some[a].element[i]);
            if (WRITES & WRITES_FIRST) row.access(first + a * LANES) = some[a];
        }
    }
}

template <int WRITES, int WIDTH, int LANES, int ACCESSES, typename Act>
__device__ __forceinline__ void for_elements(const HeldRow<WIDTH, LANES, ACCESSES>& row, const Act& act) {
    using Row = SlabRow<WIDTH, LANES>;
    if (row.has_single) {
        SCALAR element = row.held_single;
        act(row.single(), element);
        if (WRITES & WRITES_FIRST) row.row[row.single()] = element;
    }
#pragma unroll
    for (int a = 0; a < ACCESSES; ++a) {
        if (!row.has(a)) break;
        Access<Row::EACH> access = row.held[a];
#pragma unroll
        for (int i = 0; i < Row::EACH; ++i) act(row.column(row.number(a)) + i, access.element[i]);
        if (WRITES & WRITES_FIRST) row.access(row.number(a)) = access;
    }
}

// The same of two rows that begin alike: act(column, element, other).
template <int WRITES, int WIDTH, int LANES, typename Act>
__device__ __forceinline__ void for_elements(
    const SlabRow<WIDTH, LANES>& row, const SlabRow<WIDTH, LANES>& other, const Act& act
) {
    using Row = SlabRow<WIDTH, LANES>;
    if (row.has_single) {
        SCALAR element = row.row[row.single()], beside = other.row[row.single()];
        act(row.single(), element, beside);
        if (WRITES & WRITES_FIRST) row.row[row.single()] = element;
        if (WRITES & WRITES_SECOND) other.row[row.single()] = beside;
    }
    for (int first = row.lane(); first < row.accesses; first += SLAB_AHEAD * LANES) {
        Access<Row::EACH> some[SLAB_AHEAD], others[SLAB_AHEAD];
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a * LANES < row.accesses) {
                some[a] = row.access(first + a * LANES);
                others[a] = other.access(first + a * LANES);
            }
        }
#pragma unroll
        for (int a = 0; a < SLAB_AHEAD; ++a) {
            if (first + a * LANES >= row.accesses) break;
#pragma unroll
            for (int i = 0; i < Row::EACH; ++i) {
                act(row.column(first + a * LANES) + i, some[a].element[i], others[a].element[i]);
            }
            if (WRITES & WRITES_FIRST) row.access(first + a * LANES) = some[a];
            if (WRITES & WRITES_SECOND) other.access(first + a * LANES) = others[a];
        }
    }
}

// Stores a byte for each element of a slab. A block has a multiple of 16 rows, so that its own begin on 16 bytes.
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
