// C = A B in float32 by three products on Hopper's tensor cores, each in TF32 by wgmma (sm_90a only).
//
// Formula: C[i, j] = sum over l of A[i, l] B[l, j]; 6 m n k FLOP in TF32 for the 2 m n k that count. With x = big +
//   small, big being x rounded to TF32's 11 bits and small the rest, rounded too, a b = big big + big small + small
//   big; what is left out is 2^-22 of a product.
// Mapping: `split` writes both parts of A and of B to memory, B transposed, as wgmma takes TF32 along k only: 12 (m k +
//   k n) bytes, too many where m or n is small. Then as in shared/wgmma_matmul.cuh, but that a stage holds 128 bytes
//   along k of both parts: four tiles are read for three products. The sums of the big products start from 0 in each step
//   and are added to the total by float32 adds: the tensor cores cut their sums off instead of rounding them, which over
//   thousands of products costs more than float32 itself. Sums of the small products, 2^-11 of these, may be cut off, and
//   stay there to the end; they keep the tensor cores busy while the big ones are added. An infinity has no small part: NaN
//   among the sums of small products counts as 0. The three take 3 / 2 BLOCK_N registers of a thread, so that BLOCK_N ends
//   at 128. The last tiles may be shared along k, by parts that meet in memory: tile_shares.cuh.
// Idea: float32 that does not fit the tensor cores is cuda_ffma's, on units of a seventh of TF32's rate. As two numbers
//   that do fit, it takes three products there: CUTLASS's 3xTF32 (example 27); Ootomo and Yokota, arXiv:2203.03341, on
//   the sums.

#if defined(SCALAR_IS_FLOAT32) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

#define MULTIPLIES_TF32
#include "shared/wgmma_matmul.cuh"
#include "shared/overlap.cuh"
#include "matmul/finish.cuh"

// ---- The parts ---------------------------------------------------------------------------------

__device__ __forceinline__ float round_to_tf32(float x) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return __uint_as_float(rounded);
}

// Both parts of four neighbours.
__device__ __forceinline__ void store_parts(const float (&x)[4], float* big, float* small) {
    float4 bigs, smalls;
    float* const each_big = &bigs.x;
    float* const each_small = &smalls.x;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        each_big[i] = round_to_tf32(x[i]);
        each_small[i] = round_to_tf32(x[i] - each_big[i]);
    }
    *reinterpret_cast<float4*>(big) = bigs;
    *reinterpret_cast<float4*>(small) = smalls;
}

constexpr int SPLIT_THREADS = 256;
constexpr int ROWS_A = 32, COLUMNS_A = 128;  // of A that a block splits
constexpr int SIDE_B = 64;                   // of B, rows and columns

// The block's part of A (rows x k), into rows of `width`, zeros after k.
__device__ __forceinline__ void split_rows(
    unsigned block, const float* from, float* big, float* small, long long rows, int k, int width
) {
    const unsigned across = (width + COLUMNS_A - 1) / COLUMNS_A;
    const int column = block % across * COLUMNS_A + threadIdx.x % WARP * 4;
    if (column >= width) return;
    const bool whole = k == width && is_aligned(from);
#pragma unroll
    for (int i = 0; i < ROWS_A; i += SPLIT_THREADS / WARP) {
        const long long row = static_cast<long long>(block / across) * ROWS_A + i + threadIdx.x / WARP;
        if (row >= rows) return;
        const float* const at = from + row * k + column;
        float x[4];
        if (whole) {
            reinterpret_cast<float4&>(x) = *reinterpret_cast<const float4*>(at);
        } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) x[j] = column + j < k ? at[j] : 0.0f;
        }
        store_parts(x, big + row * width + column, small + row * width + column);
    }
}

