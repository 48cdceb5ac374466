// C = finish(A B) on the tensor cores by warp-wide mma.sync (sm_80 and later): what the matmul kernels share there.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); 2 m n k FLOP. C holds SCALAR, and so do A and B unless
//   MULTIPLIES_TF32 or MULTIPLIES_FP8 (sm_89) is defined before this file is included. A block reads (BM + BN) k
//   elements, most of them from L2.
// Mapping: a block computes a BM x BN tile of C in steps of ROW bytes along k. Its warps share the tile in warp tiles of
//   WM x WN, made of products of 16 x 8 over 32 bytes of k: 16 elements of 16 bits, 8 of TF32, 32 of FP8. A lane holds
//   WM WN / 32 sums in registers. For 64 x 64, eight ldmatrix (4 KiB of shared memory) feed 32 products. Shared memory
//   holds a ring of stages. cp.async fills the one furthest ahead while ldmatrix reads the next 32 bytes of k into
//   registers and the tensor cores work on the present ones. Tiles lie row by row in chunks of 16 bytes; a chunk's
//   position in its row is XORed with the row's number, so that the 8 rows that one phase of ldmatrix reads, and the
//   8 chunks that one phase of cp.async writes, fall in different banks.
// Idea: CUTLASS's multistage kernels for Ampere. An 8 x 8 matrix of 16 bits is one of 8 x 4 of 32 or of 8 x 16 of 8, so
//   that ldmatrix serves all three. wgmma on Hopper is faster still (docs/choices.md). All were found right on an H100,
//   and none was measured on its own architecture.
#pragma once

#include "shared/ampere.cuh"
#include "shared/tile_order.cuh"

// A is m x k. B is n x k, but k x n where elements have 16 bits: ldmatrix transposes no others.
#if defined(MULTIPLIES_TF32)
using Bits = unsigned;
constexpr bool B_LIES_ALONG_K = true;
#elif defined(MULTIPLIES_FP8)
using Bits = unsigned char;
constexpr bool B_LIES_ALONG_K = true;
#else
using Bits = unsigned short;
constexpr bool B_LIES_ALONG_K = false;
#endif

constexpr int UNIT = CHUNK_BYTES / sizeof(Bits);  // elements of A or B in a chunk
constexpr int SLICE = 32;                         // bytes of k in a product

// As copy_chunk, but at once and for any alignment: `inside` elements, the rest of the chunk zero.
__device__ __forceinline__ void gather_chunk(unsigned char* to, const Bits* from, long long inside) {
    union {
        Bits elements[UNIT];
        uint4 chunk;
    } values;
#pragma unroll
    for (int i = 0; i < UNIT; ++i) values.elements[i] = i < inside ? from[i] : 0;
    *reinterpret_cast<uint4*>(to) = values.chunk;
}

// Where a chunk of a row along k lies. Rows are 64 or 128 bytes: with 64, two fill the banks, and have the same XOR.
template <int ROW>
__device__ __forceinline__ int place_along_k(int row, int chunk) {
    return (chunk ^ (row / (128 / ROW) % (ROW / CHUNK_BYTES))) * CHUNK_BYTES;
}

// Where a chunk of a row along n lies.
__device__ __forceinline__ int place_along_n(int row, int chunk) { return (chunk ^ (row % 8)) * CHUNK_BYTES; }

// What a thread fills of the rows of A or B that lie along k: one chunk of every PASS-th of ROWS rows.
template <int ROWS, int ROW, int THREADS, bool CHUNKS>
struct AlongK {
    static constexpr int PASS = THREADS / (ROW / CHUNK_BYTES);
    static constexpr int FILLS = ROWS / PASS;
    static_assert(PASS % 8 == 0 && FILLS * PASS == ROWS);
    const Bits* from;
    unsigned char* to;
    unsigned inside = 0;

