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
//   32 KiB a step instead of 48 from L2 for 128 x 256. Where a last round of the grid would be filled in part, its tiles are
//   shared: by the blocks of a cluster, a half of k each (PARTS = 2), or by all clusters equally (EQUAL): tile_shares.cuh.
//   Barriers are set up and maps fetched while the kernel in front still works: overlap.cuh.
#pragma once

#include "shared/overlap.cuh"
#include "shared/tile_order.cuh"
#include "shared/tile_shares.cuh"
#include "shared/wgmma_products.cuh"

// ---- The stores --------------------------------------------------------------------------------

constexpr int BOX_N = ROW / sizeof(SCALAR);  // columns of C in a box
constexpr int BOX = 64 * ROW;                // bytes of a box: the rows of a warpgroup
constexpr int BOXES = 2;                     // of a warpgroup: one is written while TMA reads the other

// A box of a warpgroup's 64 rows, 16 to a warp, from column `first` of its tile on. With g = lane / 4 and q = lane % 4 a
// thread holds columns 8 j + 2 q and the next of rows g and g + 8, in sum[4 j] to sum[4 j + 3]. Chunks of 16 bytes lie
// where the swizzle wants them, in place XOR row, so that the 8 rows of a matrix fall in different banks. A box of fewer
// than 128 bytes a row is not swizzled.
template <int WIDTH = BOX_N, int COUNT, class Finish>
__device__ __forceinline__ void fill_box(
    const float (&sum)[COUNT], unsigned char* box, int first, int column0, const Finish& finish
) {
    constexpr int PITCH = WIDTH * sizeof(SCALAR);
    const auto place_of = [&](int row, int chunk) {
        return row * PITCH + (WIDTH == BOX_N ? chunk ^ row % 8 : chunk) * 16;
    };
    const int lane = threadIdx.x % WARP;
    const int warp_row = threadIdx.x % WARPGROUP / WARP * 16;
#pragma unroll
    for (int column = first; column < first + WIDTH; column += 16) {
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
            *reinterpret_cast<float2*>(box + place_of(row, chunk + i / 2 * 2 + lane % 4 / 2) + lane % 2 * 8) =
                make_float2(elements[i][0], elements[i][1]);
        }
#else
        const int row = warp_row + lane % 16;
        store_matrices(box + place_of(row, chunk + lane / 16), reinterpret_cast<unsigned (&)[4]>(elements));
#endif
    }
}

// The 64 rows of a warpgroup by way of shared memory.
template <int COUNT, class Finish>
__device__ __forceinline__ void store_tile(
    const float (&sum)[COUNT], const CUtensorMap& c, unsigned char* boxes, unsigned& stored, int row0, int column0,
    const Finish& finish
) {
    const int warpgroup = threadIdx.x / WARPGROUP;
    const bool leads = threadIdx.x % WARPGROUP == 0;
    constexpr int WIDTH = COUNT * 2 % BOX_N ? BOX_N / 2 : BOX_N;
#pragma unroll
    for (int first = 0; first < COUNT * 2; first += WIDTH) {
        unsigned char* const box = boxes + stored++ % BOXES * BOX;
        if (leads) wait_for_reads<BOXES - 1>();
        meet_warpgroup(warpgroup);
        fill_box<WIDTH>(sum, box, first, column0, finish);
        publish_writes();
        meet_warpgroup(warpgroup);
        if (leads) store_box(c, column0 + first, row0, box);
    }
}

// ---- The main loop -----------------------------------------------------------------------------

