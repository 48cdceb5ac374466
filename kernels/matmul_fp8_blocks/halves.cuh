// The kernel of cuda_halves.cu and of cuda_halves_pitched.cu: tiles twice as wide as a product.
#pragma once

#include "matmul_fp8_blocks/scales.cuh"

#ifndef ORDER
#define ORDER 0  // 1: warpgroups start products in turns; 2: one when the other's are all but one done
#endif
#ifndef A_IN_REGISTERS
#define A_IN_REGISTERS 0  // 1: A is read once for both halves
#endif

// product (64 x 128) = a b, whatever it was.
__device__ __forceinline__ void multiply_fresh(float (&sum)[64], unsigned long long a, unsigned long long b) {
    asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128" PRODUCTS " {" NAMES_64 "}, %64, %65, add, 1, 1;\n}"
                 : SUMS_32(0), SUMS_32(32)
                 : "l"(a), "l"(b));
}

// The same with 64 x 32 of A in registers.
template <bool ADDS>
__device__ __forceinline__ void multiply_held(float (&sum)[64], const unsigned (&a)[4], unsigned long long b) {
    asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128" PRODUCTS " {" NAMES_64 "}, {%64, %65, %66, %67}, %68, add, 1, 1;\n}"
                 : SUMS_32(0), SUMS_32(32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(ADDS));
}

// Four 8 x 8 matrices of 16 bits, here 16 rows of 32 bytes.
__device__ __forceinline__ void load_matrices(const void* from, unsigned (&to)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from))
                 : "memory");
}

