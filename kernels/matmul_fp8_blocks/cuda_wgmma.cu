// A product of scaled blocks in FP8 (E4M3) on Hopper's tensor cores by TMA and wgmma (sm_90a only), bfloat16 out.
//
// Formula: C[i, j] = sum over blocks t of scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j, l]);
//   2 m n k FLOP.
// Mapping: that of shared/wgmma_matmul.cuh in the parts of shared/wgmma_tiles.cuh. A step along k is a block: its
//   product begins at 0, leaves the accumulators, of which some 14 bits count, and is scaled and added up in float32.
//   Two sets of sums take the registers of twice as many columns, so a tile has 128, which share a scale of B. While
//   one warpgroup adds up, the tensor cores work for the other.
// Idea: matmul_fp8/cuda_wgmma, whose sums stay in the accumulators for all of k, with sums of its own: DeepGEMM; see
//   shared/wgmma_matmul.cuh.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define MULTIPLIES_FP8
#define LOOSE_BY_WORDS
#include "shared/cluster_sums.cuh"
#include "shared/loose_stores.cuh"
#include "shared/wgmma_tiles.cuh"

constexpr int BLOCK = 128;  // of k and n, with one scale

// product (64 x 128) = a b, whatever it was.
__device__ __forceinline__ void multiply_fresh(float (&sum)[64], unsigned long long a, unsigned long long b) {
    asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128" PRODUCTS " {" NAMES_64 "}, %64, %65, add, 1, 1;\n}"
                 : SUMS_32(0), SUMS_32(32)
                 : "l"(a), "l"(b));
}

// `sum` += the products, scaled, of a warpgroup's 64 rows from `row` on, over the steps from `first` to `last` of all.
template <class Ring>
__device__ __forceinline__ void add_scaled_products(
    float (&sum)[64], Ring& ring, int row, int column, const float* scale_a, const float* scale_b, long long m,
    int steps, int first, int last, int warpgroup
) {
    // This thread's rows g and g + 8 of its warp's 16; those beyond the last have its scale, and are not stored.
    const long long own = row + threadIdx.x % WARPGROUP / WARP * 16 + threadIdx.x % WARP / 4;
    const float* low = scale_a + first * m + min(own, m - 1);
    const float* high = scale_a + first * m + min(own + 8, m - 1);
    const float* of_b = scale_b + static_cast<long long>(column / BLOCK) * steps + first;
    const auto load = [&](float (&scales)[3]) { scales[0] = *low, scales[1] = *high, scales[2] = *of_b; };
    float scales[3] = {};
    if (first < last) load(scales);
    float product[64] = {};
    for (int step = first; step < last; ++step) {
        if (step + 1 < last) low += m, high += m, ++of_b;
        float next[3];
        load(next);  // under way during the products
        unsigned long long tile_a, tile_b;
        ring.wait(warpgroup, tile_a, tile_b);
        settle(product);
        begin_products();
        multiply_fresh(product, tile_a, tile_b);
#pragma unroll
        for (int part = 1; part < 4; ++part) multiply_add(product, tile_a + part * 2, tile_b + part * 2);
        commit_products();
        const float scale[2] = {scales[0] * scales[2], scales[1] * scales[2]};
        wait_for_products<0>();
        settle(product);
        ring.release(ring.stage);
        ring.advance();
#pragma unroll
        for (int i = 0; i < 64; ++i) sum[i] += product[i] * scale[i / 2 % 2];
        settle(next);  // not before: the compiler would have the products wait for them
#pragma unroll
        for (int i = 0; i < 3; ++i) scales[i] = next[i];
    }
}

template <int CONSUMERS, int STAGES, int CLUSTER>
__device__ __forceinline__ void multiply_blocks(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, const float* scale_a, const float* scale_b,
    long long m, long long n, long long k, SCALAR* loose_c
) {
    using Tiles = TilesOfMatrix<CONSUMERS * 64, BLOCK, CLUSTER>;
    const Tiles tiles(m, n, rank_among<CLUSTER>());
    const int steps = static_cast<int>((k + BLOCK - 1) / BLOCK);
    const auto compute = [&](Ring<CONSUMERS, BLOCK, STAGES, CLUSTER>& ring, const typename Tiles::Position& at,
                             unsigned& stored, int warpgroup) {
        const int row = at.row + warpgroup * 64;
        float sum[64] = {};
        add_scaled_products(sum, ring, row, at.in_b, scale_a, scale_b, m, steps, 0, steps, warpgroup);
        const Loose loose{loose_c, static_cast<unsigned>(m), static_cast<unsigned>(n)};
        const auto same = [](float2 sums, int) { return sums; };
        store_tile(sum, c, ring.boxes_of(warpgroup), stored, row, at.in_b, same, loose);
    };
    for_each_tile<CONSUMERS, BLOCK, STAGES, CLUSTER>(a, b, steps, tiles, compute);
}

