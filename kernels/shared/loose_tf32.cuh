// C = A B of float32 matrices whose rows begin anywhere, on the tensor cores by mma.sync, in one launch and without a copy.
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 2 m n k FLOP in TF32, or three times as many where each factor is a
//   TF32 number and the rest that this one leaves: a b = a' b' + (a' b" + a" b'), wrong by 2^-22 of a b.
// Mapping: the blocks of a cluster share a tile of C, each over a part of k, in steps of 32 for each of its WARPS_K groups
//   of warps. cp.async brings words of 16 bytes as they lie: rows 4 apart begin alike, so that the elements of a lane
//   all lie by one number of places behind where they would be, and nothing is shifted. One word more a row and step has
//   those of the end. A ring of stages is on its way while warps take the factors of mma.sync one by one from shared
//   memory. Sums of warps and of blocks meet in shared memory, each block adds a part of the tile, in the order of k.
// Idea: wgmma needs TMA, TMA rows of whole 16 bytes, and a copy that has them is three times the traffic, and a launch
//   more; where C is small, or A or B has few rows, that takes longer than the product.
#pragma once

#include "shared/cluster_sums.cuh"
#include "shared/loose_copies.cuh"
#include "shared/overlap.cuh"
#include "shared/tile_order.cuh"

template <bool FIRST, class Yes, class No>
struct Either {
    using Type = Yes;
};
template <class Yes, class No>
struct Either<false, Yes, No> {
    using Type = No;
};

// What TF32 leaves of a number; the tensor cores cut off the number itself.
__device__ __forceinline__ unsigned rest_of(unsigned bits) {
    return __float_as_uint(__uint_as_float(bits) - __uint_as_float(bits & 0xffffe000u));
}

// A warp's sums of ROWS x 16 by COLUMNS x 8 elements.
template <int ROWS, int COLUMNS, bool WHOLE>
struct WarpSums {
    float sum[ROWS][COLUMNS][4] = {};
    float total[WHOLE ? ROWS : 1][COLUMNS][4] = {};  // the tensor cores cut off, float32 rounds
    float small[WHOLE ? ROWS : 1][COLUMNS][4] = {};

    // Over SLICE_K of k. With LAST those from `left` on are not there.
    template <bool LAST, class A, class B>
    __device__ __forceinline__ void add(const float* from_a, const float* from_b, int left) {
        unsigned a[ROWS][4], b[COLUMNS][2];
#pragma unroll
        for (int at = 0; at < SLICE_K; at += 8) {
            const auto read = [&](const float* from, int at_k) {
                return LAST && at_k >= left ? 0u : __float_as_uint(*from);
            };
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int at_k = at + j / 2 * 4;
                    a[i][j] = read(from_a + (i * 16 + j % 2 * 8) * A::NEXT_ROW + at_k * A::NEXT_K, at_k);
                }
            }
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i) {
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    const int at_k = at + j * 4;
                    b[i][j] = read(from_b + i * 8 * B::NEXT_ROW + at_k * B::NEXT_K, at_k);
                }
            }
            multiply(a, b);
        }
        if constexpr (WHOLE) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
                    for (int l = 0; l < 4; ++l) total[i][j][l] += sum[i][j][l], sum[i][j][l] = 0.0f;
                }
            }
        }
    }

    __device__ __forceinline__ void multiply(const unsigned (&a)[ROWS][4], const unsigned (&b)[COLUMNS][2]) {
        unsigned rest_a[ROWS][4], rest_b[COLUMNS][2];
        if constexpr (WHOLE) {
#pragma unroll
            for (int i = 0; i < ROWS * 4; ++i) rest_a[i / 4][i % 4] = rest_of(a[i / 4][i % 4]);
#pragma unroll
            for (int i = 0; i < COLUMNS * 2; ++i) rest_b[i / 2][i % 2] = rest_of(b[i / 2][i % 2]);
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                multiply_add(sum[i][j], a[i], b[j][0], b[j][1]);
                if constexpr (WHOLE) multiply_add(small[i][j], rest_a[i], b[j][0], b[j][1]);
            }
        }
        if constexpr (WHOLE) {
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) multiply_add(small[i][j], a[i], rest_b[j][0], rest_b[j][1]);
            }
        }
    }

    // An infinity leaves no rest that is a number: what the small products made of it does not count.
    __device__ __forceinline__ float of(int i, int j, int l) const {
        if constexpr (!WHOLE) return sum[i][j][l];
        const float more = small[i][j][l];
        return total[i][j][l] + (more == more ? more : 0.0f);
    }
};

