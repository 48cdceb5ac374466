// A product of scaled blocks in FP8 (E4M3) by TMA and wgmma (sm_90a only), in pieces: one is multiplied while another one
// is added up.
//
// Formula: C[i, j] = sum over blocks t of scale_a[t, i] scale_b[j / 128, t] (sum over l in t of A[i, l] B[j, l]);
//   2 m n k FLOP.
// Mapping: as cuda_halves, but a warpgroup takes its 64 rows' 256 columns in four pieces, or 192 in two. It starts the
//   product of the next piece, and only then adds the one before, scaled, to its sums: there are registers for all sums and
//   the products of two pieces. Tiles of 192 columns share three blocks of B: each has one and a half of the third, so
//   that it is known at compile time where the scale changes.
// Idea: the tensor cores have no work of a warpgroup that adds up. In cuda_halves, as in DeepGEMM, the other warpgroup is
//   to keep them busy meanwhile, which it does not quite; here both do. Steps go TOGETHER in one straight line: the
//   compiler lets no product run across the head of a loop whose registers are read in it.

#if !defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#include "matmul_fp8_blocks/scales.cuh"

#define NAMES_48                                                                                                  \
    NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define MULTIPLY(COLUMNS, NAMES, A, B, P, ...)                                                                    \
    asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, " P ", 0;\n"                                               \
                 "wgmma.mma_async.sync.aligned.m64n" #COLUMNS PRODUCTS " {" NAMES "}, " A ", " B ", add, 1, 1;\n}" \
                 : __VA_ARGS__                                                                                    \
                 : "l"(a), "l"(b), "n"(ADDS))

// sum (64 x 64 or 96) = a b, or += a b.
template <bool ADDS>
__device__ __forceinline__ void multiply(float (&sum)[32], unsigned long long a, unsigned long long b) {
    MULTIPLY(64, NAMES_32, "%32", "%33", "%34", SUMS_32(0));
}
template <bool ADDS>
__device__ __forceinline__ void multiply(float (&sum)[48], unsigned long long a, unsigned long long b) {
    MULTIPLY(96, NAMES_48, "%48", "%49", "%50", SUMS_32(0), SUMS_16(32));
}

// The columns of tiles: whole blocks in a row, or a block and EXTRA columns of another one.
template <int BLOCK_N>
struct Columns {
    static constexpr int EXTRA = BLOCK_N % BLOCK, SHARES = EXTRA ? BLOCK / EXTRA : 1;
    static constexpr int SPAN = EXTRA ? (SHARES + 1) * BLOCK : BLOCK_N;

    static __device__ __forceinline__ unsigned count(long long n) {
        if (!EXTRA) return (n + BLOCK_N - 1) / BLOCK_N;
        const unsigned blocks = (n + BLOCK - 1) / BLOCK, whole = blocks / (SHARES + 1), rest = blocks % (SHARES + 1);
        return whole * SHARES + min(rest, static_cast<unsigned>(SHARES));
    }
    static __device__ __forceinline__ int first(unsigned tile) {
        return EXTRA ? tile / SHARES * SPAN + tile % SHARES * BLOCK : tile * BLOCK_N;
    }
    static __device__ __forceinline__ int extra(unsigned tile) {
        return tile / SHARES * SPAN + SHARES * BLOCK + tile % SHARES * EXTRA;
    }
};

