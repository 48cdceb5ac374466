// C = A B on the FMA units, from tiles in shared memory: what float32 needs where TF32 will not do.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP, (m k + k n + m n) s compulsory bytes. A block reads
//   (BM + BN) k elements, so C costs m n k (1/BM + 1/BN) reads, most of them from L2.
// Mapping: a block computes a BM x BN tile of C in steps of 8 along k, each staged in shared memory: A transposed to
//   [k][row], B as it is. A warp computes CM x 16 rows by CN x 32 columns, with its lanes in a grid of 4 x 8; a lane
//   holds CM x 4 rows by CN x 4 columns in registers, so that CM + CN loads of 16 bytes feed 16 CM CN FMAs. Three
//   stages run in a ring: cp.async fills the tile two steps ahead straight into shared memory, and registers for the
//   next k are read while the FMAs of this one run. Before sm_80, and for 16-bit elements, which are widened to float
//   on the way, plain loads and stores fill the stage instead. Where C has too few tiles for all multiprocessors,
//   float32 sums are split along k: block (tile, slice) adds up its share of k, and add_slices adds the shares, always
//   in the same order.
// Idea: cuda_tiles, whose FMAs still wait for two loads from shared memory each: a thread with a tile of its own in
//   registers loads CM + CN packs for 16 CM CN of them. CUTLASS's SIMT kernels and Simon Boehm's ladder of SGEMM
//   kernels.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "matmul/few_rows.cuh"
#include "shared/tile_order.cuh"

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800
#define HAS_ASYNC_COPY 1
#else
#define HAS_ASYNC_COPY 0
#endif

namespace {

constexpr int BLOCK_K = 8;
constexpr int STAGES = 3;
constexpr int PAD = 4;  // spreads the 4 rows x 8 ks that a warp writes over all 32 banks

// `*to = valid ? *from : 0` for COUNT elements side by side, perhaps not before wait_for_stage.
template <int COUNT>
__device__ __forceinline__ void fill(float* to, const SCALAR* from, bool valid) {
#if HAS_ASYNC_COPY
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int source_bytes = valid ? COUNT * 4 : 0;
    if constexpr (COUNT == 4) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(source_bytes));
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(source_bytes));
    }
#else
#pragma unroll
    for (int i = 0; i < COUNT; ++i) to[i] = valid ? static_cast<float>(from[i]) : 0.0f;
#endif
}

__device__ __forceinline__ void commit_stage() {
#if HAS_ASYNC_COPY
    asm volatile("cp.async.commit_group;");
#endif
}

// Waits for all but the newest STAGES - 2 commits of this thread.
__device__ __forceinline__ void wait_for_stage() {
#if HAS_ASYNC_COPY
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
#endif
}

template <int COUNT>
__device__ __forceinline__ void read4(float (&to)[COUNT][4], const float* from, int stride) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        const float4 four = *reinterpret_cast<const float4*>(from + i * stride);
        to[i][0] = four.x, to[i][1] = four.y, to[i][2] = four.z, to[i][3] = four.w;
    }
}

