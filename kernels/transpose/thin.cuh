// Transpose of a matrix with few rows or few columns, for any size and alignment.
#pragma once

#include "shared/common.cuh"

constexpr int THIN_THREADS = 256;    // as in cuda_swizzled.py
constexpr int THIN_ELEMENTS = 8192;  // of a tile, as in cuda_swizzled.py
constexpr int MOST_FEW = 256;        // lines of a thin matrix, as in cuda_swizzled.py
constexpr int DIRECT_UNROLL = 2;     // elements of a thread without a tile, as in cuda_swizzled.py
constexpr int THIN_UNROLL = 8;       // accesses of a thread under way at once

// A tile of `few` lines of LENGTH neighbours, of which LENGTH is a power of two: on the side where the matrix is long
// its lines lie far apart, on the other side the tile is one run, element `line` of `at` at at * few + line.
struct ThinTile {
    SCALAR* shared;
    unsigned few, bits, pitch;  // 2^bits is LENGTH
    unsigned part_of_few;       // 2^32 / few, rounded up: its product with an index below 2^13 divides by few

    __device__ __forceinline__ ThinTile(SCALAR* shared, int few, int bits) : shared(shared), few(few), bits(bits) {
        pitch = (1u << bits) + (few < WARP ? (WARP + few - 1) / few : 1);  // neighbours of the run in different banks
        part_of_few = few == 1 ? 0 : 0xffffffffu / few + 1;
    }
    __device__ __forceinline__ SCALAR& of_lines(unsigned line, unsigned at) const { return shared[line * pitch + at]; }
    __device__ __forceinline__ SCALAR& of_run(unsigned index) const {
        const unsigned at = few == 1 ? index : __umulhi(index, part_of_few);
        return of_lines(index - at * few, at);
    }
};

// Few rows, of which the tile is LENGTH columns: y is a run.
__device__ __forceinline__ void transpose_few_rows(
    const SCALAR* x, SCALAR* y, SCALAR* shared, long long rows, long long cols, int bits
) {
    const ThinTile tile(shared, static_cast<int>(rows), bits);
    const long long first = static_cast<long long>(blockIdx.x) << bits;
    const unsigned whole = 1u << bits, length = static_cast<unsigned>(cols - first < whole ? cols - first : whole);
    x += first;
    y += first * rows;
    const unsigned count = tile.few << bits;
    for (unsigned index = threadIdx.x; index < count; index += THIN_UNROLL * THIN_THREADS) {
        SCALAR values[THIN_UNROLL];
#pragma unroll
        for (int u = 0; u < THIN_UNROLL; ++u) {
            const unsigned i = index + u * THIN_THREADS, at = i & (whole - 1);
            if (i < count && at < length) values[u] = x[(i >> bits) * cols + at];
        }
#pragma unroll
        for (int u = 0; u < THIN_UNROLL; ++u) {
            const unsigned i = index + u * THIN_THREADS;
            if (i < count) tile.of_lines(i >> bits, i & (whole - 1)) = values[u];
        }
    }
    __syncthreads();
    const unsigned elements = length * tile.few;
    for (unsigned index = threadIdx.x * PACK; index < elements; index += THIN_THREADS * PACK) {
        Pack pack;
#pragma unroll
        for (unsigned i = 0; i < PACK; ++i) pack.element[i] = tile.of_run(min(index + i, elements - 1));
        store_part(y + index, pack, elements - index);
    }
}

// Few columns, and LENGTH rows: x is a run.
__device__ __forceinline__ void transpose_few_cols(
    const SCALAR* x, SCALAR* y, SCALAR* shared, long long rows, long long cols, int bits
) {
    const ThinTile tile(shared, static_cast<int>(cols), bits);
    const long long first = static_cast<long long>(blockIdx.x) << bits;
    const unsigned whole = 1u << bits, length = static_cast<unsigned>(rows - first < whole ? rows - first : whole);
    x += first * cols;
    y += first;
    const unsigned elements = length * tile.few;
#pragma unroll THIN_ELEMENTS / THIN_THREADS / PACK
    for (unsigned index = threadIdx.x * PACK; index < elements; index += THIN_THREADS * PACK) {
        const Pack pack = load_part(x + index, elements - index);
#pragma unroll
        for (unsigned i = 0; i < PACK; ++i) {
            if (index + i < elements) tile.of_run(index + i) = pack.element[i];
        }
    }
    __syncthreads();
    const unsigned count = tile.few << bits;
    for (unsigned index = threadIdx.x; index < count; index += THIN_UNROLL * THIN_THREADS) {
#pragma unroll
        for (int u = 0; u < THIN_UNROLL; ++u) {
            const unsigned i = index + u * THIN_THREADS, at = i & (whole - 1);
            if (i < count && at < length) y[(i >> bits) * rows + at] = tile.of_lines(i >> bits, at);
        }
    }
}

// ---- One line, or so little that a tile in shared memory takes longer than what it saves --------------

// By elements of y, which are adjacent: `few` adjacent ones come from as many rows of x.
__device__ __forceinline__ void transpose_direct_rows(const SCALAR* x, SCALAR* y, unsigned rows, unsigned cols) {
    const unsigned first = blockIdx.x * THIN_THREADS * DIRECT_UNROLL + threadIdx.x, count = rows * cols;
    SCALAR values[DIRECT_UNROLL];
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) values[u] = x[at % rows * cols + at / rows];
    }
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) y[at] = values[u];
    }
}

// By elements of x, which are adjacent.
__device__ __forceinline__ void transpose_direct_cols(const SCALAR* x, SCALAR* y, unsigned rows, unsigned cols) {
    const unsigned first = blockIdx.x * THIN_THREADS * DIRECT_UNROLL + threadIdx.x, count = rows * cols;
    SCALAR values[DIRECT_UNROLL];
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) values[u] = x[at];
    }
#pragma unroll
    for (int u = 0; u < DIRECT_UNROLL; ++u) {
        const unsigned at = first + u * THIN_THREADS;
        if (at < count) y[at % cols * rows + at / cols] = values[u];
    }
}

// A matrix of one line lies as its transpose does.
__device__ __forceinline__ void copy_line(const SCALAR* x, SCALAR* y, long long count) {
    const long long first = thread_of_grid() * PACK;
    if (first < count) store_part(y + first, load_part(x + first, count - first), count - first);
}
