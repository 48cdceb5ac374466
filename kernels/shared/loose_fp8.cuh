// Products of FP8 (E4M3) matrices whose rows begin anywhere, by mma.sync, in one launch and without a copy; bfloat16 out.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[j, l]), or with a scale for every 128 of k the sum over blocks t of
//   scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j, l]); 2 m n k FLOP.
// Mapping: the blocks of a cluster share a tile of C, each over a part of k, in steps of 128 for each of its WARPS_K groups
//   of warps. cp.async brings the words of 16 bytes that a row lies in, as they lie, into a ring of stages; one word more
//   a row and step has those of the end. A lane takes 4 elements of a row out of two words of 4 bytes in shared memory, and
//   makes of them the float16 that they are: Hopper's mma.sync would do so each time. Any order of k will do, and 4
//   neighbours are what a lane has of both operands. Sums of warps and of blocks meet in shared memory.
// Idea: wgmma needs TMA, TMA rows of whole 16 bytes, and a copy that has them is three times the traffic, and a launch
//   more; where C is small, or A or B has few rows, that takes longer than the product.
#pragma once

#include "shared/cluster_sums.cuh"
#include "shared/loose_fp8_products.cuh"
#include "shared/loose_stores.cuh"
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

// WARPS_M x WARPS_N x WARPS_K warps compute a tile of BLOCK_M x BLOCK_N; COPIERS more copy for them, or all do.
template <int BLOCK_M, int BLOCK_N, int WARPS_M, int WARPS_N, int WARPS_K, int STAGES_, int COPIERS_>
struct LooseFp8 {
    static constexpr int TILE_ROWS = BLOCK_M, TILE_COLUMNS = BLOCK_N, ALONG_K = WARPS_K;
    static constexpr int STAGES = STAGES_, COPIERS = COPIERS_;
    static constexpr int WARPS = WARPS_M * WARPS_N * WARPS_K, THREADS = (WARPS + COPIERS) * WARP;
    static constexpr int STEP = WARPS_K * BLOCK_K;                                        // of k
    static constexpr int ROWS = BLOCK_M / WARPS_M / 16, COLUMNS = BLOCK_N / WARPS_N / 8;  // of a warp, in products
    using Sums = float[ROWS][COLUMNS][4];
    using A = typename Either<(COPIERS > 0), BulkRows<BLOCK_M, STEP>, LooseRows<BLOCK_M, STEP, THREADS>>::Type;
    using B = typename Either<(COPIERS > 0), BulkRows<BLOCK_N, STEP>, LooseRows<BLOCK_N, STEP, THREADS>>::Type;
    static constexpr int STAGE = A::BYTES + B::BYTES;
    static constexpr int PITCH_SUMS = BLOCK_N + 8, SUMS = BLOCK_M * PITCH_SUMS;  // of a tile, in floats
    static_assert(WARPS_K * SUMS * 4 <= STAGES * STAGE && 128 % BLOCK_N == 0);

    static __device__ __forceinline__ int warp() { return threadIdx.x / WARP; }
    static __device__ __forceinline__ int row() { return warp() % WARPS_M * (ROWS * 16); }  // the warp's first
    static __device__ __forceinline__ int column() { return warp() / WARPS_M % WARPS_N * (COLUMNS * 8); }
    static __device__ __forceinline__ int along_k() { return warp() / (WARPS_M * WARPS_N); }