// The block's part of B (k x n), transposed into n rows of `width`, zeros after k.
__device__ __forceinline__ void split_columns(
    unsigned block, const float* from, float* big, float* small, long long n, int k, int width
) {
    __shared__ float tile[SIDE_B][SIDE_B + 1];
    const unsigned down = (width + SIDE_B - 1) / SIDE_B;
    const int k0 = block % down * SIDE_B;
    const long long column0 = static_cast<long long>(block / down) * SIDE_B;
    const int column = threadIdx.x % SIDE_B;
#pragma unroll
    for (int row = threadIdx.x / SIDE_B; row < SIDE_B; row += SPLIT_THREADS / SIDE_B) {
        const bool inside = k0 + row < k && column0 + column < n;
        tile[row][column] = inside ? from[(k0 + row) * n + column0 + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIDE_B * SIDE_B / 4; i += SPLIT_THREADS) {
        const int row = (i + threadIdx.x) / (SIDE_B / 4);  // of the transposed tile
        const int unit = threadIdx.x % (SIDE_B / 4) * 4;
        if (k0 + unit >= width || column0 + row >= n) continue;
        float x[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) x[j] = tile[unit + j][row];
        const long long to = (column0 + row) * width + k0 + unit;
        store_parts(x, big + to, small + to);
    }
}

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS) split(
    const float* a, float* a_big, float* a_small, const float* b, float* b_big, float* b_small, long long m,
    long long n, long long k, long long width, long long blocks_of_a
) {
    start_early();
    if (blockIdx.x < blocks_of_a) split_rows(blockIdx.x, a, a_big, a_small, m, k, width);
    else split_columns(blockIdx.x - blocks_of_a, b, b_big, b_small, n, k, width);
}

// ---- The products ------------------------------------------------------------------------------

// What an infinity made of the small products.
template <int COUNT>
__device__ __forceinline__ void clear_nans(float (&sum)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) sum[i] = sum[i] == sum[i] ? sum[i] : 0.0f;
}

template <int COUNT>
__device__ __forceinline__ void multiply_step(float (&sum)[COUNT], unsigned long long a, unsigned long long b) {
#pragma unroll
    for (int part = 0; part < ROW / 32; ++part) multiply_add(sum, a + part * 2, b + part * 2);
}

// sum (64 x 64 or 128) = a b over a step: what it held is not read.
#define MULTIPLY_ANEW(COLUMNS, NAMES, A, B, ...)                                                                    \
    asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, 0, 0;\n"                                                     \
                 "wgmma.mma_async.sync.aligned.m64n" #COLUMNS PRODUCTS " {" NAMES "}, " A ", " B ", add, 1, 1;\n}"  \
                 : __VA_ARGS__                                                                                     \
                 : "l"(a), "l"(b))
__device__ __forceinline__ void multiply_anew(float (&sum)[32], unsigned long long a, unsigned long long b) {
    MULTIPLY_ANEW(64, NAMES_32, "%32", "%33", SUMS_32(0));
}
__device__ __forceinline__ void multiply_anew(float (&sum)[64], unsigned long long a, unsigned long long b) {
    MULTIPLY_ANEW(128, NAMES_64, "%64", "%65", SUMS_64(0));
}
template <int COUNT>
__device__ __forceinline__ void multiply_step_anew(float (&sum)[COUNT], unsigned long long a, unsigned long long b) {
    multiply_anew(sum, a, b);
#pragma unroll
    for (int part = 1; part < ROW / 32; ++part) multiply_add(sum, a + part * 2, b + part * 2);
}

// Big and small part of A or of B.
struct Parts {
    const CUtensorMap &big, &small;
};