// WARPS_M x WARPS_N x WARPS_K warps compute a tile of BLOCK_M x BLOCK_N; a block takes `slice` of k.
template <int BLOCK_M, int BLOCK_N, int WARPS_M, int WARPS_N, int WARPS_K, int STAGES, bool B_ALONG_K, bool WHOLE>
__device__ __forceinline__ void multiply_loose(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, long long m, long long n,
    long long k, int slice
) {
    constexpr int THREADS = WARPS_M * WARPS_N * WARPS_K * WARP, STEP = WARPS_K * SLICE_K;
    constexpr int ROWS = BLOCK_M / WARPS_M, COLUMNS = BLOCK_N / WARPS_N;  // of a warp
    using A = RowsAlongK<BLOCK_M, STEP, THREADS>;
    using B = typename Either<B_ALONG_K, RowsAlongK<BLOCK_N, STEP, THREADS>, RowsAlongN<BLOCK_N, STEP, THREADS>>::Type;
    constexpr int STAGE = A::FLOATS + B::FLOATS, PITCH = BLOCK_N + 8, TILE = BLOCK_M * PITCH;
    static_assert(WARPS_K * TILE <= STAGES * STAGE);
    extern __shared__ __align__(16) float stages[];

    const int thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    const int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M % WARPS_N, warp_k = warp / (WARPS_M * WARPS_N);
    const int blocks = blocks_of_cluster();
    const unsigned rank = rank_in_cluster();
    const TileIndex index = grouped_tile(
        blockIdx.x / blocks, static_cast<unsigned>((m + BLOCK_M - 1) / BLOCK_M),
        static_cast<unsigned>((n + BLOCK_N - 1) / BLOCK_N), 8
    );
    const long long row0 = static_cast<long long>(index.row) * BLOCK_M;
    const long long column0 = static_cast<long long>(index.column) * BLOCK_N;
    const int first = static_cast<int>(min(static_cast<long long>(rank) * slice, k));
    const int count = static_cast<int>(min(static_cast<long long>(slice), k - first));  // of k, of this block
    const int steps = (count + STEP - 1) / STEP;
    const A rows_a(a, m, k, row0, first);
    const B rows_b(b, n, k, column0, first);
    const int of_a = rows_a.place(warp_m * ROWS, row0, k, lane) + warp_k * SLICE_K * A::NEXT_K;
    const int of_b = A::FLOATS + rows_b.place(warp_n * COLUMNS, column0, k, lane) + warp_k * SLICE_K * B::NEXT_K;
    wait_for_previous();
    let_next_start();

    const auto fill = [&](int step) {
        if (step < steps) {
            float* const to = stages + step % STAGES * STAGE;
            rows_a.fill(to, step * STEP, count - step * STEP);
            rows_b.fill(to + A::FLOATS, step * STEP, count - step * STEP);
        }
        commit_copies();
    };
    WarpSums<ROWS / 16, COLUMNS / 8, WHOLE> sums;
#pragma unroll
    for (int step = 0; step < STAGES - 1; ++step) fill(step);
    for (int step = 0; step < steps; ++step) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        fill(step + STAGES - 1);
        const float* const from = stages + step % STAGES * STAGE;
        if ((step + 1) * STEP <= count) {
            sums.template add<false, A, B>(from + of_a, from + of_b, 0);
        } else {
            const int left = count - step * STEP - warp_k * SLICE_K - lane % 4;
            sums.template add<true, A, B>(from + of_a, from + of_b, left);
        }
    }
    wait_for_copies<0>();
    __syncthreads();

    float* const own = stages + warp_k * TILE + (warp_m * ROWS + lane / 4) * PITCH + warp_n * COLUMNS + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < ROWS / 16; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                *reinterpret_cast<float2*>(own + (i * 16 + half * 8) * PITCH + j * 8) =
                    make_float2(sums.of(i, j, half * 2), sums.of(i, j, half * 2 + 1));
            }
        }
    }
    __syncthreads();
    const auto sum_over_warps = [&](int place) {
        float sum = stages[place];
#pragma unroll
        for (int i = 1; i < WARPS_K; ++i) sum += stages[i * TILE + place];
        return sum;
    };
    const auto place_of = [&](int element) { return element / BLOCK_N * PITCH + element % BLOCK_N; };
    const auto store = [&](int element, float sum) {
        const long long row = row0 + element / BLOCK_N, column = column0 + element % BLOCK_N;
        if (row < m && column < n) c[row * n + column] = sum;
    };
    if (blocks == 1) {
#pragma unroll 4
        for (int i = thread; i < BLOCK_M * BLOCK_N; i += THREADS) store(i, sum_over_warps(place_of(i)));
        return;
    }
    if constexpr (WARPS_K > 1) {
        for (int i = thread; i < BLOCK_M * BLOCK_N; i += THREADS) stages[place_of(i)] = sum_over_warps(place_of(i));
    }
    meet_cluster();
    const int each = (BLOCK_M * BLOCK_N + blocks - 1) / blocks, begin = static_cast<int>(rank) * each;
    const int end = min(begin + each, BLOCK_M * BLOCK_N);
    for (int i = begin + thread; i < end; i += THREADS) {
        store(i, sum_over_cluster(stages + place_of(i), blocks));
    }
    meet_cluster();  // nobody leaves before all have read
}