    // Warps that only copy fill stages while others multiply what is there: `multiply(step)`.
    template <class Multiply>
    static __device__ __forceinline__ void run_with_copiers(
        unsigned char* stages, const A& rows_a, const B& rows_b, int count, const Multiply& multiply
    ) {
        Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES * STAGE);
        Barrier* const empty = full + STAGES;
        const int lane = threadIdx.x % WARP;
        int stage = 0;
        unsigned phase = 0;
        const int steps = (count + STEP - 1) / STEP;
        for (int step = 0; step < steps; ++step) {
            if (warp() < WARPS) {
                wait_for(full + stage, phase);
                multiply(step);
                __syncwarp();
                if (arrives_for_warp(lane)) arrive(empty + stage);
            } else {
                wait_for(empty + stage, phase ^ 1);
                unsigned char* const to = stages + stage * STAGE;
                const int done = step * STEP;
                int bytes = 0;
                for (int i = lane * COPIERS + warp() - WARPS; i < BLOCK_M + BLOCK_N; i += COPIERS * WARP) {
                    if (i < BLOCK_M) bytes += rows_a.fill(to, i, done, count - done, full + stage);
                    else bytes += rows_b.fill(to + A::BYTES, i - BLOCK_M, done, count - done, full + stage);
                }
                arrive_and_expect(full + stage, bytes);
            }
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
    }
    static __device__ __forceinline__ void make_barriers(unsigned char* stages) {
        Barrier* const full = reinterpret_cast<Barrier*>(stages + STAGES * STAGE);
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; ++i) {
                init_barrier(full + i, COPIERS * WARP);
                init_barrier(full + STAGES + i, WARPS * ARRIVALS_OF_WARP);
            }
            publish_barriers();
        }
        __syncthreads();
    }

    // All copy, a few steps ahead; `begin()` once the first copies are under way.
    template <class Begin, class Multiply>
    static __device__ __forceinline__ void run_by_all(
        unsigned char* stages, const A& rows_a, const B& rows_b, int count, const Begin& begin, const Multiply& multiply
    ) {
        const int steps = (count + STEP - 1) / STEP;
        const auto fill = [&](int step) {
            if (step < steps) {
                unsigned char* const to = stages + step % STAGES * STAGE;
                rows_a.fill(to, step * STEP, count - step * STEP);
                rows_b.fill(to + A::BYTES, step * STEP, count - step * STEP);
            }
            commit_copies();
        };
#pragma unroll
        for (int step = 0; step < STAGES - 1; ++step) fill(step);
        begin();
        for (int step = 0; step < steps; ++step) {
            wait_for_copies<STAGES - 2>();
            __syncthreads();
            fill(step + STAGES - 1);
            multiply(step);
        }
        wait_for_copies<0>();
    }
};

// Where a warp has all of k.
template <class Tile, class Finish>
__device__ __forceinline__ void store_words(
    const typename Tile::Sums& sum, unsigned char* stages, SCALAR* c, long long m, long long n, long long row0,
    long long column0, const Finish& finish
) {
    const LooseWords<Tile::TILE_ROWS, Tile::TILE_COLUMNS, Tile::THREADS> words(c, m, n, row0, column0, stages);
    static_assert(words.BYTES <= Tile::STAGES * Tile::STAGE);
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < Tile::ROWS && Tile::warp() < Tile::WARPS; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = Tile::row() + i * 16 + half * 8 + lane / 4;
#pragma unroll
            for (int j = 0; j < Tile::COLUMNS; ++j) {
                const float* const two = &sum[i][j][half * 2];
                words.put(row, Tile::column() + j * 8 + lane % 4 * 2, finish(two[0]), finish(two[1]));
            }
        }
    }
    __syncthreads();
    words.store();
}

