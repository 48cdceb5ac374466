// C = finish(A B) on Hopper's tensor cores: the main loop that the matmul kernels share.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); 2 m n k FLOP. C holds SCALAR, and so do A and B unless
//   MULTIPLIES_TF32 or MULTIPLIES_FP8 is defined before this file is included.
// Mapping: a block computes BLOCK_M x BLOCK_N tiles of C, 64 rows of each by one warpgroup, in steps of 128 bytes along
//   k: 64 elements of 16 bits, 32 of TF32, 128 of FP8. One more warpgroup only copies: a thread of it has TMA fill a
//   ring of STAGES stages, and waits on a stage's `empty` barrier before it fills it again. The others wait on its
//   `full` barrier, and let one batch of wgmma run while they start the next. The copying warpgroup gives up its
//   registers, as sums take 128 a thread where BLOCK_N is 256. The grid is persistent: each block takes every
//   gridDim.x-th tile, and the first copies for the next run during the stores. TMA fills in zeros beyond the edges of
//   A and B, so that any size works; it needs rows of whole 16-byte units.
// Idea: CUTLASS's warp-specialised cooperative kernels and pranjalssh/fast.cu. Two blocks of a cluster (CLUSTER = 2)
//   compute tiles one above the other. Each copies half of the band of B that both need into the shared memory of both:
//   32 KiB a step instead of 48 from L2 for 128 x 256.
#pragma once

#include "shared/common.cuh"
#include "shared/hopper.cuh"
#include "shared/tile_order.cuh"

// A is m x k. B is n x k, but k x n where elements have 16 bits: wgmma transposes no others.
#if defined(MULTIPLIES_TF32)
#define PRODUCTS "k8.f32.tf32.tf32"
#define TRANSPOSES
constexpr int STEP_K = 32;
constexpr bool B_LIES_ALONG_K = true;
#elif defined(MULTIPLIES_FP8)
#define PRODUCTS "k32.f32.e4m3.e4m3"
#define TRANSPOSES
constexpr int STEP_K = 128;
constexpr bool B_LIES_ALONG_K = true;
#else
#ifdef SCALAR_IS_FLOAT16
#define PRODUCTS "k16.f32.f16.f16"
#else
#define PRODUCTS "k16.f32.bf16.bf16"
#endif
#define TRANSPOSES ", 0, 1"
constexpr int STEP_K = 64;
constexpr bool B_LIES_ALONG_K = false;
#endif

constexpr int ROW = 128;       // bytes of a row in shared memory: what the swizzle spans
constexpr int ATOM = 8 * ROW;  // the swizzle's period
constexpr int BAND = 64;       // columns of B that a box holds where B lies along n

// ---- wgmma: sum (64 x 64, 128, 192 or 256) += a b, spread over the threads as store_tile says ---------

#define SUMS_4(i) "+f"(sum[i]), "+f"(sum[(i) + 1]), "+f"(sum[(i) + 2]), "+f"(sum[(i) + 3])
#define SUMS_16(i) SUMS_4(i), SUMS_4((i) + 4), SUMS_4((i) + 8), SUMS_4((i) + 12)
#define SUMS_32(i) SUMS_16(i), SUMS_16((i) + 16)
#define NAMES_32                                                                                                  \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "   \
    "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                                                  \
    NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, "  \
    "%51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_96                                                                                                  \
    NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, "            \
    "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NAMES_128                                                                                                 \
    NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "           \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define MULTIPLY_ADD(COLUMNS, NAMES, A, B, ...)                                                                   \
    asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"                                                   \
                 "wgmma.mma_async.sync.aligned.m64n" #COLUMNS PRODUCTS " {" NAMES "}, " A ", " B                  \
                 ", add, 1, 1" TRANSPOSES ";\n}"                                                                  \
                 : __VA_ARGS__                                                                                    \
                 : "l"(a), "l"(b))

__device__ __forceinline__ void multiply_add(float (&sum)[32], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(64, NAMES_32, "%32", "%33", SUMS_32(0));
}
__device__ __forceinline__ void multiply_add(float (&sum)[64], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(128, NAMES_64, "%64", "%65", SUMS_32(0), SUMS_32(32));
}
__device__ __forceinline__ void multiply_add(float (&sum)[96], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(192, NAMES_96, "%96", "%97", SUMS_32(0), SUMS_32(32), SUMS_32(64));
}
__device__ __forceinline__ void multiply_add(float (&sum)[128], unsigned long long a, unsigned long long b) {
    MULTIPLY_ADD(256, NAMES_128, "%128", "%129", SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96));
}