    __device__ __forceinline__
    AlongK(const Bits* matrix, unsigned char* stage, long long first, long long rows, int k) {
        const int row = threadIdx.x / (ROW / CHUNK_BYTES);
        const int chunk = threadIdx.x % (ROW / CHUNK_BYTES);
        from = matrix + (first + row) * k + chunk * UNIT;
        to = stage + row * ROW + place_along_k<ROW>(row, chunk);
#pragma unroll
        for (int i = 0; i < FILLS; ++i) inside |= (first + row + i * PASS < rows) << i;
    }

    // `left` of k from this thread's chunk on.
    __device__ __forceinline__ void fill(int offset, int k, int left) {
        const unsigned here = left > 0 ? inside : 0;
#pragma unroll
        for (int i = 0; i < FILLS; ++i) {
            const Bits* row = from + static_cast<long long>(i * PASS) * k;
            unsigned char* chunk = to + offset + i * PASS * ROW;
            if constexpr (CHUNKS) copy_chunk(chunk, row, here >> i & 1);
            else gather_chunk(chunk, row, here >> i & 1 ? left : 0);
        }
        from += ROW / sizeof(Bits);
    }
};

// The same of rows that lie along n: BLOCK_N columns of every PASS-th of STEP rows.
template <int BLOCK_N, int STEP, int THREADS, bool CHUNKS>
struct AlongN {
    static constexpr int ROW = BLOCK_N * sizeof(Bits);
    static constexpr int PASS = THREADS / (ROW / CHUNK_BYTES);
    static constexpr int FILLS = STEP / PASS;
    static_assert(PASS % 8 == 0 && FILLS * PASS == STEP);
    const Bits* from;
    unsigned char* to;
    long long columns;

    __device__ __forceinline__ AlongN(const Bits* matrix, unsigned char* stage, long long first, long long n) {
        const int row = threadIdx.x / (ROW / CHUNK_BYTES);
        const int chunk = threadIdx.x % (ROW / CHUNK_BYTES);
        from = matrix + row * n + first + chunk * UNIT;
        to = stage + row * ROW + place_along_n(row, chunk);
        columns = n - first - chunk * UNIT;
    }

    // `left` of k from the step's first row on.
    __device__ __forceinline__ void fill(int offset, long long n, int left) {
        const int row = threadIdx.x / (ROW / CHUNK_BYTES);
#pragma unroll
        for (int i = 0; i < FILLS; ++i) {
            const bool inside = row + i * PASS < left;
            unsigned char* chunk = to + offset + i * PASS * ROW;
            if constexpr (CHUNKS) copy_chunk(chunk, from + i * PASS * n, inside && columns > 0);
            else gather_chunk(chunk, from + i * PASS * n, inside ? columns : 0);
        }
        from += STEP * n;
    }
};

// Row i of each 8 of a warp tile, from the sums of its products. A lane holds columns 2 q and 2 q + 1 of rows g and
// g + 8 of every product, with g = lane / 4, q = lane % 4.
template <bool CHUNKS, int COUNT, class Finish>
__device__ __forceinline__ void store_row(
    const float (&sum)[COUNT][4], int half, SCALAR* row, long long column0, long long n, const Finish& finish
) {
    const int lane = threadIdx.x % WARP;
    const auto finished = [&](int j) {
        const float (&four)[4] = sum[j];
        return finish(
            make_float2(four[half * 2], four[half * 2 + 1]), static_cast<int>(column0) + j * 8 + lane % 4 * 2
        );
    };
#ifdef SCALAR_IS_FLOAT32
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
        const float2 pair = finished(j);
        const long long column = column0 + j * 8 + lane % 4 * 2;
        if constexpr (CHUNKS) {
            if (column < n) *reinterpret_cast<float2*>(row + column) = pair;
        } else {
            if (column < n) row[column] = pair.x;
            if (column + 1 < n) row[column + 1] = pair.y;
        }
    }