// `make_finish()`, called when the kernel in front has ended, gives `finish(sums, column)`, which makes two neighbours
// of C from their sums, the first in an even column.
template <int CONSUMERS, int BLOCK_N, int STAGES, int CLUSTER, int PARTS, class MakeFinish>
__device__ __forceinline__ void multiply(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, long long m, long long n, long long k,
    const TileParts& parts, long long alone, const MakeFinish& make_finish
) {
    constexpr int BLOCK_M = CONSUMERS * 64;
    constexpr int BYTES_A = BLOCK_M * ROW;
    constexpr int BANDS = (BLOCK_N + BAND - 1) / BAND;
    constexpr int BYTES_B = (B_LIES_ALONG_K ? BLOCK_N : BANDS * BAND) * ROW;
    constexpr int STAGE = BYTES_A + BYTES_B;
    extern __shared__ __align__(1024) unsigned char stages[];
    unsigned char* const boxes = stages + STAGES * STAGE;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + CONSUMERS * BOXES * BOX);
    Barrier* const empty = full + STAGES;
    Barrier* const all_multiplied = empty + STAGES;
    Barrier* const all_received = all_multiplied + 1;
    static_assert(PARTS != 2 || CLUSTER == 1);

    // The shuffle from lane 0 shows the compiler that the value is the same for a warp.
    const unsigned rank = CLUSTER == 1 ? 0 : rank_in_cluster();
    const int part = PARTS != 2 ? 0 : __shfl_sync(WHOLE_WARP, rank_in_cluster(), 0);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    if (threadIdx.x == 0) {
        prefetch_map(a);
        prefetch_map(b);
        prefetch_map(c);
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CONSUMERS * CLUSTER);
        }
        if constexpr (PARTS == 2) {
            init_barrier(all_multiplied, CONSUMERS * PARTS);
            init_barrier(all_received, 1);
            arrive_and_expect(all_received, 64 * BLOCK_N * sizeof(float));
        }
        publish_barriers();
    }
    if constexpr (CLUSTER == 1 && PARTS != 2) __syncthreads();
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
        if constexpr (CONSUMERS == 2) give_registers<40>();
        if (threadIdx.x % WARPGROUP == 0) {
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
                    const auto copy_b = [&](unsigned char* to, int x, int y) {
                        if constexpr (CLUSTER == 1) copy_box(to, b, x, y, full + stage);
                        else copy_box_to((1 << CLUSTER) - 1, to, b, x, y, full + stage);
                    };
                    copy_box(to_a, a, along_k, row, full + stage);
                    // Of B each block of a cluster copies a part for both.
                    if constexpr (B_LIES_ALONG_K) {
                        constexpr int PART = BLOCK_N / CLUSTER;
                        copy_b(to_b + rank * PART * ROW, along_k, column + rank * PART);
                    } else if constexpr (BLOCK_N % (CLUSTER * BAND) == 0) {
                        constexpr int PART = BLOCK_N / CLUSTER;
#pragma unroll
                        for (int i = 0; i < PART; i += BAND) {
                            copy_b(to_b + (rank * PART + i) * ROW, column + rank * PART + i, along_k);
                        }
                    } else {
                        constexpr int PART = STEP_K / CLUSTER;  // of each band
#pragma unroll
                        for (int i = 0; i < BLOCK_N; i += BAND) {
                            copy_b(to_b + (i + rank * PART) * ROW, column + i, along_k + rank * PART);
                        }
                    }
                }
            }
        }
    } else {
        if constexpr (CONSUMERS == 2) take_registers<232>();
        const auto finish = make_finish();
        unsigned stored = 0;
        const auto release = [&](int stage) {
            const unsigned block = threadIdx.x % WARPGROUP;
            if (block < CLUSTER) arrive_at(empty + stage, PARTS != 2 ? block : part);
        };
        auto turns = all_turns();
        while (turns.next()) {
            float sum[BLOCK_N / 2] = {};
            int before = 0;
            for (int step = turns.first; step < turns.last; ++step, next_stage()) {
                wait_for(full + stage, phase);
                const unsigned char* const from = stages + stage * STAGE;
                const unsigned long long tile_a = swizzled_tile(from + warpgroup * 64 * ROW, ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + BYTES_A, ATOM, BAND * ROW);
                begin_products();
#pragma unroll
                for (int slice = 0; slice < 4; ++slice) {
                    // 32 bytes along k: within a row, or 16 rows on.
                    multiply_add(sum, tile_a + slice * 2, tile_b + slice * (B_LIES_ALONG_K ? 2 : 16 * ROW / 16));
                }
                commit_products();
                wait_for_products<1>();
                if (step > turns.first) release(before);
                before = stage;
            }
            wait_for_products<0>();
            release(before);
            int row, column;
            row_and_column(turns.tile, row, column);
            row += warpgroup * 64;
            unsigned char* const own_boxes = boxes + warpgroup * BOXES * BOX;
            if constexpr (PARTS == 2) {
                if (turns.shared) {
                    // Stages are overwritten when no block of the cluster multiplies any more.
                    if (threadIdx.x % WARPGROUP < PARTS) arrive_at(all_multiplied, threadIdx.x % WARPGROUP);
                    wait_for(all_multiplied, 0);
                    if (warpgroup != part) {
                        send_sums(sum, warpgroup, stages, all_received);
                        break;
                    }
                    wait_for(all_received, 0);
                    add_sums(sum, stages);
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
            store_tile(sum, c, own_boxes, stored, row, column, finish);
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1 || PARTS == 2) meet_cluster();
}

// A kernel for each tile. FINISH makes its `finish` out of the parameters that follow k.
#define WGMMA_KERNEL(NAME, CONSUMERS, BLOCK_N, STAGES, CLUSTER, PARTS, FINISH, ...)                               \
    extern "C" __global__ void __cluster_dims__(PARTS == 2 ? 2 : CLUSTER, 1, 1)                                        \
        __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)                                                         \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap c, long long m, long long n, long long k, float* sums,           \
             Flag* flags, Flag ticket, long long alone, ##__VA_ARGS__) {                                         \
        multiply<CONSUMERS, BLOCK_N, STAGES, CLUSTER, PARTS>(                                                     \
            a, b, c, m, n, k, TileParts{sums, flags, ticket}, alone, [&] { return FINISH; });               \
    }
#define WGMMA_KERNELS(...)                                            \
    WGMMA_KERNEL(tile_128x256_pair, 2, 256, 4, 2, EQUAL, __VA_ARGS__) \
    WGMMA_KERNEL(tile_128x224_pair, 2, 224, 4, 2, EQUAL, __VA_ARGS__) \
    WGMMA_KERNEL(tile_128x256, 2, 256, 4, 1, 2, __VA_ARGS__)          \
    WGMMA_KERNEL(tile_128x192, 2, 192, 4, 1, 2, __VA_ARGS__)          \
    WGMMA_KERNEL(tile_128x128, 2, 128, 6, 1, 2, __VA_ARGS__)          \
    WGMMA_KERNEL(tile_64x128, 1, 128, 8, 1, 2, __VA_ARGS__)           \
    WGMMA_KERNEL(tile_64x64_halves, 1, 64, 8, 1, 2, __VA_ARGS__)      \
    WGMMA_KERNEL(tile_64x64, 1, 64, 8, 1, 1, __VA_ARGS__)
