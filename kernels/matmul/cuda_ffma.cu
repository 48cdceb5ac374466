// C = A B on the FMA units, from tiles in shared memory: what float32 needs where TF32 will not do.
//
// Work: 2 m n k FLOP. A block computes a BM x BN tile of C in steps of 8 along k, each staged in shared memory:
// A transposed to [k][row], B as it is. A warp computes CM x 16 rows by CN x 32 columns, its lanes set 4 x 8; a
// lane holds CM x 4 rows by CN x 4 columns in registers, so that CM + CN loads of 16 bytes feed 16 CM CN FMAs.
// A block reads (BM + BN) k elements, so C costs m n k (1/BM + 1/BN) reads, most of them from L2.
//
// Three stages run in a ring: cp.async fills the tile two steps ahead straight into shared memory, and registers
// for the next k are read while the FMAs of this one run. Before sm_80, and for 16-bit elements, which are
// widened to float on the way, plain loads and stores fill the stage instead.
//
// The ideas are those of CUTLASS's SIMT kernels and of Simon Boehm's ladder of SGEMM kernels.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#if defined(SCALAR_IS_FLOAT32) && __CUDA_ARCH__ >= 800
#define HAS_ASYNC_COPY 1
#else
#define HAS_ASYNC_COPY 0
#endif

namespace {

constexpr int kBlockK = 8;
constexpr int kStages = 3;
constexpr int kPad = 4;  // spreads the 4 rows x 8 ks that a warp writes over all 32 banks

// `*to = valid ? *from : 0` for Count elements side by side, perhaps not before wait_for_stage.
template <int Count>
__device__ __forceinline__ void fill(float* to, const SCALAR* from, bool valid)
{
#if HAS_ASYNC_COPY
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int source_bytes = valid ? Count * 4 : 0;
    if constexpr (Count == 4) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(source_bytes));
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(source_bytes));
    }
#else
#pragma unroll
    for (int i = 0; i < Count; ++i) to[i] = valid ? static_cast<float>(from[i]) : 0.0f;
#endif
}

__device__ __forceinline__ void commit_stage()
{
#if HAS_ASYNC_COPY
    asm volatile("cp.async.commit_group;");
#endif
}

// Waits for all but the newest kStages - 2 commits of this thread.
__device__ __forceinline__ void wait_for_stage()
{
#if HAS_ASYNC_COPY
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
#endif
}

template <int Count>
__device__ __forceinline__ void read4(float (&to)[Count][4], const float* from, int stride)
{
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        const float4 four = *reinterpret_cast<const float4*>(from + i * stride);
        to[i][0] = four.x, to[i][1] = four.y, to[i][2] = four.z, to[i][3] = four.w;
    }
}