#else
#pragma unroll
    for (int j = 0; j < COUNT; j += 4) {
        unsigned words[4];
#pragma unroll
        for (int l = 0; l < 4; ++l) {
            const float2 pair = finished(j + l);
            from_floats(pair.x, pair.y, reinterpret_cast<SCALAR*>(&words[l]));
        }
        transpose_quad(words, lane);  // now words are 8 neighbours of product j + lane % 4
        const long long column = column0 + (j + lane % 4) * 8;
        if constexpr (CHUNKS) {
            if (column < n)
                *reinterpret_cast<uint4*>(row + column) = make_uint4(words[0], words[1], words[2], words[3]);
        } else {
#pragma unroll
            for (int l = 0; l < 8; ++l) {
                const auto bits = static_cast<unsigned short>(words[l / 2] >> l % 2 * 16);
                if (column + l < n) reinterpret_cast<unsigned short*>(row + column)[l] = bits;
            }
        }
    }
#endif
}

// Copied and stored in whole chunks if CHUNKS: then rows of A and B are whole chunks, aligned, and n is a multiple of 8.
// `finish(sums, column)` makes two neighbours of C from their sums, the first in an even column.
template <int WARPS_M, int WARPS_N, int WM, int WN, int ROW, int STAGES, bool CHUNKS, class Finish>
__device__ __forceinline__ void multiply(
    const Bits* __restrict__ a, const Bits* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n, int k,
    const Finish& finish
) {
    constexpr int THREADS = WARPS_M * WARPS_N * WARP;
    constexpr int BLOCK_M = WARPS_M * WM;
    constexpr int BLOCK_N = WARPS_N * WN;
    constexpr int STAGE_A = BLOCK_M * ROW;
    constexpr int STAGE = STAGE_A + BLOCK_N * ROW;
    constexpr int STEP = ROW / sizeof(Bits);
    constexpr int SLICES = ROW / SLICE;
    static_assert(SLICES % 2 == 0 && ROW <= 128 && BLOCK_N >= 64);
    extern __shared__ __align__(128) unsigned char stages[];

    const TileIndex index =
        grouped_tile(blockIdx.x, (m + BLOCK_M - 1) / BLOCK_M, (n + BLOCK_N - 1) / BLOCK_N, 2048 / BLOCK_M);
    const long long row0 = static_cast<long long>(index.row) * BLOCK_M;
    const long long column0 = static_cast<long long>(index.column) * BLOCK_N;

    AlongK<BLOCK_M, ROW, THREADS, CHUNKS> of_a(a, stages, row0, m, k);
    auto of_b = [&] {
        if constexpr (B_LIES_ALONG_K) return AlongK<BLOCK_N, ROW, THREADS, CHUNKS>(b, stages + STAGE_A, column0, n, k);
        else return AlongN<BLOCK_N, STEP, THREADS, CHUNKS>(b, stages + STAGE_A, column0, n);
    }();
    int left = k;
    const auto fill_next = [&](int offset) {
        const int from_chunk = left - static_cast<int>(threadIdx.x) % (ROW / CHUNK_BYTES) * UNIT;
        of_a.fill(offset, k, from_chunk);
        if constexpr (B_LIES_ALONG_K) of_b.fill(offset, k, from_chunk);
        else of_b.fill(offset, n, left);
        commit_copies();
        left -= STEP;
    };

    const int lane = threadIdx.x % WARP;
    const int warp_row = threadIdx.x / WARP / WARPS_N * WM;
    const int warp_column = threadIdx.x / WARP % WARPS_N * WN;
    const int read_row = lane % 16;
    const int read_chunk = lane / 16;

    float sum[WM / 16][WN / 8][4] = {};
    unsigned slice_a[2][WM / 16][4];
    unsigned slice_b[2][WN / 16][4];
    const auto read_slice = [&](int buffer, int offset, int slice) {
        const unsigned char* const stage_a = stages + offset;
        const unsigned char* const stage_b = stage_a + STAGE_A;
        const int place = place_along_k<ROW>(read_row, slice * 2 + read_chunk);
#pragma unroll
        for (int i = 0; i < WM / 16; ++i) {
            load_matrices(slice_a[buffer][i], stage_a + (warp_row + i * 16 + read_row) * ROW + place);
        }
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) {
            if constexpr (B_LIES_ALONG_K) {
                load_matrices(slice_b[buffer][j], stage_b + (warp_column + j * 16 + read_row) * ROW + place);
            } else {
                constexpr int ROW_B = BLOCK_N * sizeof(Bits);
                const int chunk = warp_column / UNIT + j * 2 + read_chunk;
                const int row = slice * 16 + read_row;
                load_transposed(slice_b[buffer][j], stage_b + row * ROW_B + place_along_n(read_row, chunk));
            }
        }
    };

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) fill_next(stage * STAGE);
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    read_slice(0, 0, 0);

    int read_offset = 0;
    int fill_offset = (STAGES - 1) * STAGE;
    for (int k0 = 0; k0 < k; k0 += STEP) {
#pragma unroll
        for (int slice = 0; slice < SLICES; ++slice) {
            if (slice == SLICES - 1) {
                // All warps have read this stage's last slice into registers, so it is the next to be filled.
                wait_for_copies<STAGES - 2>();
                __syncthreads();
                fill_offset = read_offset;
                read_offset = read_offset == (STAGES - 1) * STAGE ? 0 : read_offset + STAGE;
            }
            read_slice((slice + 1) % 2, read_offset, (slice + 1) % SLICES);
            if (slice == 0) fill_next(fill_offset);
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
                for (int j = 0; j < WN / 8; ++j) {
                    // To and fro, so that neighbouring products share a register of B at the turns.
                    const int there = i % 2 ? WN / 8 - 1 - j : j;
                    const unsigned (&four)[4] = slice_b[slice % 2][there / 2];
                    // Transposed matrices lie one below the other along k first, others along n.
                    constexpr int ALONG_N = B_LIES_ALONG_K ? 1 : 2, ALONG_K = B_LIES_ALONG_K ? 2 : 1;
                    const int first = there % 2 * ALONG_N;
                    multiply_add(sum[i][there], slice_a[slice % 2][i], four[first], four[first + ALONG_K]);
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < WM / 16 * 2; ++i) {
        const long long row = row0 + warp_row + i * 8 + lane / 4;
        SCALAR* const to = c + row * n;
        // Lanes of one row go together: the others of a warp take part in the exchange all the same.
        store_row<CHUNKS>(sum[i / 2], i % 2, to, column0 + warp_column, row < m ? n : 0, finish);
    }
}

// A kernel for each tile; `_deep` takes 128 bytes of k a step in a larger ring, `_any` every size and alignment. FINISH
// makes its `finish` out of the parameters that follow k.
#define MMA_KERNEL(NAME, WARPS_M, WARPS_N, WM, WN, ROW, STAGES, CHUNKS, FINISH, ...)                                 \
    extern "C" __global__ void __launch_bounds__(WARPS_M * WARPS_N * WARP, 1)                                        \
        NAME(const Bits* __restrict__ a, const Bits* __restrict__ b, SCALAR* __restrict__ c, long long m,            \
             long long n, long long k, ##__VA_ARGS__) {                                                              \
        multiply<WARPS_M, WARPS_N, WM, WN, ROW, STAGES, CHUNKS>(a, b, c, m, n, static_cast<int>(k), FINISH);         \
    }
#define SMALL_MMA_KERNELS(...)                                       \
    MMA_KERNEL(tile_64x64, 2, 2, 32, 32, 128, 3, true, __VA_ARGS__)  \
    MMA_KERNEL(tile_64x64_any, 2, 2, 32, 32, 128, 3, false, __VA_ARGS__)
#if defined(MULTIPLIES_FP8) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
// Here mma.sync makes float16 of FP8 first, for which a large tile leaves no registers: wgmma and tcgen05 multiply it.
#define MMA_KERNELS(...) SMALL_MMA_KERNELS(__VA_ARGS__)
#else
#define MMA_KERNELS(...)                                                   \
    MMA_KERNEL(tile_128x256_deep, 2, 4, 64, 64, 128, 3, true, __VA_ARGS__) \
    MMA_KERNEL(tile_128x256, 2, 4, 64, 64, 64, 4, true, __VA_ARGS__)       \
    MMA_KERNEL(tile_128x128, 2, 2, 64, 64, 64, 4, true, __VA_ARGS__)       \
    SMALL_MMA_KERNELS(__VA_ARGS__)
#endif
