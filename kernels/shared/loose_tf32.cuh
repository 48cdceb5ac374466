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

    // Over SLICE_K of k, from a lane's own first on. With LAST those from `until` on are not there.
    template <bool LAST, class A, class B>
    __device__ __forceinline__ void add(
        const float* from, const int (&of_a)[ROWS * 2], const int (&of_b)[COLUMNS], int until
    ) {
        const int left = until - static_cast<int>(threadIdx.x) % 4;
        unsigned a[ROWS][4], b[COLUMNS][2];
#pragma unroll
        for (int at = 0; at < SLICE_K; at += 8) {
            if (LAST && at >= until) break;
            const auto read = [&](const float* place, int at_k) {
                return LAST && at_k >= left ? 0u : __float_as_uint(*place);
            };
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int at_k = at + j / 2 * 4;
                    a[i][j] = read(from + of_a[i * 2 + j % 2] + at_k * A::NEXT_K, at_k);
                }
            }
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i) {
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    const int at_k = at + j * 4;
                    b[i][j] = read(from + of_b[i] + at_k * B::NEXT_K, at_k);
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

constexpr int MOST_SHARING = 16;  // blocks, of a tile

// Rows of a tile of sums, each by LANES threads side by side.
template <typename A, typename B, int LANES, int THREADS, int PITCH>
struct RowsOfSums {
    int thread;

    template <typename Take>
    __device__ __forceinline__ void each(int begin, int end, const Take& take) const {
        const int column = thread % LANES, place = B::sum_of(column);
#pragma unroll 4
        for (int row = begin + thread / LANES; row < end; row += THREADS / LANES)
            take(row, column, A::slot_of(row) * PITCH + place);
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
    constexpr int STAGE = A::FLOATS + B::FLOATS, PITCH = B::SUMS + 8, TILE = BLOCK_M * PITCH;
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
    int of_a[ROWS / 8], of_b[COLUMNS / 8];
    rows_a.find(of_a, warp_m * ROWS, row0, k, lane);
    rows_b.find(of_b, warp_n * COLUMNS, column0, k, lane);
#pragma unroll
    for (int i = 0; i < ROWS / 8; ++i) of_a[i] += warp_k * SLICE_K * A::NEXT_K;
#pragma unroll
    for (int i = 0; i < COLUMNS / 8; ++i) of_b[i] += A::FLOATS + warp_k * SLICE_K * B::NEXT_K;
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
#pragma unroll 1  // code that runs once comes from memory
    for (int step = 0; step < STAGES - 1; ++step) fill(step);
    for (int step = 0; step < steps; ++step) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        fill(step + STAGES - 1);
        const float* const from = stages + step % STAGES * STAGE;
        if ((step + 1) * STEP <= count) {
            sums.template add<false, A, B>(from, of_a, of_b, 0);
        } else {
            sums.template add<true, A, B>(from, of_a, of_b, count - step * STEP - warp_k * SLICE_K);
        }
    }
    wait_for_copies<0>();
    __syncthreads();

    float* const own = stages + warp_k * TILE + (warp_m * ROWS + lane / 4) * PITCH;
#pragma unroll
    for (int i = 0; i < ROWS / 16; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int column = B::sum_of_slot(warp_n * COLUMNS + j * 8 + lane % 4 * 2);
                *reinterpret_cast<float2*>(own + (i * 16 + half * 8) * PITCH + column) =
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
    constexpr int LANES = BLOCK_N < WARP ? BLOCK_N : WARP, PIECES = BLOCK_N / LANES;  // of a row
    const RowsOfSums<A, B, LANES, THREADS, PITCH> tile{thread};  // a row by a warp, or several where they are short
    const int rows = static_cast<int>(min(m - row0, static_cast<long long>(BLOCK_M)));
    const int columns = static_cast<int>(min(n - column0, static_cast<long long>(BLOCK_N)));
    float* const first_c = c + row0 * n + column0;
    if (blocks == 1) {
        tile.each(0, rows, [&](int row, int column, int place) {
            float* const to = first_c + row * n + column;
#pragma unroll
            for (int i = 0; i < PIECES; ++i) {
                if (column + i * LANES < columns) to[i * LANES] = sum_over_warps(place + i * B::NEXT_SUMS);
            }
        });
        return;
    }
    if constexpr (WARPS_K > 1) {
        tile.each(0, BLOCK_M, [&](int, int, int place) {
#pragma unroll
            for (int i = 0; i < PIECES; ++i)
                stages[place + i * B::NEXT_SUMS] = sum_over_warps(place + i * B::NEXT_SUMS);
        });
    }
    arrive_with_writes();
    wait_for_cluster();
    const int each = (rows + blocks - 1) / blocks, begin = static_cast<int>(rank) * each;
    tile.each(begin, min(begin + each, rows), [&](int row, int column, int place) {
        float* const to = first_c + row * n + column;
#pragma unroll 1
        for (int i = 0; i < PIECES; ++i) {
            const float sum = sum_over_cluster<MOST_SHARING>(stages + place + i * B::NEXT_SUMS, blocks);
            if (column + i * LANES < columns) to[i * LANES] = sum;
        }
    });
    meet_cluster();  // nobody leaves before all have read
}

#define LOOSE_KERNEL_CALLED(NAME, BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, WARPS_K, STAGES, BLOCKS)                    \
    extern "C" __global__ void __launch_bounds__(WARPS_M * WARPS_N * WARPS_K * WARP, BLOCKS)                       \
        NAME(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, long long m,         \
             long long n, long long k, long long slice) {                                                          \
        multiply_loose<BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, WARPS_K, STAGES, LOOSE_B_ALONG_K, LOOSE_WHOLE>(         \
            a, b, c, m, n, k, static_cast<int>(slice)                                                              \
        );                                                                                                         \
    }
#define LOOSE_KERNEL(BLOCK_M, BLOCK_N, ...) \
    LOOSE_KERNEL_CALLED(loose_##BLOCK_M##x##BLOCK_N, BLOCK_M, BLOCK_N, __VA_ARGS__)

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
    LOOSE_KERNEL(128, 64, 4, 2, 1, 4, (LOOSE_WHOLE ? 1 : 2)) \
    LOOSE_KERNEL_CALLED(loose_64x64_many, 64, 64, 2, 2, 1, 3, (LOOSE_WHOLE ? 2 : 4)) \
    LOOSE_KERNEL_CALLED(loose_32x64_many, 32, 64, 1, 4, 1, 3, (LOOSE_WHOLE ? 4 : 6)) \
    LOOSE_KERNEL_CALLED(loose_32x32_many, 32, 32, 1, 2, 2, 3, (LOOSE_WHOLE ? 4 : 5))