#define LOOSE_KERNEL(BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, WARPS_K, STAGES, BLOCKS)                                  \
    extern "C" __global__ void __launch_bounds__(WARPS_M * WARPS_N * WARPS_K * WARP, BLOCKS)                       \
        loose_##BLOCK_M##x##BLOCK_N(const float* __restrict__ a, const float* __restrict__ b,                      \
                                    float* __restrict__ c, long long m, long long n, long long k,                  \
                                    long long slice) {                                                             \
        multiply_loose<BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, WARPS_K, STAGES, LOOSE_B_ALONG_K, LOOSE_WHOLE>(         \
            a, b, c, m, n, k, static_cast<int>(slice)                                                              \
        );                                                                                                         \
    }

// Sums of three products leave no registers for a second block of these.
#define LOOSE_KERNELS \
    LOOSE_KERNEL(16, 64, 1, 2, 4, 3, 1) \
    LOOSE_KERNEL(16, 128, 1, 4, 1, 4, 2) \
    LOOSE_KERNEL(32, 32, 1, 1, 4, 3, 2) \
    LOOSE_KERNEL(32, 64, 1, 2, 4, 3, 1) \
    LOOSE_KERNEL(32, 128, 1, 4, 1, 4, 2) \
    LOOSE_KERNEL(64, 32, 2, 1, 4, 3, 1) \
    LOOSE_KERNEL(64, 64, 2, 2, 2, 3, (LOOSE_WHOLE ? 1 : 2)) \
    LOOSE_KERNEL(64, 128, 2, 4, 1, 4, (LOOSE_WHOLE ? 1 : 2)) \
    LOOSE_KERNEL(128, 16, 4, 1, 2, 3, 1) \
    LOOSE_KERNEL(128, 32, 4, 1, 2, 3, 1) \
    LOOSE_KERNEL(128, 64, 4, 2, 1, 4, (LOOSE_WHOLE ? 1 : 2))