// ---- The stores --------------------------------------------------------------------------------

constexpr int BOX_N = ROW / sizeof(SCALAR);  // columns of C in a box
constexpr int BOX = 64 * ROW;                // bytes of a box: the rows of a warpgroup
constexpr int BOXES = 2;                     // of a warpgroup: one is written while TMA reads the other

// The 64 rows of a warpgroup, 16 to a warp, by way of shared memory. With g = lane / 4 and q = lane % 4 a thread holds
// columns 8 j + 2 q and the next of rows g and g + 8, in sum[4 j] to sum[4 j + 3]. Chunks of 16 bytes lie where the
// swizzle wants them, in place XOR row, so that the 8 rows of a matrix fall in different banks.
template <int COUNT, class Finish>
__device__ __forceinline__ void store_tile(
    const float (&sum)[COUNT], const CUtensorMap& c, unsigned char* boxes, unsigned& stored, int row0, int column0,
    const Finish& finish
) {
    const int warpgroup = threadIdx.x / WARPGROUP;
    const int lane = threadIdx.x % WARP;
    const int warp_row = threadIdx.x % WARPGROUP / WARP * 16;
    const bool leads = threadIdx.x % WARPGROUP == 0;
#pragma unroll
    for (int first = 0; first < COUNT * 2; first += BOX_N) {
        unsigned char* const box = boxes + stored++ % BOXES * BOX;
        if (leads) wait_for_reads<BOXES - 1>();
        meet_warpgroup(warpgroup);
#pragma unroll
        for (int column = first; column < first + BOX_N; column += 16) {
            SCALAR elements[4][2];  // rows g and g + 8 of 8 columns, then of the next 8
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float* const sums = &sum[column / 2 + i * 2];
                const int at = column0 + column + i / 2 * 8 + lane % 4 * 2;
                const float2 pair = finish(make_float2(sums[0], sums[1]), at);
                from_floats(pair.x, pair.y, elements[i]);
            }
            const int chunk = (column - first) * static_cast<int>(sizeof(SCALAR)) / 16;
#ifdef SCALAR_IS_FLOAT32
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = warp_row + i % 2 * 8 + lane / 4;
                const int place = (chunk + i / 2 * 2 + lane % 4 / 2) ^ row % 8;
                *reinterpret_cast<float2*>(box + row * ROW + place * 16 + lane % 2 * 8) =
                    make_float2(elements[i][0], elements[i][1]);
            }
#else
            const int row = warp_row + lane % 16;
            const int place = (chunk + lane / 16) ^ row % 8;
            store_matrices(box + row * ROW + place * 16, reinterpret_cast<unsigned (&)[4]>(elements));
#endif
        }
        publish_writes();
        meet_warpgroup(warpgroup);
        if (leads) store_box(c, column0 + first, row0, box);
    }
}

// ---- The main loop -----------------------------------------------------------------------------