// Loads and stores of B and C are of 4 elements if VECTORS: then n is a multiple of 4 and B 16-byte aligned.
template <int WARPS_M, int WARPS_N, int CM, int CN, bool VECTORS, bool SLICES>
__device__ __forceinline__ void multiply(
    const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, long long m, long long n, int k,
    int slice
) {
    constexpr int THREADS = WARPS_M * WARPS_N * 32;
    constexpr int BLOCK_M = WARPS_M * CM * 16;
    constexpr int BLOCK_N = WARPS_N * CN * 32;
    constexpr int ROW_A = BLOCK_M + PAD;
    constexpr int STAGE_A = BLOCK_K * ROW_A;
    constexpr int STAGE = STAGE_A + BLOCK_K * BLOCK_N;
    __shared__ __align__(16) float stages[STAGES * STAGE];

    const TileIndex index = grouped_tile(blockIdx.x, (m + BLOCK_M - 1) / BLOCK_M, (n + BLOCK_N - 1) / BLOCK_N, 8);
    const long long row0 = static_cast<long long>(index.row) * BLOCK_M;
    const long long column0 = static_cast<long long>(index.column) * BLOCK_N;
    const int first = SLICES ? blockIdx.y * slice : 0;  // of k
    const int last = SLICES ? min(first + slice, k) : k;

    // Filling a stage: a thread copies one k of every PASS_A-th row of A, and one unit of every PASS_B-th k of B.
    constexpr int UNIT = VECTORS ? 4 : 1;
    constexpr int PASS_A = THREADS / BLOCK_K;
    constexpr int PASS_B = THREADS * UNIT / BLOCK_N;
    constexpr int FILLS_A = BLOCK_M / PASS_A;
    constexpr int FILLS_B = BLOCK_K / PASS_B;
    static_assert(FILLS_A * PASS_A == BLOCK_M && FILLS_B * PASS_B == BLOCK_K && FILLS_A <= 32);
    const int thread = threadIdx.x;
    const int a_k = thread % BLOCK_K;
    const int a_row = thread / BLOCK_K;
    const int b_k = thread * UNIT / BLOCK_N;
    const int b_column = thread * UNIT % BLOCK_N;
    const bool b_inside = column0 + b_column < n;
    unsigned a_inside = 0;
#pragma unroll
    for (int i = 0; i < FILLS_A; ++i) a_inside |= (row0 + a_row + i * PASS_A < m) << i;
    float* const to_a = stages + a_k * ROW_A + a_row;
    float* const to_b = stages + STAGE_A + b_k * BLOCK_N + b_column;
    const SCALAR* from_a = a + (row0 + a_row) * k + first + a_k;
    const SCALAR* from_b = b + (first + b_k) * n + column0 + b_column;
    const long long pass_a = static_cast<long long>(PASS_A) * k;
    int left = last - first;

    const auto fill_next = [&](int offset) {
        const unsigned inside = a_k < left ? a_inside : 0;
#pragma unroll
        for (int i = 0; i < FILLS_A; ++i) fill<1>(to_a + offset + i * PASS_A, from_a + i * pass_a, inside >> i & 1);
#pragma unroll
        for (int i = 0; i < FILLS_B; ++i) {
            const bool valid = b_inside && b_k + i * PASS_B < left;
            fill<UNIT>(to_b + offset + i * PASS_B * BLOCK_N, from_b + i * PASS_B * n, valid);
        }
        commit_stage();
        from_a += BLOCK_K;
        from_b += BLOCK_K * n;
        left -= BLOCK_K;
    };

    // Lanes i and i ^ 1 share columns, i and i ^ 2 share rows: so the halves of a 16-byte load merge.
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int row = warp / WARPS_N * CM * 16 + (lane / 16 * 2 + lane % 2) * 4;
    const int column = warp % WARPS_N * CN * 32 + lane / 2 % 8 * 4;

    float sum[CM][4][CN][4] = {};
    float slice_a[2][CM][4];
    float slice_b[2][CN][4];
    const auto read_slice = [&](int buffer, int offset, int step) {
        read4<CM>(slice_a[buffer], stages + row + offset + step * ROW_A, 16);
        read4<CN>(slice_b[buffer], stages + STAGE_A + column + offset + step * BLOCK_N, 32);
    };

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) fill_next(stage * STAGE);
    wait_for_stage();
    __syncthreads();
    read_slice(0, 0, 0);

    int read_offset = 0;
    int fill_offset = (STAGES - 1) * STAGE;
    for (int k0 = first; k0 < last; k0 += BLOCK_K) {
#pragma unroll
        for (int step = 0; step < BLOCK_K; ++step) {
            if (step == BLOCK_K - 1) {
                // All threads have read this stage's last slice into registers, so it is the next to be filled.
                wait_for_stage();
                __syncthreads();
                fill_offset = read_offset;
                read_offset = read_offset == (STAGES - 1) * STAGE ? 0 : read_offset + STAGE;
            }
            read_slice((step + 1) % 2, read_offset, (step + 1) % BLOCK_K);
            if (step == 0) fill_next(fill_offset);
#pragma unroll
            for (int i = 0; i < CM * 4; ++i) {
#pragma unroll
                for (int j = 0; j < CN * 4; ++j) {
                    sum[i / 4][i % 4][j / 4][j % 4] +=
                        slice_a[step % 2][i / 4][i % 4] * slice_b[step % 2][j / 4][j % 4];
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < CM * 4; ++i) {
        const long long to_row = row0 + row + i / 4 * 16 + i % 4;
        if (to_row >= m) continue;
        SCALAR* const row_of_c = c + (SLICES ? blockIdx.y * m + to_row : to_row) * n;
#pragma unroll
        for (int j = 0; j < CN; ++j) {
            const long long to_column = column0 + column + j * 32;
            const float (&four)[4] = sum[i / 4][i % 4][j];
            SCALAR* to = row_of_c + to_column;
#ifdef SCALAR_IS_FLOAT32
            if constexpr (VECTORS) {
                if (to_column < n) *reinterpret_cast<float4*>(to) = make_float4(four[0], four[1], four[2], four[3]);
                continue;
            }
#endif
#pragma unroll
            for (int l = 0; l < 4; ++l) {
                if (to_column + l < n) to[l] = static_cast<SCALAR>(four[l]);
            }
        }
    }
}

}  // namespace

// Named by the tile of a block; `_any` takes every n and alignment, `_slices` leaves one C for each slice of k.
#define MATMUL(NAME, WARPS_M, WARPS_N, CM, CN, VECTORS, SLICES)                                               \
    extern "C" __global__ void __launch_bounds__(WARPS_M * WARPS_N * 32)                                      \
        NAME(const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, long long m, \
             long long n, long long k, long long slice) {                                                     \
        multiply<WARPS_M, WARPS_N, CM, CN, VECTORS, SLICES>(a, b, c, m, n, static_cast<int>(k),               \
                                                            static_cast<int>(slice));                         \
    }

MATMUL(matmul_256x128, 4, 2, 4, 2, true, false)
MATMUL(matmul_128x128, 4, 2, 2, 2, true, false)
MATMUL(matmul_64x64, 2, 2, 2, 1, true, false)
MATMUL(matmul_64x64_any, 2, 2, 2, 1, false, false)

#ifdef SCALAR_IS_FLOAT32
MATMUL(matmul_64x64_slices, 2, 2, 2, 1, true, true)
MATMUL(matmul_64x64_slices_any, 2, 2, 2, 1, false, true)

// c[i] = sum over slices of parts[slice][i], for `count` elements.
extern "C" __global__ void __launch_bounds__(256) add_slices(
    const float* __restrict__ parts, float* __restrict__ c, long long count, long long slices
) {
    const long long at = blockIdx.x * 256ll + threadIdx.x;
    if (at >= count) return;
    float sum = 0.0f;
    for (long long slice = 0; slice < slices; ++slice) sum += parts[slice * count + at];
    c[at] = sum;
}
#endif