template <int BLOCK_N, int PIECES, int TOGETHER, int STAGES, int CLUSTER>
__device__ __forceinline__ void multiply_blocks(
    const CUtensorMap& a, const CUtensorMap& b, const CUtensorMap& b_extra, const CUtensorMap& c, const float* scale_a,
    const float* scale_b, long long m, long long n, long long k
) {
    using Cols = Columns<BLOCK_N>;
    constexpr int EXTRA = Cols::EXTRA, MAIN = BLOCK_N - EXTRA, PIECE = BLOCK_N / PIECES;
    static_assert(PIECES % 2 == 0);
    constexpr int BYTES_A = BLOCK_M * ROW, BYTES_B = BLOCK_N * ROW, STAGE = BYTES_A + BYTES_B;
    extern __shared__ __align__(1024) unsigned char stages[];
    unsigned char* const boxes = stages + STAGES * STAGE;
    float* const all_scales = reinterpret_cast<float*>(boxes + CONSUMERS * BOXES * BOX);
    Barrier* const full = reinterpret_cast<Barrier*>(all_scales + STAGES * SCALES);
    Barrier* const empty = full + STAGES;
    const unsigned rank = rank_among<CLUSTER>();
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    if (threadIdx.x == 0) {
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

    // Tiles of a cluster, one above the other, in groups of 2048 rows.
    constexpr int CLUSTER_M = BLOCK_M * CLUSTER;
    const unsigned rows = (m + CLUSTER_M - 1) / CLUSTER_M, columns = Cols::count(n);
    const auto at_tile = [&](unsigned tile, int& row, unsigned& column) {
        const TileIndex index = grouped_tile(tile, rows, columns, 2048 / CLUSTER_M);
        row = index.row * CLUSTER_M + rank * BLOCK_M;
        column = index.column;
    };
    const unsigned count = rows * columns, units = gridDim.x / CLUSTER;
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
                int row;
                unsigned column;
                at_tile(tile, row, column);
                // Each block of a cluster copies its share of B for all.
                constexpr int OWN = MAIN / CLUSTER, OWN_EXTRA = EXTRA / CLUSTER;
                const int in_b = Cols::first(column) + rank * OWN;
                const int in_extra = EXTRA ? Cols::extra(column) + rank * OWN_EXTRA : 0;
                for (int step = 0; step < steps; ++step, advance()) {
                    unsigned char* const to_a = stages + stage * STAGE;
                    unsigned char* const to_b = to_a + BYTES_A;
                    wait_for(empty + stage, phase ^ 1);
                    arrive_and_expect(full + stage, STAGE);
                    copy_box(to_a, a, step * STEP_K, row, full + stage);
                    const auto copy_b = [&](const CUtensorMap& map, unsigned char* to, int y) {
                        if constexpr (CLUSTER == 1) copy_box(to, map, step * STEP_K, y, full + stage);
                        else copy_box_to((1 << CLUSTER) - 1, to, map, step * STEP_K, y, full + stage);
                    };
                    copy_b(b, to_b + rank * OWN * ROW, in_b);
                    if constexpr (EXTRA > 0) copy_b(b_extra, to_b + (MAIN + rank * OWN_EXTRA) * ROW, in_extra);
                }
            }
        } else if (warp == 1) {
            const int last_block = static_cast<int>((n + BLOCK - 1) / BLOCK) - 1;
            for (unsigned tile = blockIdx.x / CLUSTER; tile < count; tile += units) {
                int row;
                unsigned column;
                at_tile(tile, row, column);
                int block = Cols::first(column) / BLOCK + lane;
                if (EXTRA && lane == 1) block = Cols::extra(column) / BLOCK;
                const float* of_b = scale_b + static_cast<long long>(min(block, last_block)) * steps;
                const float* of_a = scale_a;
                for (int step = 0; step < steps; ++step, advance(), of_a += m) {
                    float* const to = all_scales + stage * SCALES;
                    wait_for(empty + stage, phase ^ 1);
                    copy_scales_of_rows(to, of_a, row, m);
                    if (lane < 2) copy_float(to + BLOCK_M + lane, of_b + step);
                    arrive_behind_copies(full + stage);
                }
            }
        }
    } else {
        take_registers<232>();
        const int lane = threadIdx.x % WARP, warp_row = threadIdx.x % WARPGROUP / WARP * 16;
        unsigned stored = 0;
        for (unsigned tile = blockIdx.x / CLUSTER; tile < count; tile += units) {
            float sum[BLOCK_N / 2] = {}, product[2][PIECE / 2];
#pragma unroll
            for (int i = 0; i < PIECE / 2; ++i) product[0][i] = product[1][i] = 0.0f;
            const auto promote = [&](int piece, float (&done)[PIECE / 2], const float (&by)[4]) {
#pragma unroll
                for (int i = 0; i < PIECE / 2; ++i) {
                    const int column = piece * (PIECE / 2) + i;  // halved
                    sum[column] += done[i] * by[i / 2 % 2 + (column >= BLOCK / 2) * 2];
                }
            };
            // Of a thread's two rows and the tile's two blocks of B.
            const auto read_scales = [&](int stage, float (&to)[4]) {
                const float* const scales = all_scales + stage * SCALES;
                const int row = warpgroup * 64 + warp_row + lane / 4;
                const float low = scales[row], high = scales[row + 8];
                const float first = scales[BLOCK_M], second = scales[BLOCK_M + 1];
                to[0] = low * first, to[1] = high * first, to[2] = low * second, to[3] = high * second;
            };
            const auto start = [&](int stage, int piece, float (&now)[PIECE / 2]) {
                const unsigned char* const from = stages + stage * STAGE;
                const unsigned long long tile_a = swizzled_tile(from + warpgroup * 64 * ROW, ATOM, 0);
                const unsigned long long tile_b = swizzled_tile(from + BYTES_A + piece * PIECE * ROW, ATOM, 0);
                settle(now);
                begin_products();
                multiply<false>(now, tile_a, tile_b);
                multiply<true>(now, tile_a + 2, tile_b + 2);
                multiply<true>(now, tile_a + 4, tile_b + 4);
                multiply<true>(now, tile_a + 6, tile_b + 6);
                commit_products();
            };
            const auto release = [&](int stage) {
                arrive(empty + stage);  // by every thread, for each has read scales
                if (CLUSTER == 2 && lane == 0) arrive_at(empty + stage, rank ^ 1);
            };
// STEPS steps: the product of the next piece is under way while one is added. A macro, as lambdas have no constants.
#define RUN(STEPS)                                                                                       \
    {                                                                                                    \
        float scales_of[2][4];                                                                           \
        int stage_of[2];                                                                                 \
        wait_for(full + stage, phase);                                                                   \
        start(stage, 0, product[0]);                                                                     \
        read_scales(stage, scales_of[0]);                                                                \
        stage_of[0] = stage;                                                                             \
        _Pragma("unroll") for (int at = 0; at + 1 < PIECES * STEPS; ++at) {                              \
            const int next = at + 1, piece = at % PIECES, u = at / PIECES;                               \
            if (next % PIECES == 0) {                                                                    \
                advance();                                                                               \
                wait_for(full + stage, phase);                                                           \
                stage_of[next / PIECES % 2] = stage;                                                     \
            }                                                                                            \
            start(stage, next % PIECES, product[next % 2]);                                              \
            if (next % PIECES == 0) read_scales(stage, scales_of[next / PIECES % 2]);                    \
            wait_for_products<1>();                                                                      \
            settle(product[at % 2]);                                                                     \
            if (piece == PIECES - 1) release(stage_of[u % 2]);                                           \
            promote(piece, product[at % 2], scales_of[u % 2]);                                           \
        }                                                                                                \
        wait_for_products<0>();                                                                          \
        settle(product[1]);                                                                              \
        release(stage);                                                                                  \
        promote(PIECES - 1, product[1], scales_of[(STEPS - 1) % 2]);                                     \
        advance();                                                                                       \
    }
            int step = 0;
            for (; step + TOGETHER <= steps; step += TOGETHER) RUN(TOGETHER);
            if (TOGETHER > 1)
                for (; step < steps; ++step) RUN(1);
#undef RUN

            int row;
            unsigned column;
            at_tile(tile, row, column);
            row += warpgroup * 64;
            unsigned char* const own = boxes + warpgroup * BOXES * BOX;
            const auto same = [](float2 sums, int) { return sums; };
            if constexpr (EXTRA == 0) {
                store_tile(sum, c, own, stored, row, Cols::first(column), same);
            } else {
                const bool leads = threadIdx.x % WARPGROUP == 0;
#pragma unroll
                for (int first = 0; first < BLOCK; first += BOX_N) {
                    unsigned char* const box = own + stored++ % BOXES * BOX;
                    if (leads) wait_for_reads<BOXES - 1>();
                    meet_warpgroup(warpgroup);
                    fill_box(sum, box, first, Cols::first(column), same);
                    publish_writes();
                    meet_warpgroup(warpgroup);
                    if (leads) store_box(c, Cols::first(column) + first, row, box);
                }
                unsigned char* const box = own + stored++ % BOXES * BOX;
                if (leads) wait_for_reads<BOXES - 1>();
                meet_warpgroup(warpgroup);
                fill_box(sum, box, BLOCK, Cols::extra(column), same);
                publish_writes();
                meet_warpgroup(warpgroup);
                if (leads) store_box(c, Cols::extra(column), row, box);
            }
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1) meet_cluster();
}

#define MULTIPLY_BLOCKS(NAME, BLOCK_N, PIECES, TOGETHER, STAGES, CLUSTER)                                         \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)  \
        NAME(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,                        \
             const __grid_constant__ CUtensorMap b_extra, const __grid_constant__ CUtensorMap c,                  \
             const float* __restrict__ scale_a, const float* __restrict__ scale_b, long long m, long long n,      \
             long long k) {                                                                                       \
        multiply_blocks<BLOCK_N, PIECES, TOGETHER, STAGES, CLUSTER>(a, b, b_extra, c, scale_a, scale_b, m, n, k); \
    }
WHOLE_ROWS_KERNEL
MULTIPLY_BLOCKS(tile_128x256_pair, 256, 4, 4, 4, 2)
MULTIPLY_BLOCKS(tile_128x192_pair, 192, 2, 1, 4, 2)

#endif
