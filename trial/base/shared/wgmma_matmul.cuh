// C = finish(A B) on Hopper's tensor cores: the main loop that the matmul kernels share.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); 2 m n k FLOP. C holds SCALAR, and so do A and B unless
//   MULTIPLIES_TF32 or MULTIPLIES_FP8 is defined before this file is included.
// Mapping: a block computes BLOCK_M x BLOCK_N tiles of C, 64 rows of each by one warpgroup, in steps of 128 bytes along
//   k: 64 elements of 16 bits, 32 of TF32, 128 of FP8. A tile ACROSS gives each warpgroup 64 columns instead, and has any
//   multiple of 16 rows: what wgmma takes as its A is then B, and its accumulators hold C transposed. One more warpgroup
//   only copies: a thread of it has TMA fill a ring of STAGES stages, and waits on a stage's `empty` barrier before it fills it
//   again. The others wait on its `full` barrier, and let one batch of wgmma run while they start the next. The copying
//   warpgroup gives up its registers, as sums take 128 a thread where BLOCK_N is 256. The grid is persistent: each block
//   takes every gridDim.x-th tile, and the first copies for the next run during the stores. TMA fills in zeros beyond the
//   edges of A and B, so that any size works; it needs rows of whole 16-byte units: whole_rows.cuh.
// Idea: CUTLASS's warp-specialised cooperative kernels and pranjalssh/fast.cu. The ABOVE times BESIDE blocks of a cluster
//   compute tiles that touch. Each copies a part of the rows of A that its row of blocks needs into the shared memory of
//   all of them, and a part of the columns of B for its column: a pair takes 32 KiB a step from L2 for 128 x 256 instead of
//   48, and four or eight blocks so few lines that rows may begin amid them. Where a last round of the grid would be filled
//   in part, its tiles are shared: by the blocks of a cluster, a part of k each (PARTS > 1), or by all clusters equally
//   (EQUAL): tile_shares.cuh. Barriers are set up and maps fetched while the kernel in front still works: overlap.cuh.
#pragma once

#include "shared/overlap.cuh"
#include "shared/tile_order.cuh"
#include "shared/tile_shares.cuh"
#include "shared/whole_rows.cuh"
#include "shared/wgmma_stores.cuh"

// ---- The main loop -----------------------------------------------------------------------------

// Of `count` bits each `distance` from the next.
__device__ constexpr unsigned bits_apart(int count, int distance) {
    unsigned bits = 0;
    for (int i = 0; i < count; ++i) bits |= 1u << i * distance;
    return bits;
}

