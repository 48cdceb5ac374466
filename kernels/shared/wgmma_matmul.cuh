// C = finish(A B) on Hopper's tensor cores: the main loop that the matmul kernels share.
//
// Formula: C[i, j] = finish(sum over l of A[i, l] B[l, j]); 2 m n k FLOP. C holds SCALAR, and so do A and B unless
//   MULTIPLIES_TF32 or MULTIPLIES_FP8 is defined before this file is included.
// Mapping: a block computes BLOCK_M x BLOCK_N tiles of C, 64 rows of each by one warpgroup, in steps of 128 bytes along
//   k: 64 elements of 16 bits, 32 of TF32, 128 of FP8. A tile ACROSS gives each warpgroup 64 columns instead, and has
//   any multiple of 8 rows: what wgmma takes as its A is then B, and its accumulators hold C transposed. Of more than
//   192 columns it has two bands of 64, so that few rows still make a large tile. One more warpgroup only copies: a
//   thread of it has TMA fill a ring of STAGES stages, and waits on a stage's `empty` barrier before it fills it again.
//   The others wait on its `full` barrier, and let one batch of wgmma run while they start the next. The copying
//   warpgroup gives up its registers, as sums take 128 a thread where BLOCK_N is 256. The grid is persistent: each
//   block takes every gridDim.x-th tile, and the first copies for the next run during the stores. TMA fills in zeros
//   beyond the edges of A and B, so that any size works; it needs rows of whole 16-byte units: whole_rows.cuh.
// Idea: CUTLASS's warp-specialised cooperative kernels and pranjalssh/fast.cu. The ABOVE times BESIDE blocks of a cluster
//   compute tiles that touch. Each copies a part of the rows of A that its row of blocks needs into the shared memory of
//   all of them, and a part of the columns of B for its column: a pair takes 32 KiB a step from L2 for 128 x 256 instead of
//   48, and four or eight blocks so few lines that rows may begin amid them. Where a last round of the grid would be filled
//   in part, its tiles are shared: by the blocks of a cluster, a part of k each (PARTS > 1), or by all clusters equally
//   (EQUAL): tile_shares.cuh. Where stores of a tile would take as long as its products, two warpgroups have a whole tile each
//   in turn (IN_TURN). Barriers are set up and maps fetched while the kernel in front still works: overlap.cuh.
#pragma once

#include "shared/overlap.cuh"
#include "shared/tile_order.cuh"
#include "shared/tile_shares.cuh"
#include "shared/wgmma_copies.cuh"
#include "shared/whole_rows.cuh"
#include "shared/wgmma_stores.cuh"

// Bands of 64 columns that a warpgroup of a tile across has.
__device__ constexpr int bands_of_each(int columns, int parts) {
    return parts == IN_TURN ? columns / BAND : columns > 192 ? 2 : 1;
}
// Warpgroups that multiply.
__device__ constexpr int multiplying(int rows, int columns, int parts, bool across) {
    return parts == IN_TURN ? 2 : (across ? columns / bands_of_each(columns, parts) : rows) / 64;
}

// ---- The main loop -----------------------------------------------------------------------------