// Where C is small the blocks of a cluster share a tile, each over a part of k. Their sums meet in shared memory.
template <int CONSUMERS, int STAGES>
__device__ __forceinline__ void share_blocks(
    const CUtensorMap& a, const CUtensorMap& b, const float* scale_a, const float* scale_b, long long m, long long n,
    long long k, SCALAR* c
) {
    constexpr int BLOCK_M = CONSUMERS * 64, PITCH = BLOCK + 8;
    using Sharing = Ring<CONSUMERS, BLOCK, STAGES>;
    static_assert(BLOCK_M * PITCH * 4 <= STAGES * Sharing::STAGE);
    extern __shared__ __align__(1024) unsigned char stages[];
    Sharing ring(stages, 0);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    const int blocks = blocks_of_cluster(), rank = static_cast<int>(rank_in_cluster());
    const auto at = TilesOfMatrix<BLOCK_M, BLOCK>(m, n, 0).at(blockIdx.x / blocks);
    const int steps = static_cast<int>((k + BLOCK - 1) / BLOCK), each = (steps + blocks - 1) / blocks;
    const int first = min(rank * each, steps), last = min(first + each, steps);
    wait_for_previous();
    let_next_start();
    if (warpgroup == CONSUMERS) {
        if (threadIdx.x % WARPGROUP == 0) {
            for (int step = first; step < last; ++step) ring.fill(a, b, step, at.row, at.in_b);
        }
        __syncwarp();
        arrive_with_writes();
        wait_for_cluster();
    } else {
        float sum[64] = {};
        const int row = at.row + warpgroup * 64;
        add_scaled_products(sum, ring, row, at.in_b, scale_a, scale_b, m, steps, first, last, warpgroup);
        // Stages are overwritten when no warpgroup multiplies any more.
        asm volatile("bar.sync 7, %0;" ::"n"(CONSUMERS * WARPGROUP) : "memory");
        const int lane = threadIdx.x % WARP;
        float* const tile = reinterpret_cast<float*>(stages);
        float* const own = tile + (threadIdx.x / WARP * 16 + lane / 4) * PITCH + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            *reinterpret_cast<float2*>(own + i % 2 * 8 * PITCH + i / 2 * 8) = make_float2(sum[i * 2], sum[i * 2 + 1]);
        }
        arrive_with_writes();
        wait_for_cluster();
        const LoosePairs<BLOCK_M, BLOCK> pairs(c, m, n, at.row, at.in_b);
        const int part = (pairs.COUNT + blocks - 1) / blocks, end = min((rank + 1) * part, pairs.COUNT);
        for (int i = rank * part + threadIdx.x; i < end; i += CONSUMERS * WARPGROUP) {
            pairs.store(i, [&](int of, int column) { return sum_over_cluster(tile + of * PITCH + column, blocks); });
        }
    }
    meet_cluster();  // nobody leaves before all have read
}

#define MULTIPLY_BLOCKS(NAME, CONSUMERS, STAGES, CLUSTER)                                                         \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, const float* __restrict__ scale_a,                            \
             const float* __restrict__ scale_b, long long m, long long n, long long k, SCALAR* loose) {           \
        multiply_blocks<CONSUMERS, STAGES, CLUSTER>(a, b, c, scale_a, scale_b, m, n, k, loose);                   \
    }
WHOLE_ROWS_KERNEL
MULTIPLY_BLOCKS(tile_128x128_pair, 2, 6, 2)
MULTIPLY_BLOCKS(tile_128x128, 2, 6, 1)
MULTIPLY_BLOCKS(tile_64x128, 1, 8, 1)

#define SHARE_BLOCKS(NAME, CONSUMERS, STAGES)                                                                     \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)                                  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const float* __restrict__ scale_a, const float* __restrict__ scale_b, long long m, long long n,      \
             long long k, SCALAR* c) {                                                                            \
        share_blocks<CONSUMERS, STAGES>(a, b, scale_a, scale_b, m, n, k, c);                                      \
    }
SHARE_BLOCKS(shared_128x128, 2, 6)
SHARE_BLOCKS(shared_64x128, 1, 8)

#endif