// `make_finish()`, called when the kernel in front has ended, gives `finish(sums, column)`, which makes two neighbours
// of C from their sums, the first in an even column.
template <int BLOCK_M, int BLOCK_N, int STAGES, int ABOVE, int BESIDE, int PARTS, bool ACROSS, class MakeFinish>
__device__ __forceinline__ void multiply(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, long long m, long long n, long long k,
    const TileParts& parts, long long alone, SCALAR* loose_c, const MakeFinish& make_finish
) {
    constexpr int CLUSTER = ABOVE * BESIDE;      // blocks that compute tiles above and beside each other
    constexpr int SOURCES = ABOVE + BESIDE - 1;  // of them copy to a block: those of its row and of its column
    constexpr int CONSUMERS = (ACROSS ? BLOCK_N : BLOCK_M) / 64;
    constexpr int SUMS = (ACROSS ? BLOCK_M : BLOCK_N) / 2;  // of a thread
    constexpr int BOXES_HERE = CONSUMERS == 3 ? 1 : BOXES;
    constexpr bool SPLITS = PARTS > 1;  // the blocks of a cluster share tiles
    constexpr int SHARERS = SPLITS ? PARTS : 1;
    constexpr int C_ROWS = BLOCK_M / SHARERS % 16 ? 8 : 16;  // across, of a box of C
    constexpr int BYTES_A = BLOCK_M * ROW;
    constexpr int BANDS = (BLOCK_N + BAND - 1) / BAND;
    constexpr int BYTES_B = (B_LIES_ALONG_K ? BLOCK_N : BANDS * BAND) * ROW;
    constexpr int STAGE = BYTES_A + BYTES_B;
    extern __shared__ __align__(1024) unsigned char stages[];
    unsigned char* const boxes = stages + STAGES * STAGE;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + CONSUMERS * BOXES_HERE * BOX);
    Barrier* const empty = full + STAGES;
    Barrier* const all_multiplied = empty + STAGES;
    Barrier* const all_received = all_multiplied + 1;
    static_assert(!SPLITS || (CLUSTER == 1 && (ACROSS || (PARTS == 2 && CONSUMERS < 3))));

    // The shuffle from lane 0 shows the compiler that the value is the same for a warp.
    const unsigned rank = CLUSTER == 1 ? 0 : rank_in_cluster();
    const unsigned in_column = rank / BESIDE, in_row = rank % BESIDE;  // where the block's tile is among them
    const int part = !SPLITS ? 0 : __shfl_sync(WHOLE_WARP, rank_in_cluster(), 0);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    if (threadIdx.x == 0) {
        prefetch_map(a);
        prefetch_map(b);
        prefetch_map(c);
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CONSUMERS * SOURCES);
        }
        if constexpr (SPLITS) {
            constexpr int SENT =
                ACROSS ? CONSUMERS * SUMS / SHARERS * (SHARERS - 1) : SUMS;  // to this block, by a thread of each
            init_barrier(all_multiplied, CONSUMERS * PARTS);
            init_barrier(all_received, 1);
            arrive_and_expect(all_received, SENT * WARPGROUP * sizeof(float));
        }
        publish_barriers();
    }
    if constexpr (CLUSTER == 1 && !SPLITS) __syncthreads();
    else meet_cluster();
    // Tiles of a cluster, in groups of about 2048 rows.
    constexpr int CLUSTER_M = BLOCK_M * ABOVE, CLUSTER_N = BLOCK_N * BESIDE;
    const unsigned rows_of_tiles = (m + CLUSTER_M - 1) / CLUSTER_M;
    const unsigned columns_of_tiles = (n + CLUSTER_N - 1) / CLUSTER_N;
    const unsigned tiles = rows_of_tiles * columns_of_tiles;
    const auto row_and_column = [&](unsigned tile, int& row, int& column) {
        const TileIndex index = grouped_tile(tile, rows_of_tiles, columns_of_tiles, 2048 / CLUSTER_M);
        row = index.row * CLUSTER_M + in_column * BLOCK_M;
        column = index.column * CLUSTER_N + in_row * BLOCK_N;
    };
    const int all_steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
    // So far nothing that the kernel in front makes was touched: this overlaps its end.
    wait_for_previous();
    let_next_start();

    const auto all_turns = [&] { return Turns<CLUSTER, PARTS>(tiles, all_steps, static_cast<unsigned>(alone), part); };
    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == CONSUMERS) {
        if constexpr (CONSUMERS > 1) give_registers<CONSUMERS == 2 ? 40 : 32>();
        if (threadIdx.x % WARPGROUP == 0) {
            // A bit for each block of this one's row, and of its column.
            const unsigned short of_row = ((1 << BESIDE) - 1) << in_column * BESIDE;
            const unsigned short of_column = bits_apart(ABOVE, BESIDE) << in_row;
            auto turns = all_turns();
            while (turns.next()) {
                int row, column;
                row_and_column(turns.tile, row, column);
                for (int step = turns.first; step < turns.last; ++step, next_stage()) {
                    wait_for(empty + stage, phase ^ 1);
                    arrive_and_expect(full + stage, STAGE);
                    unsigned char* const to_a = stages + stage * STAGE;
                    unsigned char* const to_b = to_a + BYTES_A;
                    const int along_k = step * STEP_K;
                    // Of what several blocks of a cluster need each copies a part for all of them.
                    const auto copy_a = [&](unsigned char* to, int x, int y) {
                        if constexpr (BESIDE == 1) copy_box(to, a, x, y, full + stage);
                        else copy_box_to(of_row, to, a, x, y, full + stage);
                    };
                    const auto copy_b = [&](unsigned char* to, int x, int y) {
                        if constexpr (ABOVE == 1) copy_box(to, b, x, y, full + stage);
                        else copy_box_to(of_column, to, b, x, y, full + stage);
                    };
                    const int of_a = in_row * (BLOCK_M / BESIDE), of_b = in_column;
                    copy_a(to_a + of_a * ROW, along_k, row + of_a);
                    if constexpr (B_LIES_ALONG_K) {
                        constexpr int PART = BLOCK_N / ABOVE;
                        copy_b(to_b + of_b * PART * ROW, along_k, column + of_b * PART);
                    } else if constexpr (BLOCK_N % (ABOVE * BAND) == 0) {
                        constexpr int PART = BLOCK_N / ABOVE;
#pragma unroll
                        for (int i = 0; i < PART; i += BAND) {
                            copy_b(to_b + (of_b * PART + i) * ROW, column + of_b * PART + i, along_k);
                        }
                    } else {
                        constexpr int PART = STEP_K / ABOVE;  // of each band
#pragma unroll
                        for (int i = 0; i < BLOCK_N; i += BAND) {
                            copy_b(to_b + (i + of_b * PART) * ROW, column + i, along_k + of_b * PART);
                        }
                    }
                }
            }
        }
    } else {
        if constexpr (CONSUMERS > 1) take_registers<CONSUMERS == 2 ? 232 : 160>();
        const auto finish = make_finish();
        unsigned stored = 0;
        // A thread for each block that copies here: those of the row, and then the others of the column.
        const unsigned source = threadIdx.x % WARPGROUP, other = source - BESIDE;
        const unsigned in_rows = in_column * BESIDE + source,
                       in_columns = (other + (other >= in_column)) * BESIDE + in_row;
        const unsigned copier = SPLITS ? part : source < BESIDE ? in_rows : in_columns;
        const auto release = [&](int stage) {
            if (source < SOURCES) arrive_at(empty + stage, copier);
        };
        auto turns = all_turns();
        while (turns.next()) {
            int row, column;
            row_and_column(turns.tile, row, column);
            const auto& of_columns = [&]() -> decltype(auto) {
                // Measured of the pair of the widest tiles, which large products take: the others are as they were.
                if constexpr (!ACROSS && BLOCK_N == 256 && ABOVE == 2)
                    return for_columns<SUMS / 4>(finish, column + threadIdx.x % 4 * 2);
                else return (finish);
            }();
            float sum[SUMS] = {};
            int before = 0;
            for (int step = turns.first; step < turns.last; ++step, next_stage()) {
                wait_for(full + stage, phase);
                const unsigned char* const from = stages + stage * STAGE;
                const int own = warpgroup * 64 * ROW;  // rows, or across a band of columns
                const unsigned long long tile_a = swizzled_tile(from + (ACROSS ? 0 : own), ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + BYTES_A + (ACROSS ? own : 0), ATOM, BAND * ROW);
                begin_products();
#pragma unroll
                for (int slice = 0; slice < 4; ++slice) {
                    // 32 bytes along k: within a row, or 16 rows on.
                    const unsigned long long slice_a = tile_a + slice * 2;
                    const unsigned long long slice_b = tile_b + slice * (B_LIES_ALONG_K ? 2 : 16 * ROW / 16);
                    if constexpr (ACROSS) multiply_across(sum, slice_b, slice_a);
                    else multiply_add(sum, slice_a, slice_b);
                }
                commit_products();
                wait_for_products<1>();
                if (step > turns.first) release(before);
                before = stage;
            }
            wait_for_products<0>();
            release(before);
            row_and_column(turns.tile, row, column);  // again, as it takes less time than registers do
            (ACROSS ? column : row) += warpgroup * 64;
            unsigned char* const own_boxes = boxes + warpgroup * BOXES_HERE * BOX;
            const Loose loose{loose_c, static_cast<unsigned>(m), static_cast<unsigned>(n)};
            if constexpr (SPLITS) {
                if (turns.shared) {
                    // Stages are overwritten when no block of the cluster multiplies any more.
                    if (threadIdx.x % WARPGROUP < PARTS) arrive_at(all_multiplied, threadIdx.x % WARPGROUP);
                    wait_for(all_multiplied, 0);
                    if constexpr (ACROSS) {
                        float own[SUMS / SHARERS];
                        unsigned char* const received = stages + warpgroup * SUMS * WARPGROUP * 4;
                        exchange_sums<SHARERS>(sum, own, part, received, all_received);
                        row += part * (BLOCK_M / SHARERS);
                        store_tile_across<BOXES_HERE, C_ROWS>(own, c, own_boxes, stored, row, column, finish, loose);
                        break;
                    }
                    if (warpgroup != part) {
                        if constexpr (!ACROSS) send_sums(sum, warpgroup, stages, all_received);
                        break;
                    }
                    wait_for(all_received, 0);
                    if constexpr (!ACROSS) add_sums(sum, stages);
                }
            } else if constexpr (PARTS == EQUAL) {
                const auto index = [&](unsigned place) { return (place * CLUSTER + rank) * CONSUMERS + warpgroup; };
                if (turns.first > 0) {
                    parts.leave(sum, index(turns.place()), warpgroup);
                    continue;
                }
                if (turns.last < all_steps) {
                    for (unsigned other = turns.place() + 1; turns.begin_of(other) < turns.end_of_tile(); ++other) {
                        if (turns.begin_of(other) < turns.begin_of(other + 1)) parts.add(sum, index(other), warpgroup);
                    }
                }
            }
            if constexpr (ACROSS) {
                store_tile_across<BOXES_HERE, C_ROWS>(sum, c, own_boxes, stored, row, column, finish, loose);
            } else {
                store_tile<BOXES_HERE>(sum, c, own_boxes, stored, row, column, of_columns, loose);
            }
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1 || SPLITS) meet_cluster();
}