// The sums of warps, and those of the blocks of a cluster, meet in shared memory.
template <class Tile, class Finish>
__device__ __forceinline__ void store_met(
    const typename Tile::Sums& sum, unsigned char* stages, SCALAR* c, long long m, long long n, long long row0,
    long long column0, const Finish& finish
) {
    constexpr int PITCH = Tile::PITCH_SUMS, ALL = Tile::TILE_ROWS * Tile::TILE_COLUMNS;
    float* const sums = reinterpret_cast<float*>(stages);
    const int lane = threadIdx.x % WARP, blocks = blocks_of_cluster();
    float* const own =
        sums + Tile::along_k() * Tile::SUMS + (Tile::row() + lane / 4) * PITCH + Tile::column() + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < Tile::ROWS && Tile::warp() < Tile::WARPS; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::COLUMNS; ++j) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                *reinterpret_cast<float2*>(own + (i * 16 + half * 8) * PITCH + j * 8) =
                    make_float2(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
            }
        }
    }
    __syncthreads();
    const auto sum_over_warps = [&](int place) {
        float all = sums[place];
#pragma unroll
        for (int i = 1; i < Tile::ALONG_K; ++i) all += sums[i * Tile::SUMS + place];
        return all;
    };
    const LoosePairs<Tile::TILE_ROWS, Tile::TILE_COLUMNS> pairs(c, m, n, row0, column0);
    if (blocks == 1) {
#pragma unroll 4
        for (int i = threadIdx.x; i < pairs.COUNT; i += Tile::THREADS) {
            pairs.store(i, [&](int row, int column) { return finish(sum_over_warps(row * PITCH + column)); });
        }
        return;
    }
    if constexpr (Tile::ALONG_K > 1) {
        for (int i = threadIdx.x; i < ALL; i += Tile::THREADS) {
            const int place = i / Tile::TILE_COLUMNS * PITCH + i % Tile::TILE_COLUMNS;
            sums[place] = sum_over_warps(place);
        }
    }
    arrive_with_writes();
    wait_for_cluster();
    const int each = (pairs.COUNT + blocks - 1) / blocks, begin = static_cast<int>(rank_in_cluster()) * each;
    const int end = min(begin + each, pairs.COUNT);
    for (int i = begin + threadIdx.x; i < end; i += Tile::THREADS) {
        pairs.store(i, [&](int row, int column) {
            return finish(sum_over_cluster(sums + row * PITCH + column, blocks));
        });
    }
    meet_cluster();  // nobody leaves before all have read
}

// A block takes `slice` of k. SCALED: with scales for every 128 of k, those of B in rows of a block of 128 columns each. AMID:
// some rows begin amid words of 4 bytes.
template <class Tile, bool SCALED, bool AMID, class MakeFinish>
__device__ __forceinline__ void multiply_loose(
    const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, SCALAR* __restrict__ c,
    const float* __restrict__ scale_a, const float* __restrict__ scale_b, long long m, long long n, long long k,
    int slice, const MakeFinish& make_finish
) {
    constexpr int BLOCK_M = Tile::TILE_ROWS, BLOCK_N = Tile::TILE_COLUMNS, STEP = Tile::STEP;
    constexpr int PITCH = Tile::A::PITCH, BYTES_A = Tile::A::BYTES;
    extern __shared__ __align__(16) unsigned char stages[];
    const int blocks = blocks_of_cluster(), lane = threadIdx.x % WARP;
    const TileIndex index = grouped_tile(
        blockIdx.x / blocks, static_cast<unsigned>((m + BLOCK_M - 1) / BLOCK_M),
        static_cast<unsigned>((n + BLOCK_N - 1) / BLOCK_N), 8
    );
    const long long row0 = static_cast<long long>(index.row) * BLOCK_M;
    const long long column0 = static_cast<long long>(index.column) * BLOCK_N;
    const int first = static_cast<int>(min(static_cast<long long>(rank_in_cluster()) * slice, k));
    const int count = static_cast<int>(min(static_cast<long long>(slice), k - first));  // of k, of this block
    const int steps = (count + STEP - 1) / STEP;
    const typename Tile::A rows_a(a, m, k, row0, first);
    const typename Tile::B rows_b(b, n, k, column0, first);
    const int along_k = Tile::along_k() * BLOCK_K;
    const Lane of_a = lane_at<PITCH>(a + row0 * k + first, k, Tile::row(), 0, along_k);
    const Lane of_b = lane_at<PITCH>(b + column0 * k + first, k, Tile::column(), BYTES_A, along_k);
    if constexpr (Tile::COPIERS > 0) Tile::make_barriers(stages);
    wait_for_previous();
    let_next_start();

    const int blocks_k = static_cast<int>((k + BLOCK_K - 1) / BLOCK_K);
    const float* const of_columns = SCALED ? scale_b + column0 / BLOCK_K * static_cast<long long>(blocks_k) : nullptr;
    BlockScales<Tile::ROWS> scales, next_scales;
    const auto load_scales = [&](int step) {
        if constexpr (SCALED) {
            const int block = first / BLOCK_K + step * Tile::ALONG_K + Tile::along_k();
            next_scales.load(scale_a, of_columns, block, blocks_k, row0 + Tile::row() + lane / 4, m);
        }
    };
    typename Tile::Sums sum = {};
    const auto multiply = [&](int step) {
        scales = next_scales;
        if (step + 1 < steps) load_scales(step + 1);
        const unsigned char* const from = stages + step % Tile::STAGES * Tile::STAGE;
        const auto add = [&](typename Tile::Sums& to) {
            const int left = count - step * STEP - along_k;
            if ((step + 1) * STEP <= count) add_products<AMID, false, PITCH>(to, from, of_a, of_b, 0);
            else add_products<AMID, true, PITCH>(to, from, of_a, of_b, left);
        };
        if constexpr (SCALED) {
            typename Tile::Sums product = {};
            add(product);
            scales.add(sum, product);
        } else {
            add(sum);
        }
    };
    const auto begin = [&] {
        if (steps > 0) load_scales(0);
    };
    if constexpr (Tile::COPIERS > 0) {
        begin();
        Tile::run_with_copiers(stages, rows_a, rows_b, count, multiply);
    } else {
        Tile::run_by_all(stages, rows_a, rows_b, count, begin, multiply);
    }
    __syncthreads();
    const auto finish = make_finish();
    if (Tile::ALONG_K == 1 && blocks == 1) store_words<Tile>(sum, stages, c, m, n, row0, column0, finish);
    else store_met<Tile>(sum, stages, c, m, n, row0, column0, finish);
}