// `make_finish()`, called when the kernel in front has ended, gives `finish(sums, column)`, which makes two neighbours
// of C from their sums, the first in an even column.
template <int BLOCK_M, int BLOCK_N, int STAGES, int ABOVE, int BESIDE, int PARTS, bool ACROSS, class MakeFinish>
__device__ __forceinline__ void multiply(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& c, long long m, long long n, long long k,
    const TileParts& parts, long long alone, SCALAR* loose_c, const MakeFinish& make_finish
) {
    constexpr int CLUSTER = ABOVE * BESIDE;      // blocks that compute tiles above and beside each other
    constexpr int SOURCES = ABOVE + BESIDE - 1;  // of them copy to a block: those of its row and of its column
    constexpr bool TAKES_TURNS = PARTS == IN_TURN;
    constexpr int MULTIPLYING = multiplying(BLOCK_M, BLOCK_N, PARTS, ACROSS);  // warpgroups, and those of a tile
    constexpr int CONSUMERS = TAKES_TURNS ? 1 : MULTIPLYING;
    constexpr int OF_EACH = ACROSS ? bands_of_each(BLOCK_N, PARTS) : 1;  // bands, CONSUMERS bands apart
    constexpr int SUMS = ACROSS ? BLOCK_M / 2 * OF_EACH : BLOCK_N / 2;   // of a thread
    constexpr int BOXES_HERE =
        !TAKES_TURNS && (CONSUMERS == 3 || OF_EACH > 1 || (ACROSS && BLOCK_M > MOST_OF_A_BOX)) ? 1 : BOXES;
    constexpr bool SPLITS = PARTS > 1;  // the blocks of a cluster share tiles
    constexpr int SHARERS = SPLITS ? PARTS : 1;
    constexpr int C_ROWS = BLOCK_M / SHARERS % 16 ? 8 : 16;  // across, of a box of C
    constexpr int BYTES_A = BLOCK_M * ROW;
    constexpr int BANDS = (BLOCK_N + BAND - 1) / BAND;
    constexpr int BYTES_B = (B_LIES_ALONG_K ? BLOCK_N : BANDS * BAND) * ROW;
    constexpr int STAGE = BYTES_A + BYTES_B;
    constexpr int COPIER = MULTIPLYING * WARPGROUP;  // the thread that copies
    // Where there are registers for it.
    constexpr bool HOLDS_PLACE = CONSUMERS == 1 || SUMS <= 64;
    // Nobody fills a stage again after the last ones. Who does not release these has nothing arrive elsewhere behind its
    // last products: so the cluster meets there, and nobody waits for the others when it has stored.
    constexpr bool MEETS_BEFORE_STORES = CLUSTER > 1 && !TAKES_TURNS && (CONSUMERS == 1 || SUMS <= 80);
    extern __shared__ __align__(1024) unsigned char stages[];
    unsigned char* const boxes = stages + STAGES * STAGE;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + MULTIPLYING * BOXES_HERE * BOX);
    Barrier* const empty = full + STAGES;
    Barrier* const all_multiplied = empty + STAGES;
    Barrier* const all_received = all_multiplied + 1;
    static_assert(ACROSS || !TAKES_TURNS);
    static_assert(!SPLITS || (CLUSTER == 1 && OF_EACH == 1 && (ACROSS || (PARTS == 2 && CONSUMERS < 3))));

    // The shuffle from lane 0 shows the compiler that the value is the same for a warp.
    const unsigned rank = CLUSTER == 1 ? 0 : rank_in_cluster();
    const unsigned in_column = rank / BESIDE, in_row = rank % BESIDE;  // where the block's tile is among them
    const int part = !SPLITS ? 0 : __shfl_sync(WHOLE_WARP, rank_in_cluster(), 0);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    // Tiles of a cluster, in groups of about 2048 rows.
    constexpr int CLUSTER_M = BLOCK_M * ABOVE, CLUSTER_N = BLOCK_N * BESIDE;
    // Divided in 32 bits where that costs no registers.
    const auto count_of = [](long long size, int each) {
        return static_cast<unsigned>(
            HOLDS_PLACE ? (static_cast<unsigned>(size) + each - 1) / each : (size + each - 1) / each
        );
    };
    const unsigned rows_of_tiles = count_of(m, CLUSTER_M), columns_of_tiles = count_of(n, CLUSTER_N);
    const unsigned tiles = rows_of_tiles * columns_of_tiles;
    const auto row_and_column = [&](unsigned tile, int& row, int& column) {
        const TileIndex index = grouped_tile_early(tile, rows_of_tiles, columns_of_tiles, 2048 / CLUSTER_M);
        row = index.row * CLUSTER_M + in_column * BLOCK_M;
        column = index.column * CLUSTER_N + in_row * BLOCK_N;
    };
    const int all_steps = static_cast<int>((k + STEP_K - 1) / STEP_K);
    const auto all_turns = [&] { return Turns<CLUSTER, PARTS>(tiles, all_steps, static_cast<unsigned>(alone), part); };

    // One warp sets barriers up while that which copies finds its first tile. What it copies then waits for the block
    // alone, and only what others of the cluster get as well for all of these.
    auto turns = all_turns();
    bool goes_on = false;
    int row = 0, column = 0;
    if (threadIdx.x / WARP == COPIER / WARP) {
        if (threadIdx.x == COPIER) {
            prefetch_map(a);
            prefetch_map(b);
        }
        goes_on = turns.next();
        row_and_column(turns.tile, row, column);
        asm volatile("" ::"r"(row), "r"(column));  // not behind the barriers
    } else if (threadIdx.x == COPIER + WARP) {
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
    if constexpr (CLUSTER > 1 || SPLITS) {
        __syncwarp();
        arrive_at_cluster();
    }
    __syncthreads();
    // So far nothing that the kernel in front makes was touched: this overlaps its end.
    wait_for_previous();
    let_next_start();

    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == MULTIPLYING) {
        if constexpr (MULTIPLYING > 1) give_registers<MULTIPLYING == 2 ? 40 : 32>();
        const bool leads = threadIdx.x == COPIER;
        const auto expect = [&](int stage) {
            arrive_and_expect(full + stage, STAGE);
            return stages + stage * STAGE;
        };
        int step = turns.first;
        if constexpr (CLUSTER > 1) {
            // Others may not have set up their barriers: so a block has the whole first step copied by itself.
            if (leads && goes_on && step < turns.last) {
                unsigned char* const to = expect(0);
                const CopyHere here_a{a, full}, here_b{b, full};
#pragma unroll
                for (int i = 0; i < BESIDE; ++i) copy_part_of_a<BLOCK_M / BESIDE>(here_a, to, i, row, step * STEP_K);
#pragma unroll
                for (int i = 0; i < ABOVE; ++i)
                    copy_part_of_b<BLOCK_N, ABOVE>(here_b, to + BYTES_A, i, column, step * STEP_K);
            }
            __syncwarp();
            wait_for_cluster();
            ++step, next_stage();
        }
        if (leads) {
            // A bit for each block of this one's row, and of its column.
            const unsigned short of_row = ((1 << BESIDE) - 1) << in_column * BESIDE;
            const unsigned short of_column = bits_apart(ABOVE, BESIDE) << in_row;
            while (goes_on) {
                for (; step < turns.last; ++step, next_stage()) {
                    wait_for(empty + stage, phase ^ 1);
                    unsigned char* const to = expect(stage);
                    // Of what several blocks of a cluster need each copies a part for all of them.
                    if constexpr (BESIDE == 1) {
                        copy_part_of_a<BLOCK_M>(CopyHere{a, full + stage}, to, 0, row, step * STEP_K);
                    } else {
                        const CopyToSeveral copy{a, full + stage, of_row};
                        copy_part_of_a<BLOCK_M / BESIDE>(copy, to, in_row, row, step * STEP_K);
                    }
                    if constexpr (ABOVE == 1) {
                        copy_part_of_b<BLOCK_N, 1>(CopyHere{b, full + stage}, to + BYTES_A, 0, column, step * STEP_K);
                    } else {
                        const CopyToSeveral copy{b, full + stage, of_column};
                        copy_part_of_b<BLOCK_N, ABOVE>(copy, to + BYTES_A, in_column, column, step * STEP_K);
                    }
                }
                goes_on = turns.next();
                row_and_column(turns.tile, row, column);
                step = turns.first;
            }
        }
        __syncwarp();
        if constexpr (SPLITS) wait_for_cluster();
        if constexpr (MEETS_BEFORE_STORES) meet_cluster();
    } else {
        if constexpr (MULTIPLYING > 1) take_registers<MULTIPLYING == 2 ? 232 : 160>();
        if constexpr (CLUSTER > 1) wait_for_cluster();
        const auto finish = make_finish();
        unsigned stored = 0;
        // A thread for each block that copies here: those of the row, and then the others of the column.
        const unsigned source = threadIdx.x % WARPGROUP, other = source - BESIDE;
        const unsigned in_rows = in_column * BESIDE + source,
                       in_columns = (other + (other >= in_column)) * BESIDE + in_row;
        const unsigned copier = ABOVE == 1 || source < BESIDE ? in_rows : in_columns;
        auto turns = all_turns();
        int left = MEETS_BEFORE_STORES ? turns.all_steps() : 0;
        bool has_met = !(SPLITS || MEETS_BEFORE_STORES);
        const auto release = [&](int stage) {
            if constexpr (CLUSTER == 1) {
                if (source == 0) arrive(empty + stage);
            } else if (!MEETS_BEFORE_STORES || --left >= STAGES) {
                if (source < SOURCES) arrive_at(empty + stage, copier);
            }
        };
        const auto arrive_once = [&] {
            __syncwarp();
            if (!has_met) arrive_at_cluster();
            has_met = true;
        };
        const int in_tile = TAKES_TURNS ? 0 : warpgroup;
        unsigned turn = 0;
        while (turns.next()) {
            if constexpr (TAKES_TURNS) {
                if (turn++ % 2 != warpgroup) {
                    stage += turns.last;
                    phase ^= stage / STAGES % 2;
                    stage %= STAGES;
                    continue;
                }
                // Until all is there that the other multiplies: a barrier knows its phases by one bit.
                if (turn > 1) wait_for_turn(warpgroup);
            }
            int row, column;
            row_and_column(turns.tile, row, column);
            const int asking = threadIdx.x - (TAKES_TURNS ? warpgroup * WARPGROUP : 0);
            if (asking <= BLOCK_N / 64) ask_for_columns(finish, column + asking * 64);
            const auto& of_columns = [&]() -> decltype(auto) {
                // Measured of the pair of the widest tiles, which large products take; small ones have the registers.
                if constexpr (!ACROSS && (BLOCK_N <= 128 || (BLOCK_N == 256 && ABOVE == 2)))
                    return for_columns<SUMS / 4>(finish, column + threadIdx.x % 4 * 2);
                else return (finish);
            }();
            float sum[SUMS] = {};
            int before = 0;
            for (int step = turns.first; step < turns.last; ++step, next_stage()) {
                wait_for(full + stage, phase);
                const unsigned char* const from = stages + stage * STAGE;
                const int own = in_tile * 64 * ROW;  // rows, or across its first band of columns
                const unsigned long long tile_a = swizzled_tile(from + (ACROSS ? 0 : own), ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + BYTES_A + (ACROSS ? own : 0), ATOM, BAND * ROW);
                begin_products();
#pragma unroll
                for (int slice = 0; slice < 4; ++slice) {
                    // 32 bytes along k: within a row, or 16 rows on.
                    const unsigned long long slice_a = tile_a + slice * 2;
                    const unsigned long long slice_b = tile_b + slice * (B_LIES_ALONG_K ? 2 : 16 * ROW / 16);
                    if constexpr (ACROSS) multiply_bands<OF_EACH, CONSUMERS>(sum, slice_b, slice_a);
                    else multiply_add(sum, slice_a, slice_b);
                }
                commit_products();
                wait_for_products<1>();
                if (step > turns.first) release(before);
                before = stage;
            }
            if constexpr (TAKES_TURNS) {
                if (turns.goes_on()) give_turn(1 - warpgroup);
            }
            wait_for_products<0>();
            release(before);
            if constexpr (MEETS_BEFORE_STORES) {
                if (left == 0) arrive_once();
            }
            if constexpr (!HOLDS_PLACE) row_and_column(turns.tile, row, column);  // again, as registers are few
            if constexpr (!ACROSS) row += warpgroup * 64;
            unsigned char* const own_boxes = boxes + warpgroup * BOXES_HERE * BOX;
            const Loose loose{TAKES_TURNS || OF_EACH > 1 ? nullptr : loose_c, static_cast<unsigned>(m),
                              static_cast<unsigned>(n)};
            if constexpr (SPLITS) {
                if (turns.shared) {
                    wait_for_cluster();
                    has_met = true;
                    // Stages are overwritten when no block of the cluster multiplies any more.
                    if (threadIdx.x % WARPGROUP < PARTS) arrive_at(all_multiplied, threadIdx.x % WARPGROUP);
                    wait_for(all_multiplied, 0);
                    if constexpr (ACROSS) {
                        float own[SUMS / SHARERS];
                        unsigned char* const received = stages + warpgroup * SUMS * WARPGROUP * 4;
                        exchange_sums<SHARERS>(sum, own, part, received, all_received);
                        row += part * (BLOCK_M / SHARERS);
                        store_tile_across<CONSUMERS, BOXES_HERE, C_ROWS>(
                            own, c, boxes, stored, row, column, warpgroup, finish, loose
                        );
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
#pragma unroll
                for (int i = 0; i < OF_EACH; ++i, column += CONSUMERS * BAND) {
                    store_tile_across<CONSUMERS, BOXES_HERE, C_ROWS>(
                        band_of<OF_EACH>(sum, i), c, TAKES_TURNS ? own_boxes : boxes, stored, row, column, in_tile,
                        finish, loose
                    );
                }
            } else {
                store_tile_by_warps<BOXES_HERE>(sum, c, own_boxes, stored, row, column, of_columns, loose);
            }
        }
        if (threadIdx.x % WARP == 0) wait_for_reads<0>();  // of those that have stored
        if constexpr (SPLITS) {
            if (!has_met) wait_for_cluster();
        } else if constexpr (MEETS_BEFORE_STORES) {
            arrive_once();
            wait_for_cluster();
        }
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1 && !MEETS_BEFORE_STORES) {
        __syncwarp();
        meet_cluster();
    }
}