// Loads and stores of B and C are of 4 elements if Vectors: then n is a multiple of 4 and B 16-byte aligned.
template <int WarpsM, int WarpsN, int CM, int CN, bool Vectors>
__device__ __forceinline__ void multiply(const SCALAR* __restrict__ a, const SCALAR* __restrict__ b,
                                         SCALAR* __restrict__ c, long long m, long long n, int k)
{
    constexpr int kThreads = WarpsM * WarpsN * 32;
    constexpr int kBlockM = WarpsM * CM * 16;
    constexpr int kBlockN = WarpsN * CN * 32;
    constexpr int kRowA = kBlockM + kPad;
    constexpr int kStageA = kBlockK * kRowA;
    constexpr int kStage = kStageA + kBlockK * kBlockN;
    __shared__ __align__(16) float stages[kStages * kStage];

    // Groups of 8 rows of tiles, column by column: blocks that run together share bands of A and B in L2.
    constexpr unsigned kGroup = 8;
    const unsigned rows_of_tiles = (m + kBlockM - 1) / kBlockM;
    const unsigned tiles_per_group = kGroup * static_cast<unsigned>((n + kBlockN - 1) / kBlockN);
    const unsigned group = blockIdx.x / tiles_per_group;
    const unsigned place = blockIdx.x % tiles_per_group;
    const unsigned height = min(rows_of_tiles - group * kGroup, kGroup);
    const long long row0 = static_cast<long long>(group * kGroup + place % height) * kBlockM;
    const long long column0 = static_cast<long long>(place / height) * kBlockN;

    // Filling a stage: a thread copies one k of every kPassA-th row of A, and one unit of every kPassB-th k of B.
    constexpr int kUnit = Vectors ? 4 : 1;
    constexpr int kPassA = kThreads / kBlockK;
    constexpr int kPassB = kThreads * kUnit / kBlockN;
    constexpr int kFillsA = kBlockM / kPassA;
    constexpr int kFillsB = kBlockK / kPassB;
    static_assert(kFillsA * kPassA == kBlockM && kFillsB * kPassB == kBlockK && kFillsA <= 32);
    const int thread = threadIdx.x;
    const int a_k = thread % kBlockK;
    const int a_row = thread / kBlockK;
    const int b_k = thread * kUnit / kBlockN;
    const int b_column = thread * kUnit % kBlockN;
    const bool b_inside = column0 + b_column < n;
    unsigned a_inside = 0;
#pragma unroll
    for (int i = 0; i < kFillsA; ++i) a_inside |= (row0 + a_row + i * kPassA < m) << i;
    float* const to_a = stages + a_k * kRowA + a_row;
    float* const to_b = stages + kStageA + b_k * kBlockN + b_column;
    const SCALAR* from_a = a + (row0 + a_row) * k + a_k;
    const SCALAR* from_b = b + b_k * n + column0 + b_column;
    const long long pass_a = static_cast<long long>(kPassA) * k;
    int left = k;

    const auto fill_next = [&](int offset) {
        const unsigned inside = a_k < left ? a_inside : 0;
#pragma unroll
        for (int i = 0; i < kFillsA; ++i) fill<1>(to_a + offset + i * kPassA, from_a + i * pass_a, inside >> i & 1);
#pragma unroll
        for (int i = 0; i < kFillsB; ++i) {
            const bool valid = b_inside && b_k + i * kPassB < left;
            fill<kUnit>(to_b + offset + i * kPassB * kBlockN, from_b + i * kPassB * n, valid);
        }
        commit_stage();
        from_a += kBlockK;
        from_b += kBlockK * n;
        left -= kBlockK;
    };

    // Lanes i and i ^ 1 share columns, i and i ^ 2 share rows: so the halves of a 16-byte load merge.
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int row = warp / WarpsN * CM * 16 + (lane / 16 * 2 + lane % 2) * 4;
    const int column = warp % WarpsN * CN * 32 + lane / 2 % 8 * 4;

    float sum[CM][4][CN][4] = {};
    float slice_a[2][CM][4];
    float slice_b[2][CN][4];
    const auto read_slice = [&](int buffer, int offset, int step) {
        read4<CM>(slice_a[buffer], stages + row + offset + step * kRowA, 16);
        read4<CN>(slice_b[buffer], stages + kStageA + column + offset + step * kBlockN, 32);
    };

#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) fill_next(stage * kStage);
    wait_for_stage();
    __syncthreads();
    read_slice(0, 0, 0);

    int read_offset = 0;
    int fill_offset = (kStages - 1) * kStage;
    for (int k0 = 0; k0 < k; k0 += kBlockK) {
#pragma unroll
        for (int step = 0; step < kBlockK; ++step) {
            if (step == kBlockK - 1) {
                // All threads have read this stage's last slice into registers, so it is the next to be filled.
                wait_for_stage();
                __syncthreads();
                fill_offset = read_offset;
                read_offset = read_offset == (kStages - 1) * kStage ? 0 : read_offset + kStage;
            }
            read_slice((step + 1) % 2, read_offset, (step + 1) % kBlockK);
            if (step == 0) fill_next(fill_offset);
#pragma unroll
            for (int i = 0; i < CM * 4; ++i) {
#pragma unroll
                for (int j = 0; j < CN * 4; ++j) {
                    sum[i / 4][i % 4][j / 4][j % 4] += slice_a[step % 2][i / 4][i % 4] * slice_b[step % 2][j / 4][j % 4];
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < CM * 4; ++i) {
        const long long to_row = row0 + row + i / 4 * 16 + i % 4;
        if (to_row >= m) continue;
#pragma unroll
        for (int j = 0; j < CN; ++j) {
            const long long to_column = column0 + column + j * 32;
            const float(&four)[4] = sum[i / 4][i % 4][j];
            SCALAR* to = c + to_row * n + to_column;
#ifdef SCALAR_IS_FLOAT32
            if constexpr (Vectors) {
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

// Named by the tile of a block; `_any` takes every n and alignment.
#define MATMUL(NAME, WARPS_M, WARPS_N, CM, CN, VECTORS)                                                       \
    extern "C" __global__ void __launch_bounds__(WARPS_M * WARPS_N * 32)                                        \
        NAME(const SCALAR* __restrict__ a, const SCALAR* __restrict__ b, SCALAR* __restrict__ c, long long m,  \
             long long n, long long k)                                                                          \
    {                                                                                                           \
        multiply<WARPS_M, WARPS_N, CM, CN, VECTORS>(a, b, c, m, n, static_cast<int>(k));                        \
    }

MATMUL(matmul_256x128, 4, 2, 4, 2, true)
MATMUL(matmul_128x128, 4, 2, 2, 2, true)
MATMUL(matmul_64x64, 2, 2, 2, 1, true)
MATMUL(matmul_64x64_any, 2, 2, 2, 1, false)