// `finish(sums, column)` makes two neighbours of C from their sums, the first in an even column.
template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER, class Finish>
__device__ __forceinline__ void multiply(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, long long m, long long n, long long k,
    const Finish& finish
) {
    constexpr int BLOCK_M = CONSUMERS * 64;
    constexpr int BYTES_A = BLOCK_M * ROW;
    constexpr int BYTES_B = BLOCK_N * ROW;
    constexpr int STAGE = BYTES_A + BYTES_B;
    extern __shared__ __align__(1024) unsigned char stages[];
    unsigned char* const boxes = stages + STAGES * STAGE;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + CONSUMERS * BOXES * BOX);
    Barrier* const empty = full + STAGES;

    const unsigned rank = CLUSTER == 1 ? 0 : rank_in_cluster();
    // The shuffle from lane 0 shows the compiler that the value is the same for a warp.
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CONSUMERS * CLUSTER);
        }
        publish_barriers();
    }
    if constexpr (CLUSTER == 1) __syncthreads();
    else meet_cluster();

    // Tiles of a cluster, in groups of about 2048 rows.
    constexpr int CLUSTER_M = BLOCK_M * CLUSTER;
    const unsigned rows_of_tiles = (m + CLUSTER_M - 1) / CLUSTER_M;
    const unsigned columns_of_tiles = (n + BLOCK_N - 1) / BLOCK_N;
    const unsigned tiles = rows_of_tiles * columns_of_tiles;
    const auto row_and_column = [&](unsigned tile, int& row, int& column) {
        const TileIndex index = grouped_tile(tile, rows_of_tiles, columns_of_tiles, 2048 / CLUSTER_M);
        row = index.row * CLUSTER_M + rank * BLOCK_M;
        column = index.column * BLOCK_N;
    };
    const int steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == CONSUMERS) {
        if constexpr (CONSUMERS == 2) give_registers<40>();
        if (threadIdx.x % WARPGROUP == 0) {
            for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
                int row, column;
                row_and_column(tile, row, column);
                for (int step = 0; step < steps; ++step, next_stage()) {
                    wait_for(empty + stage, phase ^ 1);
                    arrive_and_expect(full + stage, STAGE);
                    unsigned char* const to_a = stages + stage * STAGE;
                    unsigned char* const to_b = to_a + BYTES_A + rank * (BYTES_B / CLUSTER);
                    const int part = column + rank * (BLOCK_N / CLUSTER);
                    const auto copy_b = [&](unsigned char* to, int x, int y) {
                        if constexpr (CLUSTER == 1) copy_box(to, b, x, y, full + stage);
                        else copy_box_to((1 << CLUSTER) - 1, to, b, x, y, full + stage);
                    };
                    copy_box(to_a, a, step * STEP_K, row, full + stage);
                    if constexpr (B_LIES_ALONG_K) {
                        copy_b(to_b, step * STEP_K, part);
                    } else {
#pragma unroll
                        for (int i = 0; i < BLOCK_N / CLUSTER / BAND; ++i) {
                            copy_b(to_b + i * BAND * ROW, part + i * BAND, step * STEP_K);
                        }
                    }
                }
            }
        }
    } else {
        if constexpr (CONSUMERS == 2) take_registers<232>();
        unsigned stored = 0;
        const auto release = [&](int stage) {
            if (threadIdx.x % WARPGROUP < CLUSTER) arrive_at(empty + stage, threadIdx.x % WARPGROUP);
        };
        for (unsigned tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER) {
            float sum[BLOCK_N / 2] = {};
            int before = 0;
            for (int step = 0; step < steps; ++step, next_stage()) {
                wait_for(full + stage, phase);
                const unsigned char* const from = stages + stage * STAGE;
                const unsigned long long tile_a = swizzled_tile(from + warpgroup * 64 * ROW, ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + BYTES_A, ATOM, BAND * ROW);
                begin_products();
#pragma unroll
                for (int part = 0; part < 4; ++part) {
                    // 32 bytes along k: within a row, or 16 rows on.
                    multiply_add(sum, tile_a + part * 2, tile_b + part * (B_LIES_ALONG_K ? 2 : 16 * ROW / 16));
                }
                commit_products();
                wait_for_products<1>();
                if (step > 0) release(before);
                before = stage;
            }
            wait_for_products<0>();
            release(before);

            int row, column;
            row_and_column(tile, row, column);
            store_tile(sum, c, boxes + warpgroup * BOXES * BOX, stored, row + warpgroup * 64, column, finish);
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1) meet_cluster();
}

// A kernel for each tile. FINISH makes its `finish` out of the parameters that follow k.
#define WGMMA_KERNEL(NAME, CONSUMERS, BLOCK_N, STAGES, CLUSTER, FINISH, ...)                                      \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, long long m, long long n, long long k, ##__VA_ARGS__) {       \
        multiply<CONSUMERS, BLOCK_N, STAGES, CLUSTER>(a, b, c, m, n, k, FINISH);                                  \
    }
#define WGMMA_KERNELS(...)                                     \
    WGMMA_KERNEL(tile_128x256_pair, 2, 256, 4, 2, __VA_ARGS__) \
    WGMMA_KERNEL(tile_128x256, 2, 256, 4, 1, __VA_ARGS__)      \
    WGMMA_KERNEL(tile_128x192, 2, 192, 4, 1, __VA_ARGS__)      \
    WGMMA_KERNEL(tile_128x128, 2, 128, 6, 1, __VA_ARGS__)      \
    WGMMA_KERNEL(tile_64x128, 1, 128, 8, 1, __VA_ARGS__)       \
    WGMMA_KERNEL(tile_64x64, 1, 64, 8, 1, __VA_ARGS__)