template <int HALVES, int STAGES, int CLUSTER>
__device__ __forceinline__ void multiply_blocks(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, const float* scale_a, const float* scale_b,
    long long m, long long n, long long k, const Loose& loose
) {
    constexpr int BLOCK_N = HALVES * BLOCK;
    constexpr int BYTES_A = BLOCK_M * ROW, BYTES_B = BLOCK_N * ROW, STAGE = BYTES_A + BYTES_B;
    extern __shared__ __align__(1024) unsigned char stages[];
    unsigned char* const boxes = stages + STAGES * STAGE;
    float* const all_scales = reinterpret_cast<float*>(boxes + CONSUMERS * BOXES * BOX);
    Barrier* const full = reinterpret_cast<Barrier*>(all_scales + STAGES * SCALES);
    Barrier* const empty = full + STAGES;

    const unsigned rank = rank_among<CLUSTER>();
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    if (threadIdx.x == 0) {
        prefetch_map(a);
        prefetch_map(b);
        prefetch_map(c);
        for (int i = 0; i < STAGES; ++i) {
            init_barrier(full + i, 1 + WARP);
            init_barrier(empty + i, CONSUMERS * (WARPGROUP + 4 * (CLUSTER - 1)));
        }
        publish_barriers();
    }
    if constexpr (CLUSTER == 1) __syncthreads();
    else meet_cluster();
    wait_for_previous();  // barriers are set up while the kernel in front still works
    let_next_start();

    const TilesOfMatrix<BLOCK_M, BLOCK_N, CLUSTER> tiles(m, n, rank);
    const unsigned count = tiles.count(), units = gridDim.x / CLUSTER;
    const int steps = static_cast<int>((k + BLOCK - 1) / BLOCK);
    int stage = 0;
    unsigned phase = 0;
    const auto advance = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == CONSUMERS) {
        give_registers<40>();
        const int warp = threadIdx.x % WARPGROUP / WARP, lane = threadIdx.x % WARP;
        if (warp == 0 && lane == 0) {
            for (unsigned tile = blockIdx.x / CLUSTER; tile < count; tile += units) {
                const auto at = tiles.at(tile);
                const int in_b = at.in_b + rank * (BLOCK_N / CLUSTER);
                for (int step = 0; step < steps; ++step, advance()) {
                    unsigned char* const to_a = stages + stage * STAGE;
                    unsigned char* const to_b = to_a + BYTES_A + rank * (BYTES_B / CLUSTER);
                    wait_for(empty + stage, phase ^ 1);
                    arrive_and_expect(full + stage, STAGE);
                    copy_box(to_a, a, step * STEP_K, at.row, full + stage);
                    if constexpr (CLUSTER == 1) copy_box(to_b, b, step * STEP_K, in_b, full + stage);
                    else copy_box_to((1 << CLUSTER) - 1, to_b, b, step * STEP_K, in_b, full + stage);
                }
            }
        } else if (warp == 1) {
            const int last_block = static_cast<int>((n + BLOCK - 1) / BLOCK) - 1;
            for (unsigned tile = blockIdx.x / CLUSTER; tile < count; tile += units) {
                const auto at = tiles.at(tile);
                const int block = min(at.in_b / BLOCK + lane, last_block);
                const float* of_b = scale_b + static_cast<long long>(block) * steps;
                const float* of_a = scale_a;
                for (int step = 0; step < steps; ++step, advance(), of_a += m) {
                    float* const to = all_scales + stage * SCALES;
                    wait_for(empty + stage, phase ^ 1);
                    copy_scales_of_rows(to, of_a, at.row, m);
                    if (lane < HALVES) copy_float(to + BLOCK_M + lane, of_b + step);
                    arrive_behind_copies(full + stage);
                }
            }
        }
    } else {
        take_registers<232>();
        const int lane = threadIdx.x % WARP, warp_row = threadIdx.x % WARPGROUP / WARP * 16;
        unsigned stored = 0;
        if (ORDER && warpgroup == 1) give_turn(0);
        for (unsigned tile = blockIdx.x / CLUSTER; tile < count; tile += units) {
            float sum[HALVES][64] = {}, product[64];
#pragma unroll
            for (int i = 0; i < 64; ++i) product[i] = 0.0f;
            for (int step = 0; step < steps; ++step, advance()) {
                const unsigned char* const from = stages + stage * STAGE;
                const float* const scales = all_scales + stage * SCALES;
                const unsigned long long tile_a = swizzled_tile(from + warpgroup * 64 * ROW, ATOM, 0);
                wait_for(full + stage, phase);
#if A_IN_REGISTERS
                unsigned held[4][4];
#pragma unroll
                for (int part = 0; part < 4; ++part) {
                    const int row = warpgroup * 64 + warp_row + lane % 16, place = (part * 2 + lane / 16) ^ lane % 8;
                    load_matrices(from + row * ROW + place * 16, held[part]);
                }
#endif
                const int row = warpgroup * 64 + warp_row + lane / 4;
                const float low = scales[row], high = scales[row + 8];
#pragma unroll
                for (int half = 0; half < HALVES; ++half) {
                    const unsigned long long tile_b = swizzled_tile(from + BYTES_A + half * BLOCK * ROW, ATOM, 0);
                    const float of_b = scales[BLOCK_M + half];
                    if constexpr (ORDER > 0) wait_for_turn(warpgroup);
                    settle(product);
                    begin_products();
#if A_IN_REGISTERS
                    multiply_held<false>(product, held[0], tile_b);
#pragma unroll
                    for (int part = 1; part < 4; ++part) {
                        if (ORDER == 2 && part == 3) commit_products();
                        multiply_held<true>(product, held[part], tile_b + part * 2);
                    }
#else
                    multiply_fresh(product, tile_a, tile_b);
#pragma unroll
                    for (int part = 1; part < 4; ++part) {
                        if (ORDER == 2 && part == 3) commit_products();
                        multiply_add(product, tile_a + part * 2, tile_b + part * 2);
                    }
#endif
                    commit_products();
                    const float scale[2] = {low * of_b, high * of_b};
                    if constexpr (ORDER == 2) wait_for_products<1>();
                    if constexpr (ORDER > 0) give_turn(warpgroup ^ 1);
                    wait_for_products<0>();
                    settle(product);
                    if (half == HALVES - 1) {
                        arrive(empty + stage);  // by every thread, for each has read scales
                        if (CLUSTER == 2 && lane == 0) arrive_at(empty + stage, rank ^ 1);
                    }
#pragma unroll
                    for (int i = 0; i < 64; ++i) sum[half][i] += product[i] * scale[i / 2 % 2];
                }
            }
            const auto at = tiles.at(tile);
#pragma unroll
            for (int half = 0; half < HALVES; ++half) {
                store_tile(
                    sum[half], c, boxes + warpgroup * BOXES * BOX, stored, at.row + warpgroup * 64,
                    at.in_b + half * BLOCK, [](float2 sums, int) { return sums; }, loose
                );
            }
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1) meet_cluster();
}