template <int BLOCK_N, int STAGES, int CLUSTER>
__device__ __forceinline__ void multiply_parts(
    const Parts& a, const Parts& b, const CUtensorMap& c, long long m, long long n, long long k, const TileParts& parts,
    long long alone, float* loose_c
) {
    constexpr int CONSUMERS = 2;
    constexpr int BLOCK_M = CONSUMERS * 64;
    constexpr int BYTES_A = BLOCK_M * ROW;
    constexpr int BYTES_B = BLOCK_N * ROW;
    constexpr int STAGE = 2 * (BYTES_A + BYTES_B);
    extern __shared__ __align__(1024) unsigned char stages[];
    unsigned char* const boxes = stages + STAGES * STAGE;
    Barrier* const full = reinterpret_cast<Barrier*>(boxes + CONSUMERS * BOXES * BOX);
    Barrier* const empty = full + STAGES;

    // The shuffles show the compiler that the values are the same for a warp.
    const unsigned rank = CLUSTER == 1 ? 0 : __shfl_sync(WHOLE_WARP, rank_in_cluster(), 0);
    const int warpgroup = __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP, 0);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            init_barrier(full + stage, 1);
            init_barrier(empty + stage, CONSUMERS * CLUSTER);
        }
        publish_barriers();
    }
    if constexpr (CLUSTER == 1) __syncthreads();
    else meet_cluster();
    wait_for_previous();  // which makes the parts

    // Counted by each role for itself: from before the exchange of registers it would be kept in memory.
    constexpr int CLUSTER_M = BLOCK_M * CLUSTER;
    const auto count_steps = [&] { return static_cast<int>((k + STEP_K - 1) / STEP_K); };
    const auto count_rows = [&] { return static_cast<unsigned>((m + CLUSTER_M - 1) / CLUSTER_M); };
    const auto count_columns = [&] { return static_cast<unsigned>((n + BLOCK_N - 1) / BLOCK_N); };
    const auto row_and_column = [&](unsigned tile, int& row, int& column) {
        const TileIndex index = grouped_tile(tile, count_rows(), count_columns(), 2048 / CLUSTER_M);
        row = index.row * CLUSTER_M + rank * BLOCK_M;
        column = index.column * BLOCK_N;
    };
    int stage = 0;
    unsigned phase = 0;
    const auto next_stage = [&] {
        if (++stage == STAGES) stage = 0, phase ^= 1;
    };

    if (warpgroup == CONSUMERS) {
        give_registers<40>();
        if (threadIdx.x % WARPGROUP == 0) {
            const int steps = count_steps();
            const unsigned tiles = count_rows() * count_columns();
            Turns<CLUSTER, EQUAL> turns(tiles, steps, static_cast<unsigned>(alone));
            while (turns.next()) {
                int row, column;
                row_and_column(turns.tile, row, column);
                column += rank * (BLOCK_N / CLUSTER);
                for (int step = turns.first; step < turns.last; ++step, next_stage()) {
                    wait_for(empty + stage, phase ^ 1);
                    arrive_and_expect(full + stage, STAGE);
                    unsigned char* const to_a = stages + stage * STAGE;
                    unsigned char* const to_b = to_a + 2 * BYTES_A + rank * (BYTES_B / CLUSTER);
                    const auto copy_b = [&](unsigned char* to, const CUtensorMap& part) {
                        if constexpr (CLUSTER == 1) copy_box(to, part, step * STEP_K, column, full + stage);
                        else copy_box_to((1 << CLUSTER) - 1, to, part, step * STEP_K, column, full + stage);
                    };
                    copy_box(to_a, a.big, step * STEP_K, row, full + stage);
                    copy_b(to_b + BYTES_B, b.small);
                    copy_box(to_a + BYTES_A, a.small, step * STEP_K, row, full + stage);
                    copy_b(to_b, b.big);
                }
            }
        }
    } else {
        take_registers<232>();
        unsigned stored = 0;
        const int steps = count_steps();
        const unsigned tiles = count_rows() * count_columns();
        Turns<CLUSTER, EQUAL> turns(tiles, steps, static_cast<unsigned>(alone));
        while (turns.next()) {
            float total[BLOCK_N / 2] = {};
            const auto release = [&](int stage) {
                if (threadIdx.x % WARPGROUP < CLUSTER) arrive_at(empty + stage, threadIdx.x % WARPGROUP);
            };
            const auto add = [&](const float (&sum)[BLOCK_N / 2]) {
#pragma unroll
                for (int i = 0; i < BLOCK_N / 2; ++i) total[i] += sum[i];
            };
            const auto wait = [&](unsigned long long (&big)[2], unsigned long long (&small)[2]) {
                const unsigned char* const from = stages + stage * STAGE;
                wait_for(full + stage, phase);
                big[0] = swizzled_tile(from + warpgroup * 64 * ROW, ATOM, 0), small[0] = big[0] + BYTES_A / 16;
                big[1] = swizzled_tile(from + 2 * BYTES_A, ATOM, 0), small[1] = big[1] + BYTES_B / 16;
            };
            unsigned long long big[2], small[2];  // of A and of B
            // The small products keep the tensor cores busy while the big ones of the step are added.
            float small_sum[BLOCK_N / 2] = {}, sum[BLOCK_N / 2] = {};
            int before = 0;
            for (int step = turns.first; step < turns.last; ++step, next_stage()) {
                wait(big, small);
                settle(sum);
                begin_products();
                multiply_step_anew(sum, big[0], big[1]);
                commit_products();
                multiply_step(small_sum, big[0], small[1]);
                multiply_step(small_sum, small[0], big[1]);
                commit_products();
                wait_for_products<1>();
                settle(sum);
                if (step > turns.first) release(before);
                before = stage;
                add(sum);
            }
            wait_for_products<0>();
            settle(small_sum);
            if (steps > 0) release(before);
            clear_nans(small_sum);
            add(small_sum);
            const auto index = [&](unsigned place) { return (place * CLUSTER + rank) * CONSUMERS + warpgroup; };
            if (turns.first > 0) {
                parts.leave(total, index(turns.place()), warpgroup);
                continue;
            }
            if (turns.last < steps) {
                // Of a share that is empty, as there are fewer steps than clusters, nothing lies behind it.
                unsigned others = 0;
                while (turns.begin_of(turns.place() + 1 + others) < turns.end_of_tile()) ++others;
                parts.add_all(total, others, [&](unsigned i) { return index(turns.place() + 1 + i); }, warpgroup);
            }
            int row, column;
            row_and_column(turns.tile, row, column);
            const Loose loose{loose_c, static_cast<unsigned>(m), static_cast<unsigned>(n)};
            unsigned char* const own_boxes = boxes + warpgroup * BOXES * BOX;
            store_tile(total, c, own_boxes, stored, row + warpgroup * 64, column, Finish{}, loose);
        }
        if (threadIdx.x % WARPGROUP == 0) wait_for_reads<0>();
    }
    // No block may leave while another still arrives at its barriers.
    if constexpr (CLUSTER > 1) meet_cluster();
}

#define PARTS_KERNEL(NAME, BLOCK_N, STAGES, CLUSTER)                                                           \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(3 * WARPGROUP, 1)              \
        NAME(const __grid_constant__ CUtensorMap a_big, const __grid_constant__ CUtensorMap a_small,            \
             const __grid_constant__ CUtensorMap b_big, const __grid_constant__ CUtensorMap b_small,            \
             const __grid_constant__ CUtensorMap c, long long m, long long n, long long k, float* sums,         \
             Flag* flags, Flag ticket, long long alone, float* loose) {                                         \
        multiply_parts<BLOCK_N, STAGES, CLUSTER>(                                                               \
            Parts{a_big, a_small}, Parts{b_big, b_small}, c, m, n, k, TileParts{sums, flags, ticket}, alone,    \
            loose                                                                                               \
        );                                                                                                      \
    }

PARTS_KERNEL(tile_128x128_pair, 128, 3, 2)
PARTS_KERNEL(tile_128x128, 128, 3, 1)
PARTS_KERNEL(tile_128x64, 64, 4, 1)

#endif