#define LOOSE_KERNEL(NAME, BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, WARPS_K, STAGES, COPIERS, BLOCKS, AMID)            \
    extern "C" __global__ void __launch_bounds__((WARPS_M * WARPS_N * WARPS_K + COPIERS) * WARP, BLOCKS)          \
        NAME(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, SCALAR* __restrict__ c,    \
             const float* __restrict__ scale_a, const float* __restrict__ scale_b, long long m, long long n,      \
             long long k, long long slice) {                                                                      \
        using Tile = LooseFp8<BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, WARPS_K, STAGES, COPIERS>;                      \
        multiply_loose<Tile, LOOSE_SCALED, AMID>(                                                                 \
            a, b, c, scale_a, scale_b, m, n, k, static_cast<int>(slice),                                          \
            [&] { return LooseFinish{scale_a, scale_b}; }                                                         \
        );                                                                                                        \
    }
#define LOOSE_KERNEL_PAIR(NAME, ...)                    \
    LOOSE_KERNEL(loose_##NAME, __VA_ARGS__, false)      \
    LOOSE_KERNEL(loose_##NAME##_amid, __VA_ARGS__, true)

// As in loose_fp8.py.
#define LOOSE_KERNELS                                            \
    LOOSE_KERNEL_PAIR(16x32, 16, 32, 1, 1, 8, 3, 4, 1)           \
    LOOSE_KERNEL_PAIR(16x64, 16, 64, 1, 2, 4, 4, 4, 1)           \
    LOOSE_KERNEL_PAIR(16x64_twice, 16, 64, 1, 2, 4, 2, 4, 2)     \
    LOOSE_KERNEL_PAIR(16x64_by_all, 16, 64, 1, 4, 2, 3, 0, 3)    \
    LOOSE_KERNEL_PAIR(32x64, 32, 64, 1, 2, 4, 4, 4, 1)           \
    LOOSE_KERNEL_PAIR(32x128_by_all, 32, 128, 1, 4, 1, 4, 0, 2)  \
    LOOSE_KERNEL_PAIR(64x32_by_all, 64, 32, 2, 1, 4, 4, 0, 1)    \
    LOOSE_KERNEL_PAIR(64x64_by_all, 64, 64, 2, 4, 1, 2, 0, 2)    \
    LOOSE_KERNEL_PAIR(64x128_by_all, 64, 128, 2, 4, 1, 3, 0, 2)  \
    LOOSE_KERNEL_PAIR(128x32_by_all, 128, 32, 4, 1, 2, 4, 0, 1)  \
    LOOSE_KERNEL_PAIR(128x128_by_all, 128, 128, 2, 4, 1, 4, 0, 1)