// A kernel for each tile. FINISH makes its `finish` out of the parameters that follow k.
#define WGMMA_KERNEL(NAME, BLOCK_M, BLOCK_N, STAGES, ABOVE, BESIDE, PARTS, ACROSS, FINISH, ...)                   \
    extern "C" __global__ void __cluster_dims__(PARTS > 1 ? PARTS : ABOVE * BESIDE, 1, 1)                         \
        __launch_bounds__(((ACROSS ? BLOCK_N : BLOCK_M) / 64 + 1) * WARPGROUP, 1)                                 \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, long long m, long long n, long long k, float* sums,           \
             Flag* flags, Flag ticket, long long alone, SCALAR* loose, ##__VA_ARGS__) {                           \
        multiply<BLOCK_M, BLOCK_N, STAGES, ABOVE, BESIDE, PARTS, ACROSS>(                                         \
            a, b, c, m, n, k, TileParts{sums, flags, ticket}, alone, loose, [&] { return FINISH; });              \
    }
#define WGMMA_KERNELS(...)                                                                                        \
    WHOLE_ROWS_KERNEL                                                                                             \
    WGMMA_KERNEL(tile_128x256_pair, 128, 256, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                 \
    WGMMA_KERNEL(tile_128x224_pair, 128, 224, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                 \
    WGMMA_KERNEL(tile_128x256, 128, 256, 4, 1, 1, 2, false, __VA_ARGS__)                                          \
    WGMMA_KERNEL(tile_128x192, 128, 192, 4, 1, 1, 2, false, __VA_ARGS__)                                          \
    WGMMA_KERNEL(tile_128x128, 128, 128, 6, 1, 1, 2, false, __VA_ARGS__)                                          \
    WGMMA_KERNEL(tile_64x128, 64, 128, 8, 1, 1, 2, false, __VA_ARGS__)                                            \
    WGMMA_KERNEL(tile_64x64_halves, 64, 64, 8, 1, 1, 2, false, __VA_ARGS__)                                       \
    WGMMA_KERNEL(tile_64x64, 64, 64, 8, 1, 1, 1, false, __VA_ARGS__)                                              \
    WGMMA_KERNEL(across_256x128_pair, 256, 128, 4, 1, 2, EQUAL, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(across_208x128_pair, 208, 128, 4, 1, 2, EQUAL, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(across_144x128_pair, 144, 128, 5, 1, 2, EQUAL, true, __VA_ARGS__)                                \
    WGMMA_KERNEL(across_192x192_pair, 192, 192, 4, 1, 2, 1, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_176x192_above, 176, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_96x192_above, 96, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_64x128, 64, 128, 8, 1, 1, 2, true, __VA_ARGS__)                                           \
    WGMMA_KERNEL(across_64x128_quarters, 64, 128, 8, 1, 1, 4, true, __VA_ARGS__)                                  \
    WGMMA_KERNEL(across_64x128_eighths, 64, 128, 8, 1, 1, 8, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_64x64_quarters, 64, 64, 6, 1, 1, 4, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_64x64_eighths, 64, 64, 6, 1, 1, 8, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_32x64_quarters, 32, 64, 8, 1, 1, 4, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_160x128_2x2, 160, 128, 5, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_112x128_2x2, 112, 128, 6, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_112x128_4x2, 112, 128, 6, 4, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_96x128_4x2, 96, 128, 6, 4, 2, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_80x128_2x2, 80, 128, 7, 2, 2, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_64x64_4x2, 64, 64, 9, 4, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_32x64_4x2, 32, 64, 9, 4, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_96x64_quarters, 96, 64, 8, 1, 1, 4, true, __VA_ARGS__)                                    \
    WGMMA_KERNEL(across_80x64, 80, 64, 9, 1, 1, 2, true, __VA_ARGS__)                                             \
    WGMMA_KERNEL(across_48x64, 48, 64, 9, 1, 1, 2, true, __VA_ARGS__)                                             \
    WGMMA_KERNEL(tile_128x160_2x1, 128, 160, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                  \
    WGMMA_KERNEL(tile_64x128_8x1, 64, 128, 8, 8, 1, 1, false, __VA_ARGS__)                                        \
    WGMMA_KERNEL(tile_128x128_4x1, 128, 128, 6, 4, 1, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(tile_128x128_4x2, 128, 128, 6, 4, 2, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(tile_128x192_2x1, 128, 192, 4, 2, 1, EQUAL, false, __VA_ARGS__)                                  \
    WGMMA_KERNEL(tile_128x256_4x1, 128, 256, 4, 4, 1, 1, false, __VA_ARGS__)                                      \
    WGMMA_KERNEL(across_112x192_2x1, 112, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_128x192_2x1, 128, 192, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_144x192_2x1, 144, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_160x192_2x1, 160, 192, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_96x128_quarters, 96, 128, 6, 1, 1, 4, true, __VA_ARGS__)                                  \
    WGMMA_KERNEL(across_80x128_4x1, 80, 128, 7, 4, 1, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_112x128_4x1, 112, 128, 6, 4, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_80x128_2x1, 80, 128, 7, 2, 1, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_176x128_2x1, 176, 128, 5, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_208x128_2x1, 208, 128, 4, 2, 1, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_160x128_1x4, 160, 128, 5, 1, 4, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_64x64_4x1, 64, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_96x64_4x1, 96, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_96x64_1x4, 96, 64, 9, 1, 4, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_64x64_1x8, 64, 64, 9, 1, 8, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_128x64_1x8, 128, 64, 8, 1, 8, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_160x64_2x2, 160, 64, 7, 2, 2, 1, true, __VA_ARGS__)                                       \
    WGMMA_KERNEL(across_80x64_2x2, 80, 64, 9, 2, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_48x64_4x2, 48, 64, 9, 4, 2, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_32x64_4x1, 32, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_208x128_2x2, 208, 128, 4, 2, 2, 1, true, __VA_ARGS__)                                     \
    WGMMA_KERNEL(across_16x64_4x1, 16, 64, 9, 4, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_32x64_2x1, 32, 64, 9, 2, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_128x64_eighths, 128, 64, 8, 1, 1, 8, true, __VA_ARGS__)                                   \
    WGMMA_KERNEL(across_48x64_8x1, 48, 64, 9, 8, 1, 1, true, __VA_ARGS__)                                         \
    WGMMA_KERNEL(across_64x64_2x1, 64, 64, 9, 2, 1, 1, true, __VA_ARGS__)
